-- Tables that several analyses ask. They need the views `jobs`, `series` and `totals` of the store, and the table `options` of one row
-- (docs/guide/jobs.md shows both for other engines). Statements end with a semicolon at the end of a line.

-- A minute of a job, over all targets. Servers sample at seconds of their own: what they saw is put on one grid of minutes, or of the
-- sampling interval where that is longer. slot: seconds since 1970.
CREATE TEMP TABLE minutes AS
SELECT cluster, job,
       CAST(floor(epoch(sampled) / greatest(seconds, 60)) * greatest(seconds, 60) AS BIGINT) AS slot,
       max(greatest(seconds, 60)) AS span,
       CAST(sum(read_bytes) AS DOUBLE) AS read_bytes,
       CAST(sum(write_bytes) AS DOUBLE) AS write_bytes
FROM series
GROUP BY 1, 2, 3;

-- The job of each minute. A number of a job may be used again: the run is the last one that began before the minute ended.
CREATE TEMP TABLE job_minutes AS
SELECT m.cluster, m.job, m.slot, m.span, m.read_bytes, m.write_bytes, j.began
FROM minutes m
LEFT JOIN (SELECT cluster, job, CAST(epoch(started) AS BIGINT) AS began, CAST(epoch(ended) AS BIGINT) AS ended,
                  coalesce(lead(CAST(epoch(started) AS BIGINT)) OVER (PARTITION BY cluster, job ORDER BY started), 9223372036854775807) AS next_began
           FROM jobs, (SELECT make_timestamp((min(slot) - 600) * 1000000) AS first, make_timestamp(max(slot + span) * 1000000) AS last FROM minutes) seen
           WHERE started <= last AND ended >= first) j
  ON j.cluster = m.cluster AND j.job = m.job AND j.began <= m.slot + m.span AND j.next_began > m.slot + m.span AND m.slot <= j.ended + 600;

-- A run of a job that the servers saw, with its minutes: of data, of writing, of all.
CREATE TEMP TABLE runs AS
SELECT s.cluster, s.job, s.began, j.uid, j.nodes, j.local_started,
       coalesce(j.memory, j.nodes * o.node_memory) AS memory,
       s.io_minutes, s.write_minutes, s.read_bytes, s.write_bytes,
       greatest(s.seen_minutes,
                coalesce(floor((greatest(epoch(j.ended), epoch(j.started) + 1) - 1) / 60) - floor(epoch(j.started) / 60) + 1, s.first_to_last)) AS run_minutes
FROM (SELECT cluster, job, began,
             sum(CASE WHEN read_bytes + write_bytes > 0 THEN span ELSE 0 END) / 60.0 AS io_minutes,
             sum(CASE WHEN write_bytes > 0 THEN span ELSE 0 END) / 60.0 AS write_minutes,
             sum(span) / 60.0 AS seen_minutes,
             (max(slot) - min(slot) + max(span)) / 60.0 AS first_to_last,
             sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
      FROM job_minutes GROUP BY cluster, job, began) s
CROSS JOIN options o
LEFT JOIN jobs j ON j.cluster = s.cluster AND j.job = s.job AND CAST(epoch(j.started) AS BIGINT) = s.began;

-- What a server did in an hour: as it counted itself, or else what its jobs did there.
CREATE TEMP TABLE server_hours AS
WITH told AS (
  SELECT cluster, target, date_trunc('hour', local_sampled) AS slot, 1 AS by_jobs, sum(opens) AS opens, sum(closes) AS closes,
         CAST(sum(read_bytes) AS DOUBLE) AS read_bytes, CAST(sum(write_bytes) AS DOUBLE) AS write_bytes
  FROM series GROUP BY 1, 2, 3
  UNION ALL
  SELECT cluster, target, date_trunc('hour', local_sampled), 0, sum(opens), sum(closes),
         CAST(sum(read_bytes) AS DOUBLE), CAST(sum(write_bytes) AS DOUBLE)
  FROM totals GROUP BY 1, 2, 3),
ranked AS (SELECT *, row_number() OVER (PARTITION BY cluster, target, slot ORDER BY by_jobs) AS choice FROM told)
SELECT cluster, target, slot, opens, closes, read_bytes, write_bytes FROM ranked WHERE choice = 1;

-- A burst: writing minutes one after another.
CREATE TEMP TABLE bursts AS
WITH writing AS (
  SELECT *, CASE WHEN slot - lag(slot) OVER run <= span THEN 0 ELSE 1 END AS begins
  FROM job_minutes WHERE write_bytes > 0
  WINDOW run AS (PARTITION BY cluster, job, began ORDER BY slot)),
numbered AS (
  SELECT *, sum(begins) OVER (PARTITION BY cluster, job, began ORDER BY slot) AS burst FROM writing)
SELECT cluster, job, began, burst, min(slot) AS slot, sum(span) / 60.0 AS minutes, sum(write_bytes) AS bytes
FROM numbered
GROUP BY cluster, job, began, burst;

-- All jobs of each user, by the hour of their start in the time zone of the report.
CREATE TEMP TABLE user_hours AS
SELECT cluster, uid, CAST(hour(local_started) AS TINYINT) AS hour, count(*) AS jobs, sum(CAST(read_bytes AS DOUBLE) + write_bytes) AS bytes,
       sum(epoch(ended) - epoch(started)) AS seconds, min(started) AS first_started, max(started) AS last_started,
       count(CASE WHEN silent_nodes > 0 THEN 1 END) AS incomplete_jobs
