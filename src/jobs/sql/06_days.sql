-- When is data moved, and who moves it? A job counts on the day of its start, in the time zone of the report.

-- table days: Bytes of each day, and the shares of its longest job and of its heaviest user
WITH job AS (
  SELECT cluster, uid, CAST(local_started AS DATE) AS day, CAST(read_bytes AS DOUBLE) + write_bytes AS bytes,
         epoch(ended) - epoch(started) AS seconds
  FROM jobs),
by_user AS (
  SELECT cluster, day, uid, count(*) AS jobs, sum(bytes) AS bytes, max(seconds) AS longest, arg_max(bytes, seconds) AS longest_bytes
  FROM job GROUP BY cluster, day, uid)
SELECT cluster, CAST(day AS VARCHAR) AS day, CAST(isodow(day) AS INTEGER) AS weekday, CAST(sum(jobs) AS BIGINT) AS jobs, sum(bytes) AS bytes,
       arg_max(longest_bytes, longest) / nullif(sum(bytes), 0) AS longest_job_share,
       arg_max(uid, bytes) AS heaviest_user, max(bytes) / nullif(sum(bytes), 0) AS heaviest_user_share
FROM by_user GROUP BY cluster, day ORDER BY cluster, day;

-- table weekdays: Bytes of each day of the week, and the shares of its longest job and of its heaviest user
WITH job AS (
  SELECT cluster, uid, CAST(isodow(local_started) AS INTEGER) AS weekday, CAST(read_bytes AS DOUBLE) + write_bytes AS bytes,
         epoch(ended) - epoch(started) AS seconds
  FROM jobs),
by_user AS (
  SELECT cluster, weekday, uid, count(*) AS jobs, sum(bytes) AS bytes, max(seconds) AS longest, arg_max(bytes, seconds) AS longest_bytes
  FROM job GROUP BY cluster, weekday, uid)
SELECT cluster, weekday, CAST(sum(jobs) AS BIGINT) AS jobs, sum(bytes) AS bytes,
       arg_max(longest_bytes, longest) / nullif(sum(bytes), 0) AS longest_job_share,
       arg_max(uid, bytes) AS heaviest_user, max(bytes) / nullif(sum(bytes), 0) AS heaviest_user_share
FROM by_user GROUP BY cluster, weekday ORDER BY cluster, weekday;
