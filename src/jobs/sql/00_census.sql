-- What the jobs do, by user, by day and by cluster: tables that several analyses ask. They need the view `jobs` of the store, and the table
-- `options` of one row (docs/guide/jobs.md shows both for other engines). Statements end with a semicolon at the end of a line.
--
-- This file defines the tables, and makes them in any engine. `iez jobs` itself fills them in one pass of its own, which is faster.

-- All jobs of each user, by the hour of their start in the time zone of the report.
CREATE TEMP TABLE user_hours AS
SELECT cluster, uid, CAST(hour(local_started) AS TINYINT) AS hour, count(*) AS jobs, CAST(sum(bytes) AS DOUBLE) AS bytes,
       CAST(sum(seconds) AS DOUBLE) AS seconds
FROM jobs
GROUP BY 1, 2, 3;

-- What each user does. Jobs that do nothing to the file system are many, and are left out where sums are made; those with silent nodes,
-- or with files that stay open, are few, and are counted by themselves.
CREATE TEMP TABLE users AS
WITH everything AS (
  SELECT cluster, uid, CAST(sum(jobs) AS BIGINT) AS jobs, sum(seconds) AS seconds FROM user_hours GROUP BY cluster, uid),
incomplete AS (SELECT cluster, uid, count(*) AS jobs FROM jobs WHERE silent_nodes > 0 GROUP BY cluster, uid),
forgetful AS (
  SELECT cluster, uid, count(*) AS jobs, sum(opens) - sum(closes) AS unclosed FROM jobs WHERE opens > closes GROUP BY cluster, uid),
work AS (
  SELECT cluster, uid, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes,
         sum(write_calls) AS write_calls, sum(opens) AS opens, sum(closes) AS closes,
         sum(metadata_calls) AS metadata_calls, count(CASE WHEN bytes > 0 THEN 1 END) AS io_jobs,
         sum(CASE WHEN bytes > 0 THEN write_calls END) AS io_write_calls,
         max(write_bytes) AS largest_job_bytes, min(nullif(write_bytes, 0)) AS smallest_job_bytes,
         sum(CASE WHEN bytes > 0 THEN CAST(write_bytes AS DOUBLE) / nullif(write_calls, 0) END) AS call_bytes,
         count(CASE WHEN write_calls > 0 AND bytes > 0 THEN 1 END) AS call_jobs,
         max(CASE WHEN bytes > 0 THEN CAST(write_bytes AS DOUBLE) / nullif(write_calls, 0) END) AS largest_call
  FROM jobs
  WHERE metadata_calls > 0 OR bytes > 0 OR write_calls > 0
  GROUP BY 1, 2)
SELECT e.cluster, e.uid, e.jobs, coalesce(i.jobs, 0) AS incomplete_jobs, seconds,
       coalesce(read_bytes, 0) AS exact_read_bytes, coalesce(write_bytes, 0) AS exact_write_bytes,
       CAST(coalesce(read_bytes, 0) AS DOUBLE) AS read_bytes, CAST(coalesce(write_bytes, 0) AS DOUBLE) AS write_bytes,
       CAST(coalesce(write_calls, 0) AS DOUBLE) AS write_calls, CAST(coalesce(opens, 0) AS DOUBLE) AS opens, CAST(coalesce(closes, 0) AS DOUBLE) AS closes,
       CAST(coalesce(unclosed, 0) AS DOUBLE) AS unclosed, coalesce(f.jobs, 0) AS unclosed_jobs,
       CAST(coalesce(metadata_calls, 0) AS DOUBLE) AS metadata_calls,
       coalesce(io_jobs, 0) AS io_jobs, CAST(io_write_calls AS DOUBLE) AS io_write_calls, coalesce(largest_job_bytes, 0) AS largest_job_bytes,
       smallest_job_bytes, call_bytes, coalesce(call_jobs, 0) AS call_jobs, largest_call
FROM everything e
LEFT JOIN work w ON w.cluster = e.cluster AND w.uid = e.uid
LEFT JOIN incomplete i ON i.cluster = e.cluster AND i.uid = e.uid
LEFT JOIN forgetful f ON f.cluster = e.cluster AND f.uid = e.uid;

