-- When is data moved, and who moves it? A job counts on the day of its start, in the time zone of the report. Needs 00_census.sql.

-- table days: Bytes of each day, and the shares of its longest job and of its heaviest user
SELECT d.cluster, CAST(d.day AS VARCHAR) AS day, CAST(isodow(d.day) AS INTEGER) AS weekday, d.jobs, coalesce(h.bytes, 0) AS bytes,
       longest_bytes / nullif(h.bytes, 0) AS longest_job_share, h.uid AS heaviest_user, most / nullif(h.bytes, 0) AS heaviest_user_share
FROM job_days d LEFT JOIN heaviest_of_days h ON h.cluster = d.cluster AND h.day = d.day ORDER BY d.cluster, d.day;

-- table weekdays: Bytes of each day of the week, and the shares of its longest job and of its heaviest user
WITH by_day AS (
  SELECT cluster, isodow(day) AS weekday, CAST(sum(jobs) AS BIGINT) AS jobs, arg_max(longest_bytes, longest) AS longest_bytes
  FROM job_days GROUP BY 1, 2)
SELECT d.cluster, CAST(d.weekday AS INTEGER) AS weekday, d.jobs, coalesce(h.bytes, 0) AS bytes,
       longest_bytes / nullif(h.bytes, 0) AS longest_job_share, h.uid AS heaviest_user, most / nullif(h.bytes, 0) AS heaviest_user_share
FROM by_day d LEFT JOIN heaviest_of_weekdays h ON h.cluster = d.cluster AND h.weekday = d.weekday ORDER BY d.cluster, d.weekday;
