-- Efficient and inefficient writers. Heavy: more bytes written than the mean of all jobs that read or write. Of those, inefficient: fewer
-- bytes a call than the mean of all jobs that write; efficient: more. Of users the same, with the sums of their jobs. Needs 00_prepare.sql.

-- table classes: Heavy writers by the size of their calls
WITH job AS (
  SELECT cluster, CAST(write_bytes AS DOUBLE) AS bytes, CAST(write_bytes AS DOUBLE) / nullif(write_calls, 0) AS a_call
  FROM jobs WHERE read_bytes > 0 OR write_bytes > 0),
job_means AS (
  SELECT cluster, sum(write_bytes) / sum(io_jobs) AS mean_bytes, sum(call_bytes) / nullif(sum(call_jobs), 0) AS mean_call,
         CAST(sum(io_jobs) AS BIGINT) AS counted, CAST(sum(call_jobs) AS BIGINT) AS writers, sum(write_bytes) AS all_bytes,
         CAST(min(smallest_job_bytes) AS DOUBLE) AS least_bytes, CAST(max(largest_job_bytes) AS DOUBLE) AS most_bytes, max(largest_call) AS most_call
  FROM users GROUP BY cluster HAVING sum(io_jobs) > 0),
person AS (
  SELECT cluster, write_bytes AS bytes, write_bytes / nullif(io_write_calls, 0) AS a_call FROM users WHERE io_jobs > 0),
person_means AS (
  SELECT cluster, avg(bytes) AS mean_bytes, avg(a_call) AS mean_call, count(*) AS counted, count(a_call) AS writers, sum(bytes) AS all_bytes,
         min(CASE WHEN bytes > 0 THEN bytes END) AS least_bytes, max(bytes) AS most_bytes, max(a_call) AS most_call
  FROM person GROUP BY cluster),
means AS (SELECT 'jobs' AS what, * FROM job_means UNION ALL SELECT 'users', * FROM person_means),
heavy AS (
  SELECT 'jobs' AS what, j.cluster, bytes, a_call < mean_call AS small, a_call > mean_call AS large
  FROM job j JOIN job_means m ON m.cluster = j.cluster AND bytes > mean_bytes
  UNION ALL
  SELECT 'users', p.cluster, bytes, a_call < mean_call, a_call > mean_call
  FROM person p JOIN person_means m ON m.cluster = p.cluster AND bytes > mean_bytes)
SELECT m.what, m.cluster, any_value(counted) AS counted, any_value(writers) AS writers, any_value(least_bytes) AS least_bytes,
       any_value(most_bytes) AS most_bytes, any_value(mean_bytes) AS mean_bytes, any_value(mean_call) AS mean_call, any_value(most_call) AS most_call,
       count(h.cluster) AS heavy, count(CASE WHEN small THEN 1 END) AS inefficient, count(CASE WHEN large THEN 1 END) AS efficient,
       sum(CASE WHEN small THEN bytes ELSE 0 END) / nullif(any_value(all_bytes), 0) AS inefficient_bytes_share
FROM means m LEFT JOIN heavy h ON h.what = m.what AND h.cluster = m.cluster
GROUP BY m.what, m.cluster ORDER BY 1, 2;

-- table call_sizes: Jobs that write, by bytes a call
SELECT cluster, CAST(floor(log2(greatest(CAST(write_bytes AS DOUBLE) / write_calls, 1))) AS INTEGER) AS log2_call, count(*) AS jobs,
       CAST(sum(write_bytes) AS DOUBLE) AS bytes
FROM jobs WHERE write_bytes > 0 AND write_calls > 0
GROUP BY 1, 2 ORDER BY 1, 2;
