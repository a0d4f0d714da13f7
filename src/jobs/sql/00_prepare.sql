-- More tables that several analyses ask. They need the views `jobs`, `series` and `totals` of the store, the table `options` of one row, and
-- the tables of 00_census.sql.

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

-- The jobs that the servers saw, by a number: shorter than their names where rows are sorted and joined.
CREATE TEMP TABLE seen_jobs AS
SELECT row_number() OVER () AS id, cluster, job FROM (SELECT DISTINCT cluster, job FROM minutes);

-- Their runs, as far as there are rows of them near what the servers saw.
CREATE TEMP TABLE seen_runs AS
SELECT k.id, CAST(epoch(started) AS BIGINT) AS began, CAST(epoch(ended) AS BIGINT) AS ended,
       coalesce(lead(CAST(epoch(started) AS BIGINT)) OVER (PARTITION BY k.id ORDER BY started), 9223372036854775807) AS next_began
FROM jobs
JOIN seen_jobs k ON k.cluster = jobs.cluster AND k.job = jobs.job
CROSS JOIN (SELECT make_timestamp((min(slot) - 600) * 1000000) AS first, make_timestamp(max(slot + span) * 1000000) AS last FROM minutes) seen
WHERE started <= last AND jobs.ended >= first;

-- The run of each minute. A name of a job may be used again: the run is the last one that began before the minute ended.
CREATE TEMP TABLE job_minutes AS
SELECT s.id, j.began, m.slot, m.span, m.read_bytes, m.write_bytes
FROM minutes m
JOIN seen_jobs s ON s.cluster = m.cluster AND s.job = m.job
LEFT JOIN seen_runs j ON j.id = s.id AND j.began <= m.slot + m.span AND j.next_began > m.slot + m.span AND m.slot <= j.ended + 600;

-- A run of a job that the servers saw, with its minutes: of data, of writing, of all. began: NULL where there is no row of the job.
CREATE TEMP TABLE runs AS
SELECT s.id, k.cluster, k.job, s.began, j.uid, j.nodes, j.local_started,
       coalesce(j.memory, j.nodes * o.node_memory) AS memory,
       s.io_minutes, s.write_minutes, s.read_bytes, s.write_bytes,
       greatest(s.seen_minutes,
                coalesce(floor((greatest(epoch(j.ended), epoch(j.started) + 1) - 1) / 60) - floor(epoch(j.started) / 60) + 1, s.first_to_last)) AS run_minutes
FROM (SELECT id, began,
             sum(CASE WHEN read_bytes + write_bytes > 0 THEN span ELSE 0 END) / 60.0 AS io_minutes,
             sum(CASE WHEN write_bytes > 0 THEN span ELSE 0 END) / 60.0 AS write_minutes,
             sum(span) / 60.0 AS seen_minutes,
             (max(slot) - min(slot) + max(span)) / 60.0 AS first_to_last,
             sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes
      FROM job_minutes GROUP BY id, began) s
JOIN seen_jobs k ON k.id = s.id
CROSS JOIN options o
LEFT JOIN jobs j ON j.cluster = k.cluster AND j.job = k.job AND CAST(epoch(j.started) AS BIGINT) = s.began;

-- What a server did in an hour: as it counted itself (by_jobs 0), and what its jobs did there (1).
CREATE TEMP TABLE told_hours AS
SELECT cluster, target, date_trunc('hour', local_sampled) AS slot, 1 AS by_jobs, count(*) AS samples,
       min(sampled) AS first_sampled, max(sampled) AS last_sampled, sum(opens) AS opens, sum(closes) AS closes,
       sum(read_bytes) AS exact_read_bytes, sum(write_bytes) AS exact_write_bytes
FROM series GROUP BY 1, 2, 3
UNION ALL
SELECT cluster, target, date_trunc('hour', local_sampled), 0, count(*), min(sampled), max(sampled), sum(opens), sum(closes),
       sum(read_bytes), sum(write_bytes)
FROM totals GROUP BY 1, 2, 3;

-- What a server did in an hour: as it counted itself, or else what its jobs did there.
CREATE TEMP TABLE server_hours AS
SELECT cluster, target, slot, opens, closes, CAST(exact_read_bytes AS DOUBLE) AS read_bytes, CAST(exact_write_bytes AS DOUBLE) AS write_bytes
FROM (SELECT *, row_number() OVER (PARTITION BY cluster, target, slot ORDER BY by_jobs) AS choice FROM told_hours)
WHERE choice = 1;

-- A burst: writing minutes one after another.
CREATE TEMP TABLE bursts AS
WITH writing AS (
  SELECT *, CASE WHEN slot - lag(slot) OVER run <= span THEN 0 ELSE 1 END AS begins
  FROM job_minutes WHERE write_bytes > 0
  WINDOW run AS (PARTITION BY id, began ORDER BY slot)),
numbered AS (
  SELECT *, sum(begins) OVER (PARTITION BY id, began ORDER BY slot) AS burst FROM writing)
SELECT id, began, burst, min(slot) AS slot, sum(span) / 60.0 AS minutes, sum(write_bytes) AS bytes
FROM numbered
GROUP BY id, began, burst;

-- The means that make a job a heavy one.
CREATE TEMP TABLE job_means AS
SELECT cluster, CAST(sum(io_jobs) AS BIGINT) AS io_jobs, sum(write_bytes) AS write_bytes, sum(read_bytes + write_bytes) AS bytes,
       sum(write_bytes) / sum(io_jobs) AS mean_write_bytes, sum(call_bytes) / nullif(sum(call_jobs), 0) AS mean_call,
       CAST(sum(call_jobs) AS BIGINT) AS writers, CAST(min(smallest_job_bytes) AS DOUBLE) AS least_write_bytes,
       CAST(max(largest_job_bytes) AS DOUBLE) AS most_write_bytes, max(largest_call) AS most_call
FROM users GROUP BY cluster HAVING sum(io_jobs) > 0;

-- Jobs that write more than the mean, or move at least half of the mean: few.
CREATE TEMP TABLE large_jobs AS
SELECT cluster, CAST(bytes AS DOUBLE) AS bytes, CAST(write_bytes AS DOUBLE) AS write_bytes, CAST(write_calls AS DOUBLE) AS write_calls
FROM jobs, (SELECT CAST(min(floor(least(mean_write_bytes, bytes / io_jobs / 2, 9e18))) AS BIGINT) AS least_bytes FROM job_means) limits
WHERE bytes > 0 AND bytes >= least_bytes;
