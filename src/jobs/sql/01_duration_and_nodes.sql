-- How long do jobs run, and on how many nodes? Jobs below options.longest_hours.

-- table statistics: Duration and nodes of jobs
WITH kept AS (
  SELECT cluster, epoch(ended) - epoch(started) AS seconds, nodes
  FROM jobs, options
  WHERE epoch(ended) - epoch(started) < longest_hours * 3600)
SELECT cluster, 'duration_h' AS metric, count(*) AS jobs, min(seconds) / 3600 AS least, max(seconds) / 3600 AS most,
       avg(seconds) / 3600 AS mean, median(seconds) / 3600 AS median,
       avg(CASE WHEN seconds < short_hours * 3600 THEN 1.0 ELSE 0.0 END) AS below, any_value(short_hours) AS below_what
FROM kept, options GROUP BY cluster
UNION ALL
SELECT cluster, 'nodes', count(*), CAST(min(nodes) AS DOUBLE), CAST(max(nodes) AS DOUBLE), avg(nodes), median(nodes),
       avg(CASE WHEN nodes < few_nodes THEN 1.0 ELSE 0.0 END), any_value(few_nodes)
FROM kept, options GROUP BY cluster
ORDER BY metric, cluster;

-- table cdf: Share of jobs up to a duration, and up to a number of nodes
WITH kept AS (
  SELECT cluster, CAST(epoch(ended) - epoch(started) AS DOUBLE) AS seconds, CAST(nodes AS DOUBLE) AS nodes
  FROM jobs, options
  WHERE epoch(ended) - epoch(started) < longest_hours * 3600),
counted AS (
  -- A point for each fortieth of a power of ten: enough for any picture, whatever the number of jobs.
  SELECT cluster, 'duration_h' AS metric, ceil(log10(greatest(seconds, 1)) * 40) AS bin, count(*) AS jobs FROM kept GROUP BY ALL
  UNION ALL
  SELECT cluster, 'nodes', ceil(log10(greatest(nodes, 1)) * 40), count(*) FROM kept GROUP BY ALL)
SELECT cluster, metric, pow(10, bin / 40) / CASE metric WHEN 'duration_h' THEN 3600 ELSE 1 END AS up_to,
       CAST(sum(jobs) OVER (PARTITION BY cluster, metric ORDER BY bin) AS DOUBLE) / sum(jobs) OVER (PARTITION BY cluster, metric) AS share
FROM counted
ORDER BY metric, cluster, up_to;
