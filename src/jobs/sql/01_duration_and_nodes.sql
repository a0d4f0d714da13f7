-- How long do jobs run, and on how many nodes? Jobs below options.longest_hours. Needs 00_census.sql.

-- table statistics: Duration and nodes of jobs
SELECT cluster, metric, jobs, least, most, mean, median, below, below_what FROM value_statistics ORDER BY metric, cluster;

-- table cdf: Share of jobs up to a duration, and up to a number of nodes
SELECT cluster, metric, up_to, share FROM value_shares ORDER BY metric, cluster, up_to;
