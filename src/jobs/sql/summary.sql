-- What there is: by cluster.

-- table summary: Jobs, users and bytes
SELECT cluster, count(*) AS jobs, count(DISTINCT uid) AS users, CAST(epoch(min(started)) AS BIGINT) AS first, CAST(epoch(max(started)) AS BIGINT) AS last,
       sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes, count(CASE WHEN read_bytes > 0 OR write_bytes > 0 THEN 1 END) AS io_jobs,
       count(CASE WHEN silent_nodes > 0 THEN 1 END) AS incomplete_jobs
FROM jobs GROUP BY cluster ORDER BY cluster;

-- table series: Rows of time series
SELECT cluster, count(*) AS rows, count(DISTINCT nullif(job, '')) AS jobs, count(DISTINCT target) AS targets, CAST(epoch(min(sampled)) AS BIGINT) AS first,
       CAST(epoch(max(sampled)) AS BIGINT) AS last, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
FROM (SELECT * FROM series UNION ALL SELECT * FROM totals) GROUP BY cluster ORDER BY cluster;
