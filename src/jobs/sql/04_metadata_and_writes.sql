-- Do jobs that write more do more metadata operations? Jobs that wrote something.

-- table correlations: Correlation of each operation with bytes written: of the numbers, and of their logarithms where both are above 0
WITH job AS (
  SELECT cluster, CAST(write_bytes AS DOUBLE) AS bytes, ln(write_bytes) AS log_bytes, CAST(opens AS DOUBLE) AS opens, CAST(closes AS DOUBLE) AS closes,
         CAST(creates AS DOUBLE) AS creates, CAST(mkdirs AS DOUBLE) AS mkdirs, CAST(mknods AS DOUBLE) AS mknods,
         CAST(renames AS DOUBLE) AS renames, CAST(rmdirs AS DOUBLE) AS rmdirs, CAST(unlinks AS DOUBLE) AS unlinks,
         CAST(metadata_calls AS DOUBLE) AS calls,
         CASE WHEN opens > 0 THEN ln(opens) END AS log_opens, CASE WHEN closes > 0 THEN ln(closes) END AS log_closes,
         CASE WHEN creates > 0 THEN ln(creates) END AS log_creates, CASE WHEN mkdirs > 0 THEN ln(mkdirs) END AS log_mkdirs,
         CASE WHEN mknods > 0 THEN ln(mknods) END AS log_mknods, CASE WHEN renames > 0 THEN ln(renames) END AS log_renames,
         CASE WHEN rmdirs > 0 THEN ln(rmdirs) END AS log_rmdirs, CASE WHEN unlinks > 0 THEN ln(unlinks) END AS log_unlinks
  FROM jobs WHERE write_bytes > 0),
long AS (
  SELECT cluster, unnest(['open', 'close', 'create', 'mkdir', 'mknod', 'rename', 'rmdir', 'unlink', 'all']) AS operation,
         unnest([corr(opens, bytes), corr(closes, bytes), corr(creates, bytes), corr(mkdirs, bytes), corr(mknods, bytes),
                 corr(renames, bytes), corr(rmdirs, bytes), corr(unlinks, bytes), corr(calls, bytes)]) AS r,
         unnest([corr(log_opens, log_bytes), corr(log_closes, log_bytes), corr(log_creates, log_bytes), corr(log_mkdirs, log_bytes),
                 corr(log_mknods, log_bytes), corr(log_renames, log_bytes), corr(log_rmdirs, log_bytes), corr(log_unlinks, log_bytes),
                 corr(CASE WHEN calls > 0 THEN ln(calls) END, log_bytes)]) AS r_log,
         unnest([sum(opens), sum(closes), sum(creates), sum(mkdirs), sum(mknods), sum(renames), sum(rmdirs), sum(unlinks), sum(calls)]) AS calls
  FROM job GROUP BY cluster)
SELECT cluster, operation, CASE WHEN isfinite(r) THEN r END AS r, CASE WHEN isfinite(r_log) THEN r_log END AS r_log, calls
FROM long ORDER BY cluster, r DESC NULLS LAST, operation;

-- table scatter: Jobs by bytes written and metadata operations, in thirds and halves of powers of ten
WITH placed AS (
  SELECT cluster, CAST(floor(log10(write_bytes) * 3) AS SMALLINT) AS x, CAST(floor(log10(metadata_calls) * 2) AS SMALLINT) AS y
  FROM jobs WHERE write_bytes > 0 AND metadata_calls > 0)
SELECT cluster, x / 3.0 AS log_bytes, y / 2.0 AS log_calls, count(*) AS jobs FROM placed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
