-- Who reads, and who writes?

-- table histogram: Users by the share of writing in their bytes
WITH users AS (
  SELECT cluster, uid, CAST(sum(read_bytes) AS DOUBLE) AS read_bytes, CAST(sum(write_bytes) AS DOUBLE) AS write_bytes
  FROM jobs GROUP BY cluster, uid)
SELECT cluster, CAST(least(floor(write_bytes / (read_bytes + write_bytes) * 10), 9) AS INTEGER) * 10 AS from_percent,
       count(*) AS users, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
FROM users WHERE read_bytes + write_bytes > 0
GROUP BY 1, 2 ORDER BY 1, 2;

-- table users: Users by bytes
SELECT cluster, uid, count(*) AS jobs, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes,
       CAST(sum(write_bytes) AS DOUBLE) / nullif(CAST(sum(read_bytes) AS DOUBLE) + CAST(sum(write_bytes) AS DOUBLE), 0) AS write_share
FROM jobs GROUP BY cluster, uid
ORDER BY CAST(sum(read_bytes) AS DOUBLE) + CAST(sum(write_bytes) AS DOUBLE) DESC, cluster, uid;
