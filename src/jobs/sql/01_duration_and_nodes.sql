-- How long do jobs run, and on how many nodes? Jobs below options.longest_hours. Needs 00_prepare.sql.

-- table statistics: Duration and nodes of jobs
WITH ranked AS (
  SELECT *, sum(jobs) OVER (PARTITION BY cluster, metric ORDER BY value) AS up_to, sum(jobs) OVER (PARTITION BY cluster, metric) AS total,
         CASE metric WHEN 'duration_h' THEN 3600 ELSE 1 END AS scale, CASE metric WHEN 'duration_h' THEN short_hours * 3600 ELSE few_nodes END AS mark
  FROM job_counts, options)
SELECT cluster, metric, CAST(sum(jobs) AS BIGINT) AS jobs, min(value / scale) AS least, max(value / scale) AS most,
       sum(value * jobs) / sum(jobs) / any_value(scale) AS mean,
       (min(CASE WHEN up_to >= floor((total + 1) / 2) THEN value END) + min(CASE WHEN up_to >= ceil((total + 1) / 2) THEN value END)) / 2
         / any_value(scale) AS median,
       CAST(sum(CASE WHEN value < mark THEN jobs ELSE 0 END) AS DOUBLE) / sum(jobs) AS below, any_value(mark / scale) AS below_what
FROM ranked GROUP BY cluster, metric
ORDER BY metric, cluster;

-- table cdf: Share of jobs up to a duration, and up to a number of nodes
WITH binned AS (
  -- A point for each fortieth of a power of ten: enough for any picture.
  SELECT cluster, metric, ceil(log10(greatest(value, 1)) * 40) AS bin, sum(jobs) AS jobs FROM job_counts GROUP BY 1, 2, 3)
SELECT cluster, metric, pow(10, bin / 40) / CASE metric WHEN 'duration_h' THEN 3600 ELSE 1 END AS up_to,
       CAST(sum(jobs) OVER (PARTITION BY cluster, metric ORDER BY bin) AS DOUBLE) / sum(jobs) OVER (PARTITION BY cluster, metric) AS share
FROM binned
ORDER BY metric, cluster, up_to;
