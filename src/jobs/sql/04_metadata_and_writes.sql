-- Do jobs that write more do more metadata operations? Jobs that wrote something.

-- table correlations: Correlation of each operation with bytes written: of the numbers, and of their logarithms where both are above 0
WITH job AS (
  SELECT cluster, CAST(write_bytes AS DOUBLE) AS bytes, CAST(opens AS DOUBLE) AS opens, CAST(closes AS DOUBLE) AS closes,
         CAST(creates AS DOUBLE) AS creates, CAST(mkdirs AS DOUBLE) AS mkdirs, CAST(mknods AS DOUBLE) AS mknods,
         CAST(renames AS DOUBLE) AS renames, CAST(rmdirs AS DOUBLE) AS rmdirs, CAST(unlinks AS DOUBLE) AS unlinks
  FROM jobs WHERE write_bytes > 0),
long AS (
  SELECT cluster, unnest(['open', 'close', 'create', 'mkdir', 'mknod', 'rename', 'rmdir', 'unlink', 'all']) AS operation,
         unnest([corr(opens, bytes), corr(closes, bytes), corr(creates, bytes), corr(mkdirs, bytes), corr(mknods, bytes),
                 corr(renames, bytes), corr(rmdirs, bytes), corr(unlinks, bytes),
                 corr(opens + closes + creates + mkdirs + mknods + renames + rmdirs + unlinks, bytes)]) AS r,
         unnest([corr(ln(nullif(opens, 0)), ln(bytes)), corr(ln(nullif(closes, 0)), ln(bytes)),
                 corr(ln(nullif(creates, 0)), ln(bytes)), corr(ln(nullif(mkdirs, 0)), ln(bytes)),
                 corr(ln(nullif(mknods, 0)), ln(bytes)), corr(ln(nullif(renames, 0)), ln(bytes)),
                 corr(ln(nullif(rmdirs, 0)), ln(bytes)), corr(ln(nullif(unlinks, 0)), ln(bytes)),
                 corr(ln(nullif(opens + closes + creates + mkdirs + mknods + renames + rmdirs + unlinks, 0)), ln(bytes))]) AS r_log,
         unnest([sum(opens), sum(closes), sum(creates), sum(mkdirs), sum(mknods), sum(renames), sum(rmdirs), sum(unlinks),
                 sum(opens + closes + creates + mkdirs + mknods + renames + rmdirs + unlinks)]) AS calls
  FROM job GROUP BY cluster)
SELECT cluster, operation, CASE WHEN isfinite(r) THEN r END AS r, CASE WHEN isfinite(r_log) THEN r_log END AS r_log, calls
FROM long ORDER BY cluster, r DESC NULLS LAST, operation;

-- table scatter: Jobs by bytes written and metadata operations, in thirds and halves of powers of ten
WITH placed AS (
  SELECT cluster, CAST(floor(log10(CAST(write_bytes AS DOUBLE)) * 3) AS SMALLINT) AS x,
         CAST(floor(log10(CAST(opens AS DOUBLE) + closes + creates + mkdirs + mknods + renames + rmdirs + unlinks) * 2) AS SMALLINT) AS y
  FROM jobs
  WHERE write_bytes > 0 AND CAST(opens AS DOUBLE) + closes + creates + mkdirs + mknods + renames + rmdirs + unlinks > 0)
SELECT cluster, x / 3.0 AS log_bytes, y / 2.0 AS log_calls, count(*) AS jobs FROM placed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
