-- Which metadata targets do the work, and which files stay open?

-- table mdts: Opens and closes by metadata target
SELECT cluster, target AS mdt, count(DISTINCT job) AS jobs, sum(opens) AS opens, sum(closes) AS closes,
       greatest(sum(opens) - sum(closes), 0) AS unclosed,
       CAST(sum(opens) AS DOUBLE) / nullif(sum(CAST(sum(opens) AS DOUBLE)) OVER (PARTITION BY cluster), 0) AS share_of_opens
FROM series WHERE target LIKE '%-MDT%'
GROUP BY cluster, target ORDER BY cluster, target;

-- table unclosed: Files that were opened and never closed, by cluster
SELECT cluster, sum(opens) AS opens, sum(closes) AS closes, sum(greatest(opens - closes, 0)) AS unclosed,
       count(CASE WHEN opens > closes THEN 1 END) AS jobs, count(DISTINCT CASE WHEN opens > closes THEN uid END) AS users
FROM jobs GROUP BY cluster ORDER BY cluster;

-- table forgetful: Users with the most files that were never closed
SELECT cluster, uid, count(*) AS jobs, sum(opens) AS opens, sum(greatest(opens - closes, 0)) AS unclosed,
       CAST(sum(greatest(opens - closes, 0)) AS DOUBLE) / nullif(CAST(sum(opens) AS DOUBLE), 0) AS unclosed_share
FROM jobs WHERE opens > closes
GROUP BY cluster, uid ORDER BY unclosed DESC, cluster, uid LIMIT 20;
