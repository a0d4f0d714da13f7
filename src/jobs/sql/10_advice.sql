-- The evidence of advice: to the users who move the most, and to administrators. Needs 00_prepare.sql.

-- table users: What the users who move the most do
WITH busy AS (
  -- Hours with more than options.busy_hour times the bytes of an average hour.
  SELECT cluster, hour, bytes > busy_hour * avg(bytes) OVER (PARTITION BY cluster) AS bad
  FROM (SELECT cluster, hour, sum(bytes) AS bytes FROM user_hours GROUP BY cluster, hour), options),
person AS (
  SELECT h.cluster, h.uid, sum(CASE WHEN bad THEN bytes ELSE 0 END) AS busy_hour_bytes
  FROM user_hours h JOIN busy b ON b.cluster = h.cluster AND b.hour = h.hour
  GROUP BY h.cluster, h.uid)
SELECT cluster, uid, jobs, read_bytes, write_bytes, write_calls, write_bytes / nullif(write_calls, 0) AS bytes_a_call, opens, unclosed,
       unclosed / nullif(opens, 0) AS unclosed_share, metadata_calls, metadata_calls / nullif(seconds, 0) AS metadata_calls_s,
       metadata_calls / nullif((read_bytes + write_bytes) / 1e6, 0) AS metadata_calls_mb,
       busy_hour_bytes / nullif(read_bytes + write_bytes, 0) AS busy_hour_share,
       (read_bytes + write_bytes) / nullif(sum(read_bytes + write_bytes) OVER (PARTITION BY cluster), 0) AS share_of_bytes,
       largest_job_bytes
FROM users JOIN person USING (cluster, uid) ORDER BY read_bytes + write_bytes DESC, cluster, uid LIMIT 50;

-- table load: How few jobs make half of the bytes
WITH totals AS (
  SELECT cluster, CAST(sum(io_jobs) AS BIGINT) AS io_jobs, sum(read_bytes + write_bytes) AS total
  FROM users GROUP BY cluster HAVING sum(io_jobs) > 0),
large AS (
  -- Jobs below half of the mean have less than half of the bytes together: the others are enough.
  SELECT j.cluster, total, io_jobs, CAST(read_bytes AS DOUBLE) + write_bytes AS bytes
  FROM jobs j JOIN totals t ON t.cluster = j.cluster AND CAST(read_bytes AS DOUBLE) + write_bytes >= total / io_jobs / 2),
running AS (
  SELECT *, sum(bytes) OVER (PARTITION BY cluster ORDER BY bytes DESC ROWS UNBOUNDED PRECEDING) AS so_far FROM large)
SELECT cluster, any_value(io_jobs) AS io_jobs, any_value(total) AS bytes, count(CASE WHEN so_far - bytes < total / 2 THEN 1 END) AS jobs_of_half,
       max(bytes) / any_value(total) AS largest_job_share
FROM running GROUP BY cluster ORDER BY cluster;

-- table hours: Hours with more than options.busy_hour times the bytes of an average hour
SELECT cluster, hour, bytes, times_average
FROM (SELECT cluster, hour, bytes, bytes / nullif(avg(bytes) OVER (PARTITION BY cluster), 0) AS times_average
      FROM (SELECT cluster, hour, sum(bytes) AS bytes FROM user_hours GROUP BY cluster, hour)), options
WHERE times_average > busy_hour ORDER BY cluster, bytes DESC;
