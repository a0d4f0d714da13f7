-- Efficient and inefficient writers. Heavy: more bytes written than the mean of all jobs that read or write. Of those, inefficient: fewer
-- bytes a call than the mean of all jobs that write; efficient: more. Of users the same, with the sums of their jobs. Needs 00_census.sql and 00_prepare.sql.

-- table classes: Heavy writers by the size of their calls
WITH job_classes AS (
  SELECT cluster, mean_write_bytes AS mean_bytes, mean_call, io_jobs AS counted, writers, write_bytes AS all_bytes, least_write_bytes AS least_bytes,
         most_write_bytes AS most_bytes, most_call
  FROM job_means),
person AS (
  SELECT cluster, write_bytes AS bytes, write_bytes / nullif(io_write_calls, 0) AS a_call FROM users WHERE io_jobs > 0),
person_means AS (
  SELECT cluster, avg(bytes) AS mean_bytes, avg(a_call) AS mean_call, count(*) AS counted, count(a_call) AS writers, sum(bytes) AS all_bytes,
         min(CASE WHEN bytes > 0 THEN bytes END) AS least_bytes, max(bytes) AS most_bytes, max(a_call) AS most_call
  FROM person GROUP BY cluster),
means AS (SELECT 'jobs' AS what, * FROM job_classes UNION ALL SELECT 'users', * FROM person_means),
heavy AS (
  SELECT 'jobs' AS what, j.cluster, j.write_bytes AS bytes, j.write_bytes / nullif(write_calls, 0) < mean_call AS small,
         j.write_bytes / nullif(write_calls, 0) > mean_call AS large
  FROM large_jobs j JOIN job_means m ON m.cluster = j.cluster AND j.write_bytes > mean_write_bytes
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
SELECT cluster, log2_call, jobs, bytes FROM call_sizes ORDER BY cluster, log2_call;
