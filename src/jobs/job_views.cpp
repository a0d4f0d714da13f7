#include "jobs/job_views.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "jobs/row_text.hpp"

namespace iez::jobs {

namespace {

constexpr double kKib = 1024;

// Names the one statement that fails.
Result<ResultTable> asked(Duck& duck, std::string_view what, const std::string& sql) {
  auto table = duck.query(sql);
  if (!table) return with_context(table.error(), what);
  return table;
}

}  // namespace

char write_grade(double bytes, double calls) {
  if (bytes <= 0 || calls <= 0) return '-';
  const double a_call = bytes / calls;
  if (a_call >= kKib * kKib) return 'A';
  if (a_call >= 256 * kKib) return 'B';
  if (a_call >= 64 * kKib) return 'C';
  return a_call >= 4 * kKib ? 'D' : 'E';
}

Result<JobLife> life_of(JobReader& reader, std::string_view job) {
  Duck& duck = reader.duck();
  const std::string id = sql_text(storable(job));
  // The last run, by its start; of a job without a row, all minutes.
  IEZ_CHECK(duck.run(fmt::format(
      "CREATE OR REPLACE TEMP TABLE this_job AS SELECT *, CAST(epoch(started) AS BIGINT) AS began FROM jobs WHERE job = {} "
      "ORDER BY started DESC LIMIT 1",
      id)));
  IEZ_CHECK(
      duck.run(fmt::format("CREATE OR REPLACE TEMP TABLE this_run AS SELECT s.cluster, s.job, m.* FROM job_minutes m JOIN "
                           "seen_jobs s ON s.id = m.id WHERE s.job = {} AND (NOT EXISTS (SELECT 1 FROM this_job) OR (began = "
                           "(SELECT began FROM this_job) AND cluster = (SELECT cluster FROM this_job)))",
                           id)));
  JobLife life;
  IEZ_TRY(life.job,
          asked(duck, "job",
                "SELECT cluster, job, uid, CAST(epoch(started) AS BIGINT) AS first, CAST(epoch(ended) AS BIGINT) AS last, "
                "(epoch(ended) - epoch(started)) / 3600 AS hours, nodes, memory, opens, closes, creates, mkdirs, mknods, "
                "renames, rmdirs, unlinks, read_bytes, write_bytes, read_calls, write_calls, CAST(write_bytes AS DOUBLE) / "
                "nullif(write_calls, 0) AS bytes_a_call, silent_nodes FROM this_job"));
  IEZ_TRY(life.minutes, asked(duck, "minutes", "SELECT slot, read_bytes, write_bytes FROM this_run ORDER BY slot"));
  if (life.job.rows.empty() && life.minutes.rows.empty()) {
    return fail(Errc::not_found, fmt::format("no job '{}' in this store and range", text::printable(job)));
  }
  IEZ_TRY(
      life.bursts,
      asked(duck, "bursts",
            "SELECT b.slot, b.minutes, b.bytes, b.bytes / nullif(r.memory, 0) AS share_of_memory FROM bursts b JOIN runs r ON "
            "r.id = b.id AND r.began IS NOT DISTINCT FROM b.began WHERE EXISTS (SELECT 1 FROM this_run t WHERE t.id = b.id AND "
            "t.began IS NOT DISTINCT FROM b.began) ORDER BY b.slot"));
  IEZ_CHECK(
      duck.run("CREATE OR REPLACE TEMP TABLE this_series AS SELECT s.* FROM series s JOIN this_run t ON t.cluster = s.cluster "
               "AND t.job = s.job "
               "AND t.slot = CAST(floor(epoch(s.sampled) / greatest(s.seconds, 60)) * greatest(s.seconds, 60) AS BIGINT)"));
  IEZ_TRY(life.targets,
          asked(duck, "targets",
                "SELECT target, count(*) AS samples, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes, "
                "sum(opens) AS opens, sum(closes) AS closes FROM this_series GROUP BY target ORDER BY target"));
  IEZ_TRY(
      life.contention,
      asked(
          duck, "contention",
          "SELECT s.target, count(DISTINCT s.sampled) AS minutes, count(DISTINCT CASE WHEN o.job IS NOT NULL THEN s.sampled END) "
          "AS "
          "shared_minutes, count(DISTINCT o.job) AS other_jobs, sum(CAST(o.read_bytes AS DOUBLE) + o.write_bytes) AS their_bytes "
          "FROM this_series s LEFT JOIN series o ON o.cluster = s.cluster AND o.target = s.target AND o.sampled = s.sampled AND "
          "o.job <> s.job AND (o.read_bytes > 0 OR o.write_bytes > 0) WHERE s.read_bytes > 0 OR s.write_bytes > 0 GROUP BY "
          "s.target "
          "ORDER BY s.target"));
  if (!life.job.rows.empty()) life.grade = write_grade(life.job.number(0, "write_bytes"), life.job.number(0, "write_calls"));
  return life;
}

Result<UserView> view_of_user(JobReader& reader, std::string_view user, const AnalysisOptions& options) {
  Duck& duck = reader.duck();
  const std::string uid = sql_text(storable(user));
  UserView view;
  IEZ_TRY(const Answer everybody, ask(duck, "10_advice"));
  // The table of all users is cut: of this one it is asked for alone, with the same words.
  std::string sql;
  for (const SqlFile& file : sql_files()) {
    if (file.name == "10_advice") sql = statements_of(file.text).front().sql;
  }
  sql.erase(sql.rfind("ORDER BY"));
  IEZ_TRY(view.summary, asked(duck, "summary", fmt::format("SELECT * FROM ({}) WHERE uid = {} ORDER BY cluster", sql, uid)));
  if (view.summary.rows.empty()) {
    return fail(Errc::not_found, fmt::format("no job of user '{}' in this store and range", text::printable(user)));
  }
  IEZ_TRY(view.jobs,
          asked(duck, "jobs",
                fmt::format("SELECT cluster, job, CAST(epoch(started) AS BIGINT) AS first, (epoch(ended) - epoch(started)) / "
                            "3600 AS hours, nodes, read_bytes, write_bytes, CAST(write_bytes AS DOUBLE) / nullif(write_calls, "
                            "0) AS bytes_a_call, opens, closes FROM jobs WHERE uid = {} ORDER BY CAST(read_bytes AS DOUBLE) + "
                            "write_bytes DESC, started LIMIT 10",
                            uid)));
  IEZ_TRY(view.hours,
          asked(duck, "hours",
                fmt::format("SELECT CAST(hour(local_started) AS INTEGER) AS hour, count(*) AS jobs, sum(CAST(read_bytes AS "
                            "DOUBLE) + write_bytes) AS bytes FROM jobs WHERE uid = {} GROUP BY 1 ORDER BY 1",
                            uid)));
  IEZ_TRY(view.sharing,
          asked(duck, "sharing",
                fmt::format(
                    "WITH wrote AS (SELECT cluster, job, uid, target, sampled FROM series WHERE target LIKE '%-OST%' AND "
                    "write_bytes > 0), job AS (SELECT cluster, job, any_value(uid) AS uid, count(DISTINCT target) AS stripes "
                    "FROM wrote GROUP BY cluster, job), moment AS (SELECT cluster, sampled, count(DISTINCT job) AS jobs FROM "
                    "wrote GROUP BY cluster, sampled) SELECT j.cluster, (SELECT count(DISTINCT target) FROM wrote w WHERE "
                    "w.cluster = j.cluster) AS osts, avg(CASE WHEN j.uid = {0} THEN stripes END) AS own_stripes, count(CASE "
                    "WHEN j.uid = {0} THEN 1 END) AS own_jobs, avg(stripes) AS stripes, (SELECT avg(jobs) FROM moment m WHERE "
                    "m.cluster = j.cluster) AS others FROM job j GROUP BY j.cluster HAVING count(CASE WHEN j.uid = {0} THEN 1 "
                    "END) > 0 ORDER BY j.cluster",
                    uid)));
  for (std::size_t row = 0; row < view.summary.rows.size(); ++row) {
    for (Advice& advice : user_advice(view.summary, row, everybody["hours"], options)) view.advice.push_back(std::move(advice));
  }
  return view;
}

Result<Moment> contention_at(JobReader& reader, std::int64_t at) {
  Duck& duck = reader.duck();
  constexpr std::int64_t kMicroseconds = 1000000;
  IEZ_CHECK(duck.run(fmt::format(
      "CREATE OR REPLACE TEMP TABLE now AS SELECT cluster, target, job, any_value(uid) AS uid, max(seconds) AS seconds, "
      "sum(CAST(read_bytes AS DOUBLE)) AS read_bytes, sum(CAST(write_bytes AS DOUBLE)) AS write_bytes FROM series WHERE target "
      "LIKE "
      "'%-OST%' AND (read_bytes > 0 OR write_bytes > 0) AND sampled >= make_timestamp({0}) AND sampled < make_timestamp({0}) + "
      "to_seconds("
      "seconds) GROUP BY cluster, target, job",
      at * kMicroseconds)));
  Moment moment;
  IEZ_TRY(
      moment.targets,
      asked(duck, "targets",
            "SELECT cluster, target, count(*) AS jobs, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes, "
            "string_agg(job, ' ' ORDER BY write_bytes + read_bytes DESC, job) AS who FROM now GROUP BY cluster, target ORDER BY "
            "count(*) DESC, sum(read_bytes + write_bytes) DESC, cluster, target"));
  IEZ_TRY(moment.pairs,
          asked(duck, "pairs",
                "SELECT a.cluster, a.job, b.job AS with_job, count(*) AS targets, sum(a.read_bytes + a.write_bytes) AS bytes, "
                "sum(b.read_bytes + b.write_bytes) AS with_bytes FROM now a JOIN now b ON b.cluster = a.cluster AND b.target = "
                "a.target AND "
                "b.job > a.job GROUP BY a.cluster, a.job, b.job ORDER BY count(*) DESC, sum(a.write_bytes + b.write_bytes) DESC, "
                "a.job, b.job"));
  // What a job usually moves in an interval on the same target, over its other intervals there.
  IEZ_TRY(
      moment.jobs,
      asked(
          duck, "jobs",
          fmt::format(
              "WITH usual AS (SELECT s.cluster, s.target, s.job, median(CAST(s.read_bytes AS DOUBLE) + s.write_bytes) AS bytes, "
              "count(*) AS samples FROM series s JOIN now n ON n.cluster = s.cluster AND n.target = s.target AND n.job = s.job "
              "WHERE "
              "(s.read_bytes > 0 OR s.write_bytes > 0) AND NOT (s.sampled >= make_timestamp({0}) AND s.sampled < "
              "make_timestamp({0}) "
              "+ to_seconds(s.seconds)) GROUP BY s.cluster, s.target, s.job), shared AS (SELECT cluster, target, count(*) AS "
              "jobs, "
              "sum(read_bytes + write_bytes) AS bytes FROM now GROUP BY cluster, target) SELECT n.cluster, n.job, "
              "any_value(n.uid) "
              "AS uid, count(*) AS targets, count(CASE WHEN h.jobs > 1 THEN 1 END) AS shared_targets, sum(n.read_bytes + "
              "n.write_bytes) AS bytes, sum(u.bytes) AS usual_bytes, sum(h.bytes - n.read_bytes - n.write_bytes) AS "
              "others_bytes, "
              "sum(n.read_bytes + n.write_bytes) / nullif(sum(u.bytes), 0) AS times_usual, CASE WHEN sum(n.read_bytes + "
              "n.write_bytes) < 0.5 * sum(u.bytes) AND sum(h.bytes - n.read_bytes - n.write_bytes) > sum(n.read_bytes + "
              "n.write_bytes) THEN 'yes' ELSE 'no' END AS suffered FROM now n JOIN shared h ON h.cluster = n.cluster AND "
              "h.target = "
              "n.target LEFT JOIN usual u ON u.cluster = n.cluster AND u.target = n.target AND u.job = n.job GROUP BY n.cluster, "
              "n.job ORDER BY suffered DESC, bytes DESC, n.job",
              at * kMicroseconds)));
  return moment;
}

}  // namespace iez::jobs
