-- What there is: by cluster. Needs 00_prepare.sql.

-- table summary: Jobs, users and bytes
SELECT cluster, CAST(sum(jobs) AS BIGINT) AS jobs, count(*) AS users, CAST(epoch(min(first_started)) AS BIGINT) AS first,
       CAST(epoch(max(last_started)) AS BIGINT) AS last, sum(exact_read_bytes) AS read_bytes, sum(exact_write_bytes) AS write_bytes,
       CAST(sum(io_jobs) AS BIGINT) AS io_jobs, CAST(sum(incomplete_jobs) AS BIGINT) AS incomplete_jobs
FROM users GROUP BY cluster ORDER BY cluster;

-- table series: Rows of time series
SELECT cluster, count(*) AS rows, count(DISTINCT nullif(job, '')) AS jobs, count(DISTINCT target) AS targets, CAST(epoch(min(sampled)) AS BIGINT) AS first,
       CAST(epoch(max(sampled)) AS BIGINT) AS last, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
FROM (SELECT * FROM series UNION ALL SELECT * FROM totals) GROUP BY cluster ORDER BY cluster;
