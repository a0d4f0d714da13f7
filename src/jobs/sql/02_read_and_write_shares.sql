-- Who reads, and who writes? Needs 00_census.sql.

-- table histogram: Users by the share of writing in their bytes
SELECT cluster, CAST(least(floor(write_bytes / (read_bytes + write_bytes) * 10), 9) AS INTEGER) * 10 AS from_percent,
       count(*) AS users, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
FROM users WHERE read_bytes + write_bytes > 0
GROUP BY 1, 2 ORDER BY 1, 2;

-- table users: Users by bytes
SELECT cluster, uid, jobs, read_bytes, write_bytes, write_bytes / nullif(read_bytes + write_bytes, 0) AS write_share
FROM users ORDER BY read_bytes + write_bytes DESC, cluster, uid;
