-- Do jobs that write more do more metadata operations? Jobs that wrote something. Needs 00_census.sql.

-- table correlations: Correlation of each operation with bytes written: of the numbers, and of their logarithms where both are above 0
SELECT cluster, operation, r, r_log, calls FROM write_correlations ORDER BY cluster, r DESC NULLS LAST, operation;

-- table scatter: Jobs by bytes written and metadata operations, in thirds and halves of powers of ten
SELECT cluster, x / 3.0 AS log_bytes, y / 2.0 AS log_calls, jobs FROM write_cells ORDER BY cluster, x, y;