-- What each user moves on each day.
CREATE TEMP TABLE user_days AS
SELECT cluster, uid, CAST(local_started AS DATE) AS day, sum(CAST(bytes AS DOUBLE)) AS bytes
FROM jobs WHERE bytes > 0
GROUP BY 1, 2, 3;

-- Who moves the most on a day, and on a day of the week (1: Monday), and what all move.
CREATE TEMP TABLE heaviest_of_days AS
SELECT cluster, day, sum(bytes) AS bytes, arg_max(uid, bytes) AS uid, max(bytes) AS most FROM user_days GROUP BY cluster, day;

CREATE TEMP TABLE heaviest_of_weekdays AS
SELECT cluster, weekday, sum(bytes) AS bytes, arg_max(uid, bytes) AS uid, max(bytes) AS most
FROM (SELECT cluster, isodow(day) AS weekday, uid, sum(bytes) AS bytes FROM user_days GROUP BY 1, 2, 3)
GROUP BY cluster, weekday;

-- Each day, with its longest job.
CREATE TEMP TABLE job_days AS
SELECT cluster, CAST(local_started AS DATE) AS day, count(*) AS jobs, min(started) AS first_started, max(started) AS last_started,
       max(seconds) AS longest, CAST(arg_max(bytes, seconds) AS DOUBLE) AS longest_bytes
FROM jobs
GROUP BY 1, 2;

-- How many jobs have a duration (seconds), and a number of nodes; how many have that or less. Few values are different.
CREATE TEMP TABLE value_counts AS
SELECT cluster, metric, value, jobs, CAST(sum(jobs) OVER (PARTITION BY cluster, metric ORDER BY value) AS BIGINT) AS up_to
FROM (SELECT cluster, 'duration_h' AS metric, seconds AS value, count(*) AS jobs
      FROM jobs WHERE seconds < (SELECT CAST(least(ceil(longest_hours * 3600), 9e18) AS BIGINT) FROM options)
      GROUP BY 1, 2, 3
      UNION ALL
      SELECT cluster, 'nodes', nodes, count(*)
      FROM jobs WHERE seconds < (SELECT CAST(least(ceil(longest_hours * 3600), 9e18) AS BIGINT) FROM options)
      GROUP BY 1, 2, 3);

-- What is known of them: in hours, and in nodes; and the share of jobs that have less than options say.
CREATE TEMP TABLE value_statistics AS
WITH metrics AS (
  SELECT 'duration_h' AS metric, 3600 AS scale, short_hours * 3600 AS mark FROM options UNION ALL SELECT 'nodes', 1, few_nodes FROM options),
totals AS (
  SELECT cluster, metric, max(up_to) AS jobs, min(value) AS least, max(value) AS most, sum(CAST(value AS DOUBLE) * jobs) AS all_together
  FROM value_counts GROUP BY cluster, metric),
parts AS (
  SELECT r.cluster, r.metric, sum(CASE WHEN value < mark THEN r.jobs ELSE 0 END) AS below,
         min(CASE WHEN up_to >= floor((t.jobs + 1) / 2.0) THEN value END) AS low, min(CASE WHEN up_to >= ceil((t.jobs + 1) / 2.0) THEN value END) AS high
  FROM value_counts r JOIN metrics m ON m.metric = r.metric JOIN totals t ON t.cluster = r.cluster AND t.metric = r.metric
  GROUP BY r.cluster, r.metric)
SELECT t.cluster, t.metric, CAST(jobs AS BIGINT) AS jobs, CAST(least AS DOUBLE) / scale AS least, CAST(most AS DOUBLE) / scale AS most,
       all_together / jobs / scale AS mean, CAST(low + high AS DOUBLE) / 2 / scale AS median, CAST(below AS DOUBLE) / jobs AS below,
       mark / scale AS below_what
FROM totals t JOIN metrics m ON m.metric = t.metric JOIN parts p ON p.cluster = t.cluster AND p.metric = t.metric;

-- The share of jobs up to a value: a point for each fortieth of a power of ten, enough for any picture.
CREATE TEMP TABLE value_shares AS
SELECT cluster, metric, pow(10, bin / 40) / CASE metric WHEN 'duration_h' THEN 3600 ELSE 1 END AS up_to,
       CAST(sum(jobs) OVER (PARTITION BY cluster, metric ORDER BY bin) AS DOUBLE) / sum(jobs) OVER (PARTITION BY cluster, metric) AS share
