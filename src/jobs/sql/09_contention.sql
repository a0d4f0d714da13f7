-- Do jobs wait for each other? By the hour of their start, in the time zone of the report. Needs 00_census.sql and 00_prepare.sql.
-- Similar runs: of one user, on as many nodes, with bytes read and written within a factor of about two; at least options.similar_runs.

-- table hours: Bytes of jobs, and I/O time of similar runs against the longest of them, by the hour of the start
WITH moved AS (
  SELECT cluster, hour, CAST(sum(jobs) AS BIGINT) AS jobs, sum(bytes) AS bytes FROM user_hours GROUP BY cluster, hour),
grouped AS (
  SELECT cluster, local_started, io_minutes,
         max(io_minutes) OVER alike AS longest, count(*) OVER alike AS runs
  FROM runs WHERE io_minutes > 0 AND local_started IS NOT NULL
  WINDOW alike AS (PARTITION BY cluster, uid, nodes, round(log2(1 + write_bytes)), round(log2(1 + read_bytes)))),
timed AS (
  SELECT cluster, CAST(hour(local_started) AS INTEGER) AS hour, count(*) AS runs, avg(io_minutes / longest) AS io_time
  FROM grouped, options WHERE runs >= similar_runs GROUP BY 1, 2)
SELECT m.cluster, m.hour, m.jobs, m.bytes, m.bytes / nullif(sum(m.bytes) OVER (PARTITION BY m.cluster), 0) AS share_of_bytes,
       coalesce(t.runs, 0) AS similar_runs, t.io_time
FROM moved m LEFT JOIN timed t ON t.cluster = m.cluster AND t.hour = m.hour
ORDER BY 1, 2;

-- table server_hours: Bytes that the servers moved, by the hour of the day
WITH moved AS (
  SELECT cluster, CAST(hour(slot) AS INTEGER) AS hour, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
  FROM server_hours GROUP BY 1, 2)
SELECT cluster, hour, read_bytes, write_bytes,
       (read_bytes + write_bytes) / nullif(sum(read_bytes + write_bytes) OVER (PARTITION BY cluster), 0) AS share_of_bytes
FROM moved ORDER BY 1, 2;
