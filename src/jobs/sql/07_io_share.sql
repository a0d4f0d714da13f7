-- In which part of its minutes does a job move data? Of jobs that the servers saw. Needs 00_prepare.sql.

-- table statistics: Share of minutes with any I/O
WITH shares AS (SELECT cluster, least(io_minutes / run_minutes, 1) AS share, write_bytes > 0 AS writes FROM runs WHERE io_minutes > 0)
SELECT cluster, 'all' AS jobs_that, count(*) AS jobs, avg(share) AS mean_share, median(share) AS median_share FROM shares GROUP BY cluster
UNION ALL
SELECT cluster, 'write', count(*), avg(share), median(share) FROM shares WHERE writes GROUP BY cluster
UNION ALL
SELECT cluster, 'seen', count(*), NULL, NULL FROM runs GROUP BY cluster
ORDER BY 1, 2;

-- table histogram: Jobs by the share of their minutes with any I/O
SELECT cluster, CAST(least(floor(least(io_minutes / run_minutes, 1) * 10), 9) AS INTEGER) * 10 AS from_percent, count(*) AS jobs,
       count(CASE WHEN write_bytes > 0 THEN 1 END) AS writers
FROM runs WHERE io_minutes > 0
GROUP BY 1, 2 ORDER BY 1, 2;