FROM (SELECT cluster, metric, ceil(log10(greatest(value, 1)) * 40) AS bin, sum(jobs) AS jobs FROM value_counts GROUP BY 1, 2, 3);

-- Jobs that write, by the power of two of their bytes a call.
CREATE TEMP TABLE call_sizes AS
SELECT cluster, CAST(floor(log2(greatest(CAST(write_bytes AS DOUBLE) / write_calls, 1))) AS INTEGER) AS log2_call, count(*) AS jobs,
       CAST(sum(write_bytes) AS DOUBLE) AS bytes
FROM jobs WHERE write_bytes > 0 AND write_calls > 0
GROUP BY 1, 2;

-- Jobs by bytes written and metadata operations, in thirds and halves of powers of ten.
CREATE TEMP TABLE write_cells AS
SELECT cluster, CAST(floor(log10(write_bytes) * 3) AS SMALLINT) AS x, CAST(floor(log10(metadata_calls) * 2) AS SMALLINT) AS y, count(*) AS jobs
FROM jobs WHERE write_bytes > 0 AND metadata_calls > 0
GROUP BY 1, 2, 3;

-- Correlation of each operation with bytes written, of jobs that wrote something: of the numbers, and of their logarithms where both are
-- above 0.
CREATE TEMP TABLE write_correlations AS
WITH job AS (
  SELECT cluster, CAST(write_bytes AS DOUBLE) AS bytes, ln(write_bytes) AS log_bytes, CAST(opens AS DOUBLE) AS opens, CAST(closes AS DOUBLE) AS closes,
         CAST(creates AS DOUBLE) AS creates, CAST(mkdirs AS DOUBLE) AS mkdirs, CAST(mknods AS DOUBLE) AS mknods,
         CAST(renames AS DOUBLE) AS renames, CAST(rmdirs AS DOUBLE) AS rmdirs, CAST(unlinks AS DOUBLE) AS unlinks,
         CAST(metadata_calls AS DOUBLE) AS calls,
         CASE WHEN opens > 0 THEN ln(opens) END AS log_opens, CASE WHEN closes > 0 THEN ln(closes) END AS log_closes,
         CASE WHEN creates > 0 THEN ln(creates) END AS log_creates, CASE WHEN mkdirs > 0 THEN ln(mkdirs) END AS log_mkdirs,
         CASE WHEN mknods > 0 THEN ln(mknods) END AS log_mknods, CASE WHEN renames > 0 THEN ln(renames) END AS log_renames,
         CASE WHEN rmdirs > 0 THEN ln(rmdirs) END AS log_rmdirs, CASE WHEN unlinks > 0 THEN ln(unlinks) END AS log_unlinks
  FROM jobs WHERE write_bytes > 0),
long AS (
  SELECT cluster, unnest(['open', 'close', 'create', 'mkdir', 'mknod', 'rename', 'rmdir', 'unlink', 'all']) AS operation,
         unnest([corr(opens, bytes), corr(closes, bytes), corr(creates, bytes), corr(mkdirs, bytes), corr(mknods, bytes),
                 corr(renames, bytes), corr(rmdirs, bytes), corr(unlinks, bytes), corr(calls, bytes)]) AS r,
         unnest([corr(log_opens, log_bytes), corr(log_closes, log_bytes), corr(log_creates, log_bytes), corr(log_mkdirs, log_bytes),
                 corr(log_mknods, log_bytes), corr(log_renames, log_bytes), corr(log_rmdirs, log_bytes), corr(log_unlinks, log_bytes),
                 corr(CASE WHEN calls > 0 THEN ln(calls) END, log_bytes)]) AS r_log,
         unnest([sum(opens), sum(closes), sum(creates), sum(mkdirs), sum(mknods), sum(renames), sum(rmdirs), sum(unlinks), sum(calls)]) AS calls
  FROM job GROUP BY cluster)
SELECT cluster, operation, CASE WHEN isfinite(r) THEN r END AS r, CASE WHEN isfinite(r_log) THEN r_log END AS r_log, calls
FROM long;
