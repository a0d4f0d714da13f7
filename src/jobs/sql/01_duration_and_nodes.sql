-- How long do jobs run, and on how many nodes? Jobs below options.longest_hours. Needs 00_census.sql.

-- table statistics: Duration and nodes of jobs
WITH ranked AS (
  SELECT cluster, 'duration_h' AS metric, value, jobs, up_to FROM duration_counts
  UNION ALL
  SELECT cluster, 'nodes', value, jobs, up_to FROM node_counts),
metrics AS (
  SELECT 'duration_h' AS metric, 3600 AS scale, short_hours * 3600 AS mark FROM options UNION ALL SELECT 'nodes', 1, few_nodes FROM options),
totals AS (
  SELECT cluster, metric, max(up_to) AS jobs, min(value) AS least, max(value) AS most, sum(CAST(value AS DOUBLE) * jobs) AS all_together
  FROM ranked GROUP BY cluster, metric),
parts AS (
  SELECT r.cluster, r.metric, sum(CASE WHEN value < mark THEN r.jobs ELSE 0 END) AS below,
         min(CASE WHEN up_to >= floor((t.jobs + 1) / 2.0) THEN value END) AS low, min(CASE WHEN up_to >= ceil((t.jobs + 1) / 2.0) THEN value END) AS high
  FROM ranked r JOIN metrics m ON m.metric = r.metric JOIN totals t ON t.cluster = r.cluster AND t.metric = r.metric
  GROUP BY r.cluster, r.metric)
SELECT t.cluster, t.metric, CAST(jobs AS BIGINT) AS jobs, CAST(least AS DOUBLE) / scale AS least, CAST(most AS DOUBLE) / scale AS most,
       all_together / jobs / scale AS mean, CAST(low + high AS DOUBLE) / 2 / scale AS median, CAST(below AS DOUBLE) / jobs AS below,
       mark / scale AS below_what
FROM totals t JOIN metrics m ON m.metric = t.metric JOIN parts p ON p.cluster = t.cluster AND p.metric = t.metric
ORDER BY t.metric, t.cluster;

-- table cdf: Share of jobs up to a duration, and up to a number of nodes
WITH binned AS (
  -- A point for each fortieth of a power of ten: enough for any picture.
  SELECT cluster, 'duration_h' AS metric, ceil(log10(greatest(value, 1)) * 40) AS bin, sum(jobs) AS jobs FROM duration_counts GROUP BY 1, 2, 3
  UNION ALL
  SELECT cluster, 'nodes', ceil(log10(greatest(value, 1)) * 40), sum(jobs) FROM node_counts GROUP BY 1, 2, 3)
SELECT cluster, metric, pow(10, bin / 40) / CASE metric WHEN 'duration_h' THEN 3600 ELSE 1 END AS up_to,
       CAST(sum(jobs) OVER (PARTITION BY cluster, metric ORDER BY bin) AS DOUBLE) / sum(jobs) OVER (PARTITION BY cluster, metric) AS share
FROM binned
ORDER BY metric, cluster, up_to;
