-- When is data moved, and who moves it? A job counts on the day of its start, in the time zone of the report. Needs 00_prepare.sql.

-- table days: Bytes of each day, and the shares of its longest job and of its heaviest user
SELECT cluster, CAST(day AS VARCHAR) AS day, CAST(isodow(day) AS INTEGER) AS weekday, CAST(sum(jobs) AS BIGINT) AS jobs, sum(bytes) AS bytes,
       arg_max(longest_bytes, longest) / nullif(sum(bytes), 0) AS longest_job_share,
       arg_max(uid, bytes) AS heaviest_user, max(bytes) / nullif(sum(bytes), 0) AS heaviest_user_share
FROM user_days GROUP BY cluster, user_days.day ORDER BY cluster, user_days.day;

-- table weekdays: Bytes of each day of the week, and the shares of its longest job and of its heaviest user
WITH by_user AS (
  SELECT cluster, CAST(isodow(day) AS INTEGER) AS weekday, uid, sum(jobs) AS jobs, sum(bytes) AS bytes, max(longest) AS longest,
         arg_max(longest_bytes, longest) AS longest_bytes
  FROM user_days GROUP BY 1, 2, 3)
SELECT cluster, weekday, CAST(sum(jobs) AS BIGINT) AS jobs, sum(bytes) AS bytes,
       arg_max(longest_bytes, longest) / nullif(sum(bytes), 0) AS longest_job_share,
       arg_max(uid, bytes) AS heaviest_user, max(bytes) / nullif(sum(bytes), 0) AS heaviest_user_share
FROM by_user GROUP BY cluster, weekday ORDER BY cluster, weekday;
