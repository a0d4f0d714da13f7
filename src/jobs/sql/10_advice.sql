-- The evidence of advice: to the users who move the most, and to administrators. Needs 00_prepare.sql.

-- table users: What the users who move the most do
WITH busy AS (
  -- Hours with more than options.busy_hour times the bytes of an average hour.
  SELECT cluster, hour, bytes > busy_hour * avg(bytes) OVER (PARTITION BY cluster) AS bad
  FROM (SELECT cluster, hour, sum(read_bytes + write_bytes) AS bytes FROM user_hours GROUP BY cluster, hour), options),
person AS (
  SELECT h.cluster, uid, CAST(sum(jobs) AS BIGINT) AS jobs, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes,
         sum(write_calls) AS write_calls, sum(read_calls) AS read_calls, sum(opens) AS opens, sum(unclosed) AS unclosed,
         sum(metadata_calls) AS metadata_calls, sum(seconds) AS seconds,
         sum(CASE WHEN bad THEN read_bytes + write_bytes ELSE 0 END) AS busy_hour_bytes,
         max(largest_job_bytes) AS largest_job_bytes
  FROM user_hours h JOIN busy b ON b.cluster = h.cluster AND b.hour = h.hour
  GROUP BY h.cluster, uid)
SELECT cluster, uid, jobs, read_bytes, write_bytes, write_calls, write_bytes / nullif(write_calls, 0) AS bytes_a_call, opens, unclosed,
       unclosed / nullif(opens, 0) AS unclosed_share, metadata_calls, metadata_calls / nullif(seconds, 0) AS metadata_calls_s,
       metadata_calls / nullif((read_bytes + write_bytes) / 1e6, 0) AS metadata_calls_mb,
       busy_hour_bytes / nullif(read_bytes + write_bytes, 0) AS busy_hour_share,
       (read_bytes + write_bytes) / nullif(sum(read_bytes + write_bytes) OVER (PARTITION BY cluster), 0) AS share_of_bytes,
       largest_job_bytes
FROM person ORDER BY read_bytes + write_bytes DESC, cluster, uid LIMIT 50;

-- table load: How few jobs make half of the bytes
WITH totals AS (
  SELECT cluster, count(*) AS io_jobs, sum(CAST(read_bytes AS DOUBLE) + write_bytes) AS total
  FROM jobs WHERE read_bytes > 0 OR write_bytes > 0 GROUP BY cluster),
running AS (
  -- Jobs below half of the mean have less than half of the bytes together: the others are enough.
  SELECT j.cluster, total, io_jobs, CAST(read_bytes AS DOUBLE) + write_bytes AS bytes,
         sum(CAST(read_bytes AS DOUBLE) + write_bytes) OVER (PARTITION BY j.cluster ORDER BY CAST(read_bytes AS DOUBLE) + write_bytes DESC, job
                                                             ROWS UNBOUNDED PRECEDING) AS so_far
  FROM jobs j JOIN totals t ON t.cluster = j.cluster AND CAST(read_bytes AS DOUBLE) + write_bytes >= total / io_jobs / 2)
SELECT cluster, any_value(io_jobs) AS io_jobs, any_value(total) AS bytes, count(CASE WHEN so_far - bytes < total / 2 THEN 1 END) AS jobs_of_half,
       max(bytes) / any_value(total) AS largest_job_share
FROM running GROUP BY cluster ORDER BY cluster;

-- table hours: Hours with more than options.busy_hour times the bytes of an average hour
SELECT cluster, hour, bytes, times_average
FROM (SELECT cluster, hour, bytes, bytes / nullif(avg(bytes) OVER (PARTITION BY cluster), 0) AS times_average
      FROM (SELECT cluster, hour, sum(read_bytes + write_bytes) AS bytes FROM user_hours GROUP BY cluster, hour)), options
WHERE times_average > busy_hour ORDER BY cluster, bytes DESC;
