-- Who reads, and who writes? Needs 00_prepare.sql.

-- table histogram: Users by the share of writing in their bytes
WITH users AS (
  SELECT cluster, uid, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes FROM user_hours GROUP BY cluster, uid)
SELECT cluster, CAST(least(floor(write_bytes / (read_bytes + write_bytes) * 10), 9) AS INTEGER) * 10 AS from_percent,
       count(*) AS users, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
FROM users WHERE read_bytes + write_bytes > 0
GROUP BY 1, 2 ORDER BY 1, 2;

-- table users: Users by bytes
SELECT cluster, uid, CAST(sum(jobs) AS BIGINT) AS jobs, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes,
       sum(write_bytes) / nullif(sum(read_bytes) + sum(write_bytes), 0) AS write_share
FROM user_hours GROUP BY cluster, uid
ORDER BY sum(read_bytes) + sum(write_bytes) DESC, cluster, uid;
