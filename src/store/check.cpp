// Is the database whole? What SQLite finds, and what must hold of our rows.
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "store/core.hpp"
#include "store/rows.hpp"

namespace iez::store {

namespace {

constexpr std::size_t kMost = 100;  // more of a kind says nothing new

struct Rule {
  std::string_view what;  // is wrong with the row of this number
  std::string_view sql;
};

constexpr std::array kRules{
    Rule{"run {} has no application", "SELECT id FROM runs WHERE application NOT IN (SELECT id FROM applications)"},
    Rule{"files of run {}, which is not there", "SELECT DISTINCT run FROM files WHERE run NOT IN (SELECT id FROM runs)"},
    Rule{"misses of run {}, which is not there", "SELECT DISTINCT run FROM misses WHERE run NOT IN (SELECT id FROM runs)"},
    Rule{"run {} has not as many files as it says",
         "SELECT id FROM runs WHERE (SELECT count(*) FROM files f WHERE f.run = runs.id) <> CASE WHEN kept = 1 THEN files ELSE 0 "
         "END"},
    Rule{"run {} has not as many misses as it says",
         "SELECT id FROM runs WHERE (SELECT count(*) FROM misses f WHERE f.run = runs.id) <> CASE WHEN kept = 1 THEN misses ELSE "
         "0 END"},
    Rule{"run {} has not the bytes of its files",
         "SELECT id FROM runs WHERE kept = 1 AND written <> (SELECT COALESCE(sum(f.written), 0) FROM files f WHERE f.run = "
         "runs.id)"},
    Rule{"prediction {} has no application", "SELECT id FROM predictions WHERE application NOT IN (SELECT id FROM applications)"},
    Rule{"rows of prediction {}, which is not there",
         "SELECT DISTINCT prediction FROM predicted WHERE prediction NOT IN (SELECT id FROM predictions)"},
    Rule{"prediction {} has not as many rows as it says",
         "SELECT id FROM predictions WHERE (SELECT count(*) FROM predicted r WHERE r.prediction = predictions.id) <> CASE WHEN "
         "kept = 1 "
         "THEN row_count ELSE 0 END"},
    Rule{"prediction {} has a model that is not there",
         "SELECT id FROM predictions WHERE model <> 0 AND model NOT IN (SELECT id FROM models)"},
    Rule{"allocation {} has no prediction", "SELECT id FROM allocations WHERE prediction NOT IN (SELECT id FROM predictions)"},
    Rule{"allocation {} is of another application than its prediction",
         "SELECT a.id FROM allocations a JOIN predictions p ON p.id = a.prediction WHERE p.application <> a.application"},
    Rule{"rows of allocation {}, which is not there",
         "SELECT DISTINCT allocation FROM allocated WHERE allocation NOT IN (SELECT id FROM allocations)"},
    Rule{"allocation {} is half: it has not as many rows as it says",
         "SELECT id FROM allocations WHERE (SELECT count(*) FROM allocated t WHERE t.allocation = allocations.id AND t.turn = 0) "
         "<> CASE "
         "WHEN kept = 1 THEN row_count ELSE 0 END"},
    Rule{
        "allocation {} has rows that its prediction does not have",
        "SELECT DISTINCT t.allocation FROM allocated t JOIN allocations a ON a.id = t.allocation WHERE NOT EXISTS (SELECT 1 FROM "
        "predicted r WHERE r.prediction = a.prediction AND r.number = t.number)"},
    Rule{"allocation {} counts other states than its rows have",
         "SELECT id FROM allocations WHERE kept = 1 AND (planned <> (SELECT count(*) FROM allocated t WHERE t.allocation = "
         "allocations.id AND t.turn = 0 AND t.state = 0) OR created <> (SELECT count(*) FROM allocated t WHERE t.allocation = "
         "allocations.id AND t.turn = 0 AND t.state = 1) OR expired <> (SELECT count(*) FROM allocated t WHERE t.allocation = "
         "allocations.id AND t.turn = 0 AND t.state = 2))"},
    Rule{"allocation {} says other states than it has rows",
         "SELECT id FROM allocations WHERE planned + created + expired <> row_count"},
    Rule{"allocation {} has turns of one file in different states",
         "SELECT DISTINCT t.allocation FROM allocated t JOIN allocated f ON f.allocation = t.allocation AND f.number = t.number "
         "AND "
         "f.turn = 0 WHERE t.state <> f.state"},
};

// Lists of OSTs are texts: their numbers are counted here.
Outcome<void> check_lists(Session& session, std::vector<std::string>& wrong) {
  std::size_t found = 0;
  IEZ_CHECK(session.query("SELECT allocation, number, stripe_count, osts FROM allocated", {}, [&](const Row& row) {
    const auto osts = parse_ost_list(row.text(3));
    if ((osts && osts->size() == row.number(2)) || ++found > kMost) return;
    wrong.push_back(
        fmt::format("allocation {}, row {}: its OST list is none of {} stripes", row.integer(0), row.integer(1), row.integer(2)));
  }));
  return {};
}

}  // namespace

Result<std::vector<std::string>> Store::check() {
  return core_->read([&](Session& session) -> Outcome<std::vector<std::string>> {
    std::vector<std::string> wrong;
    if (&session.dialect() == &kSqlite) {
      IEZ_CHECK(session.query("PRAGMA integrity_check(100)", {}, [&](const Row& row) {
        if (row.text(0) != "ok") wrong.push_back("SQLite: " + row.text(0));
      }));
      IEZ_CHECK(session.query("PRAGMA foreign_key_check", {}, [&](const Row& row) {
        if (wrong.size() < kMost) wrong.push_back(fmt::format("SQLite: a row of {} belongs to nothing", row.text(0)));
      }));
    }
    for (const Rule& rule : kRules) {
      std::size_t found = 0;
      IEZ_CHECK(session.query(rule.sql, {}, [&](const Row& row) {
        if (++found <= kMost) wrong.push_back(fmt::format(fmt::runtime(rule.what), row.integer(0)));
      }));
    }
    IEZ_CHECK(check_lists(session, wrong));
    return wrong;
  });
}

}  // namespace iez::store