FROM jobs
GROUP BY 1, 2, 3;

-- What each user does. Jobs that do nothing to the file system are many, and are left out where sums are made.
CREATE TEMP TABLE users AS
WITH everything AS (
  SELECT cluster, uid, CAST(sum(jobs) AS BIGINT) AS jobs, min(first_started) AS first_started, max(last_started) AS last_started,
         CAST(sum(incomplete_jobs) AS BIGINT) AS incomplete_jobs, sum(seconds) AS seconds
  FROM user_hours GROUP BY cluster, uid),
work AS (
  SELECT cluster, uid, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes,
         sum(write_calls) AS write_calls, sum(opens) AS opens, sum(closes) AS closes,
         sum(greatest(opens - closes, 0)) AS unclosed, count(CASE WHEN opens > closes THEN 1 END) AS unclosed_jobs,
         CAST(sum(opens) + sum(closes) + sum(creates) + sum(mkdirs) + sum(mknods) + sum(renames) + sum(rmdirs) + sum(unlinks) AS DOUBLE) AS metadata_calls,
         count(CASE WHEN read_bytes > 0 OR write_bytes > 0 THEN 1 END) AS io_jobs,
         sum(CASE WHEN read_bytes > 0 OR write_bytes > 0 THEN write_calls END) AS io_write_calls,
         max(write_bytes) AS largest_job_bytes, min(nullif(write_bytes, 0)) AS smallest_job_bytes,
         sum(CASE WHEN read_bytes > 0 OR write_bytes > 0 THEN CAST(write_bytes AS DOUBLE) / nullif(write_calls, 0) END) AS call_bytes,
         count(CASE WHEN write_calls > 0 AND (read_bytes > 0 OR write_bytes > 0) THEN 1 END) AS call_jobs,
         max(CASE WHEN read_bytes > 0 OR write_bytes > 0 THEN CAST(write_bytes AS DOUBLE) / nullif(write_calls, 0) END) AS largest_call
  FROM jobs
  WHERE opens > 0 OR write_bytes > 0 OR read_bytes > 0 OR closes > 0 OR creates > 0 OR mkdirs > 0 OR mknods > 0 OR renames > 0 OR rmdirs > 0
        OR unlinks > 0 OR write_calls > 0
  GROUP BY 1, 2)
SELECT e.cluster, e.uid, jobs, first_started, last_started, incomplete_jobs, seconds,
       coalesce(read_bytes, 0) AS exact_read_bytes, coalesce(write_bytes, 0) AS exact_write_bytes,
       CAST(coalesce(read_bytes, 0) AS DOUBLE) AS read_bytes, CAST(coalesce(write_bytes, 0) AS DOUBLE) AS write_bytes,
       CAST(coalesce(write_calls, 0) AS DOUBLE) AS write_calls, CAST(coalesce(opens, 0) AS DOUBLE) AS opens, CAST(coalesce(closes, 0) AS DOUBLE) AS closes,
       CAST(coalesce(unclosed, 0) AS DOUBLE) AS unclosed, coalesce(unclosed_jobs, 0) AS unclosed_jobs, coalesce(metadata_calls, 0) AS metadata_calls,
       coalesce(io_jobs, 0) AS io_jobs, CAST(io_write_calls AS DOUBLE) AS io_write_calls, coalesce(largest_job_bytes, 0) AS largest_job_bytes,
       smallest_job_bytes, call_bytes, coalesce(call_jobs, 0) AS call_jobs, largest_call
FROM everything e LEFT JOIN work w ON w.cluster = e.cluster AND w.uid = e.uid;

-- What each user moves on each day.
CREATE TEMP TABLE user_days AS
SELECT cluster, uid, CAST(local_started AS DATE) AS day, sum(CAST(read_bytes AS DOUBLE) + write_bytes) AS bytes
FROM jobs WHERE read_bytes > 0 OR write_bytes > 0
GROUP BY 1, 2, 3;

-- Each day, with its longest job.
CREATE TEMP TABLE job_days AS
SELECT cluster, CAST(local_started AS DATE) AS day, count(*) AS jobs, max(epoch(ended) - epoch(started)) AS longest,
       arg_max(CAST(read_bytes AS DOUBLE) + write_bytes, epoch(ended) - epoch(started)) AS longest_bytes
FROM jobs
GROUP BY 1, 2;

-- How many jobs have a duration (seconds), and a number of nodes: few values are different.
CREATE TEMP TABLE job_counts AS
WITH counted AS (
  SELECT cluster, seconds, nodes, count(*) AS jobs
  FROM (SELECT cluster, CAST(epoch(ended) - epoch(started) AS INTEGER) AS seconds, nodes FROM jobs), options
  WHERE seconds < longest_hours * 3600 GROUP BY GROUPING SETS ((cluster, seconds), (cluster, nodes)))
SELECT cluster, CASE WHEN nodes IS NULL THEN 'duration_h' ELSE 'nodes' END AS metric, CAST(coalesce(seconds, nodes) AS DOUBLE) AS value, jobs
FROM counted;
