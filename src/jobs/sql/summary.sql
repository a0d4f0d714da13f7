-- What there is: by cluster. Needs 00_census.sql and 00_prepare.sql.

-- table summary: Jobs, users and bytes
SELECT u.cluster, CAST(sum(u.jobs) AS BIGINT) AS jobs, count(*) AS users, any_value(first) AS first, any_value(last) AS last,
       sum(exact_read_bytes) AS read_bytes, sum(exact_write_bytes) AS write_bytes, CAST(sum(io_jobs) AS BIGINT) AS io_jobs,
       CAST(sum(incomplete_jobs) AS BIGINT) AS incomplete_jobs
FROM users u
JOIN (SELECT cluster, CAST(epoch(min(first_started)) AS BIGINT) AS first, CAST(epoch(max(last_started)) AS BIGINT) AS last FROM job_days GROUP BY cluster) d
  ON d.cluster = u.cluster
GROUP BY u.cluster ORDER BY u.cluster;

-- table series: Rows of time series
SELECT t.cluster, CAST(sum(samples) AS BIGINT) AS rows, any_value(coalesce(jobs, 0)) AS jobs, count(DISTINCT target) AS targets,
       CAST(epoch(min(first_sampled)) AS BIGINT) AS first, CAST(epoch(max(last_sampled)) AS BIGINT) AS last,
       sum(exact_read_bytes) AS read_bytes, sum(exact_write_bytes) AS write_bytes
FROM told_hours t LEFT JOIN (SELECT cluster, count(*) AS jobs FROM seen_jobs GROUP BY cluster) s ON s.cluster = t.cluster
GROUP BY t.cluster ORDER BY t.cluster;
