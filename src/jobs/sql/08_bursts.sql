-- How large are bursts of writing, against the memory of the job and by themselves? Needs 00_prepare.sql.
-- Minutes of reading only belong to bursts of 0 bytes.

-- table memory_classes: I/O time by the size of bursts against the memory of the job
WITH part AS (
  SELECT r.cluster, r.id, r.began, r.io_minutes, b.minutes,
         CASE WHEN b.bytes < 0.01 * r.memory THEN 1 WHEN b.bytes < 0.05 * r.memory THEN 2 WHEN b.bytes < 0.10 * r.memory THEN 3
              WHEN b.bytes < 0.50 * r.memory THEN 4 WHEN b.bytes <= r.memory THEN 5 ELSE 6 END AS class
  FROM runs r JOIN bursts b ON b.id = r.id AND b.began IS NOT DISTINCT FROM r.began
  WHERE r.memory > 0
  UNION ALL
  SELECT cluster, id, began, io_minutes, io_minutes - write_minutes, 1 FROM runs WHERE memory > 0 AND io_minutes > write_minutes),
job AS (
  SELECT cluster, id, began, class, sum(minutes) AS minutes, sum(minutes) / any_value(io_minutes) AS share
  FROM part GROUP BY cluster, id, began, class)
SELECT cluster, class, CASE class WHEN 1 THEN 'below 1 %' WHEN 2 THEN '1 to 5 %' WHEN 3 THEN '5 to 10 %' WHEN 4 THEN '10 to 50 %'
                                  WHEN 5 THEN '50 to 100 %' ELSE 'above 100 %' END AS of_memory,
       sum(minutes) AS minutes, sum(minutes) / sum(sum(minutes)) OVER (PARTITION BY cluster) AS share_of_io_time,
       count(*) AS jobs, count(CASE WHEN share > 0.5 THEN 1 END) AS jobs_mostly, count(CASE WHEN share > 0.999999 THEN 1 END) AS jobs_only
FROM job GROUP BY cluster, class ORDER BY cluster, class;

-- table size_classes: I/O time by the size of bursts
WITH part AS (
  SELECT r.cluster, r.id, r.began, r.io_minutes, b.minutes,
         CASE WHEN b.bytes < 1e3 THEN 2 WHEN b.bytes < 1e6 THEN 3 WHEN b.bytes < 1e9 THEN 4 WHEN b.bytes <= 1e12 THEN 5 ELSE 6 END AS class
  FROM runs r JOIN bursts b ON b.id = r.id AND b.began IS NOT DISTINCT FROM r.began
  UNION ALL
  SELECT cluster, id, began, io_minutes, io_minutes - write_minutes, 1 FROM runs WHERE io_minutes > write_minutes),
job AS (
  SELECT cluster, id, began, class, sum(minutes) AS minutes, sum(minutes) / any_value(io_minutes) AS share
  FROM part GROUP BY cluster, id, began, class)
SELECT cluster, class, CASE class WHEN 1 THEN '0' WHEN 2 THEN 'below 1 kB' WHEN 3 THEN '1 kB to 1 MB' WHEN 4 THEN '1 MB to 1 GB'
                                  WHEN 5 THEN '1 GB to 1 TB' ELSE 'above 1 TB' END AS size,
       sum(minutes) AS minutes, sum(minutes) / sum(sum(minutes)) OVER (PARTITION BY cluster) AS share_of_io_time,
       count(*) AS jobs, count(CASE WHEN share > 0.5 THEN 1 END) AS jobs_mostly, count(CASE WHEN share > 0.999999 THEN 1 END) AS jobs_only
FROM job GROUP BY cluster, class ORDER BY cluster, class;

-- table largest: Jobs by their largest burst against their memory
WITH job AS (
  SELECT r.cluster, coalesce(max(b.bytes), 0) / any_value(r.memory) AS share
  FROM runs r LEFT JOIN bursts b ON b.id = r.id AND b.began IS NOT DISTINCT FROM r.began
  WHERE r.memory > 0
  GROUP BY r.cluster, r.id, r.began)
SELECT cluster, count(*) AS jobs, count(CASE WHEN share > 0.5 THEN 1 END) AS above_50_percent,
       count(CASE WHEN share < 0.15 THEN 1 END) AS below_15_percent, count(CASE WHEN share < 0.05 THEN 1 END) AS below_5_percent,
       count(CASE WHEN share < 0.01 THEN 1 END) AS below_1_percent
FROM job GROUP BY cluster ORDER BY cluster;
