-- Efficient and inefficient writers. Heavy: more bytes written than the mean of all jobs that read or write. Of those, inefficient: fewer
-- bytes a call than the mean of all jobs that write; efficient: more. Of users the same, with the sums of their jobs. Needs 00_prepare.sql.

-- table classes: Heavy writers by the size of their calls
WITH job AS (
  SELECT cluster, CAST(write_bytes AS DOUBLE) AS bytes, CAST(write_bytes AS DOUBLE) / nullif(write_calls, 0) AS a_call
  FROM jobs WHERE read_bytes > 0 OR write_bytes > 0),
person AS (
  SELECT cluster, sum(write_bytes) AS bytes, sum(write_bytes) / nullif(sum(io_write_calls), 0) AS a_call
  FROM user_hours GROUP BY cluster, uid HAVING sum(io_jobs) > 0),
both_kinds AS (
  SELECT 'jobs' AS what, * FROM job UNION ALL SELECT 'users', * FROM person),
means AS (
  SELECT what, cluster, avg(bytes) AS mean_bytes, avg(a_call) AS mean_call, count(*) AS counted, count(a_call) AS writers,
         min(CASE WHEN bytes > 0 THEN bytes END) AS least_bytes, max(bytes) AS most_bytes, max(a_call) AS most_call
  FROM both_kinds GROUP BY what, cluster)
SELECT m.what, m.cluster, any_value(counted) AS counted, any_value(writers) AS writers, any_value(least_bytes) AS least_bytes,
       any_value(most_bytes) AS most_bytes, any_value(mean_bytes) AS mean_bytes, any_value(mean_call) AS mean_call, any_value(most_call) AS most_call,
       count(CASE WHEN bytes > mean_bytes THEN 1 END) AS heavy,
       count(CASE WHEN bytes > mean_bytes AND a_call < mean_call THEN 1 END) AS inefficient,
       count(CASE WHEN bytes > mean_bytes AND a_call > mean_call THEN 1 END) AS efficient,
       sum(CASE WHEN bytes > mean_bytes AND a_call < mean_call THEN bytes ELSE 0 END) / nullif(sum(bytes), 0) AS inefficient_bytes_share
FROM both_kinds b JOIN means m ON m.what = b.what AND m.cluster = b.cluster
GROUP BY m.what, m.cluster ORDER BY 1, 2;

-- table call_sizes: Jobs that write, by bytes a call
SELECT cluster, CAST(floor(log2(greatest(CAST(write_bytes AS DOUBLE) / write_calls, 1))) AS INTEGER) AS log2_call, count(*) AS jobs,
       CAST(sum(write_bytes) AS DOUBLE) AS bytes
FROM jobs WHERE write_bytes > 0 AND write_calls > 0
GROUP BY 1, 2 ORDER BY 1, 2;
