// What the jobs of a store do, counted in one pass over them.
//
// The tables are those that sql/00_census.sql makes; that file says what each of them is, and is what other engines run. Here one
// look at each job fills all of them, where SQL makes a pass for each (`iez bench jobs`, jobs.census_vs_sql). Tests compare both.
//
// Cost: linear in jobs. Memory, of each thread: about 1 kB a user, 5 kB a cluster, and 16 bytes for each day on which a user's
// jobs moved something. Thread safety: none; parts of several threads are joined.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "jobs/analysis.hpp"
#include "jobs/census_sums.hpp"
#include "jobs/duck.hpp"
#include "jobs/duck_fold.hpp"
#include "jobs/name_numbers.hpp"

namespace iez::jobs {

class Census final : public DuckFold {
 public:
  struct Day {
    std::uint32_t cluster = 0;
    std::int64_t day = 0;  // since 1970, local
    DaySums sums;
  };

  // Who moved the most on a day, or on a day of the week (from Monday, 0, on), and what all moved.
  struct Heaviest {
    std::uint32_t cluster = 0;
    std::int64_t day = 0;
    double bytes = 0;
    std::uint32_t user = 0;
    double most = 0;
  };

  // Durations and nodes are counted of jobs that ran shorter than that.
  explicit Census(std::int64_t longest_seconds) : longest_seconds_(longest_seconds) {}

  // What a pass must show, in this order; each row has a value in each.
  static std::span<const DuckColumn> columns();

  std::unique_ptr<DuckFold> part() const override;
  // Fails where a counter is negative, or a time outside of the years 1 to 9999: no file of ours has such rows.
  [[nodiscard]] Result<void> add(const DuckBlock& block) override;
  void join(DuckFold& part) override;

  // Clusters and users by their numbers; the group of a user is the cluster.
  const NameNumbers& clusters() const { return clusters_; }
  std::span<const ClusterSums> cluster_sums() const { return cluster_sums_; }
  const NameNumbers& users() const { return users_; }
  std::span<const UserSums> user_sums() const { return user_sums_; }
  std::span<const Day> days() const { return days_; }
  std::vector<Heaviest> heaviest_of_days() const;
  std::vector<Heaviest> heaviest_of_weekdays() const;

 private:
  // A part of what a user moved on a day, by its number. Jobs come nearly in the order of their starts, so that a day of a user
  // has few parts.
  struct UserDay {
    std::uint32_t user = 0;
    std::uint32_t day = 0;
    double bytes = 0;  // 0: nothing yet
  };

  struct Columns;

  // A user whose number was asked for, if no other one has taken its place since.
  struct KnownUser {
    std::array<std::uint64_t, 2> bits{~std::uint64_t{0}, ~std::uint64_t{0}};  // of no short text
    std::uint32_t cluster = 0;
    std::uint32_t number = 0;
  };
  static constexpr int kKnownBits = 12;

  void add_run(const Columns& columns, std::size_t from, std::size_t to, std::uint32_t cluster);
  void take(Census& other) noexcept;
  std::uint32_t cluster_number(std::string_view name);
  std::uint32_t user_number(std::uint32_t cluster, std::string_view id);
  std::uint32_t user_number(std::uint32_t cluster, const DuckText& id);
  std::uint32_t day_number(std::uint32_t cluster, std::int64_t day);
  void add_to_day(std::uint32_t user, std::uint32_t day, double bytes);

  std::int64_t longest_seconds_;
  NameNumbers clusters_;
  std::vector<ClusterSums> cluster_sums_;
  std::vector<std::unordered_map<std::int64_t, std::uint32_t>> day_numbers_;  // of a cluster's days
  NameNumbers users_;
  std::vector<UserSums> user_sums_;
  std::vector<UserDay> current_days_;  // of each user the day that is summed up
  std::vector<Day> days_;
  std::vector<UserDay> user_days_;
  WriterMoments writers_;
  std::vector<std::uint32_t> users_of_rows_;  // of a run
  std::vector<KnownUser> known_users_ = std::vector<KnownUser>(std::size_t{1} << kKnownBits);
};

// Counts the view `jobs`, and makes the tables. REQUIRES: the view has the columns, and none of the tables is there.
[[nodiscard]] Result<void> make_census(Duck& duck, const AnalysisOptions& options);

}  // namespace iez::jobs
