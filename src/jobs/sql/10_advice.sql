-- The evidence of advice: to the users who move the most, and to administrators. Needs 00_census.sql and 00_prepare.sql.

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
WITH large AS (
  -- Jobs below half of the mean have less than half of the bytes together: the others are enough.
  SELECT j.cluster, m.bytes AS total, io_jobs, j.bytes, CAST(floor(log2(j.bytes) * 8) AS INTEGER) AS bin
  FROM large_jobs j JOIN job_means m ON m.cluster = j.cluster AND j.bytes >= m.bytes / io_jobs / 2),
bins AS (
  SELECT cluster, bin, any_value(total) AS total, sum(sum(bytes)) OVER (PARTITION BY cluster ORDER BY bin DESC) AS so_far
  FROM large GROUP BY cluster, bin),
-- Half is reached in this bin: no job below it needs to be sorted.
cut AS (SELECT cluster, max(bin) AS bin FROM bins WHERE so_far >= total / 2 GROUP BY cluster),
running AS (
  SELECT l.*, sum(bytes) OVER (PARTITION BY l.cluster ORDER BY bytes DESC ROWS UNBOUNDED PRECEDING) AS so_far
  FROM large l JOIN cut c ON c.cluster = l.cluster AND l.bin >= c.bin)
SELECT cluster, any_value(io_jobs) AS io_jobs, any_value(total) AS bytes, count(CASE WHEN so_far - bytes < total / 2 THEN 1 END) AS jobs_of_half,
       max(bytes) / any_value(total) AS largest_job_share
FROM running GROUP BY cluster ORDER BY cluster;

-- table hours: Hours with more than options.busy_hour times the bytes of an average hour
SELECT cluster, hour, bytes, times_average
FROM (SELECT cluster, hour, bytes, bytes / nullif(avg(bytes) OVER (PARTITION BY cluster), 0) AS times_average
      FROM (SELECT cluster, hour, sum(bytes) AS bytes FROM user_hours GROUP BY cluster, hour)), options
WHERE times_average > busy_hour ORDER BY cluster, bytes DESC;
