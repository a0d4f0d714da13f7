-- Which metadata targets do the work, and which files stay open? Needs 00_census.sql and 00_prepare.sql.

-- table mdts: Opens and closes by metadata target
WITH seen AS (SELECT cluster, target, count(DISTINCT job) AS jobs FROM series WHERE target LIKE '%-MDT%' GROUP BY cluster, target)
SELECT h.cluster, h.target AS mdt, coalesce(any_value(s.jobs), 0) AS jobs, sum(opens) AS opens, sum(closes) AS closes,
       greatest(sum(opens) - sum(closes), 0) AS unclosed,
       CAST(sum(opens) AS DOUBLE) / nullif(sum(CAST(sum(opens) AS DOUBLE)) OVER (PARTITION BY h.cluster), 0) AS share_of_opens
FROM server_hours h LEFT JOIN seen s ON s.cluster = h.cluster AND s.target = h.target WHERE h.target LIKE '%-MDT%'
GROUP BY h.cluster, h.target ORDER BY h.cluster, h.target;

-- table unclosed: Files that were opened and never closed, by cluster
SELECT cluster, sum(opens) AS opens, sum(closes) AS closes, sum(unclosed) AS unclosed, CAST(sum(unclosed_jobs) AS BIGINT) AS jobs,
       count(DISTINCT CASE WHEN unclosed > 0 THEN uid END) AS users
FROM users GROUP BY cluster ORDER BY cluster;

-- table forgetful: Users with the most files that were never closed
SELECT cluster, uid, unclosed_jobs AS jobs, opens, unclosed, unclosed / nullif(opens, 0) AS unclosed_share
FROM users WHERE unclosed > 0 ORDER BY unclosed DESC, cluster, uid LIMIT 20;
