#include "jobs/census.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace iez::jobs {

namespace {

// The operations are the last ones, and all of them together the very last.
constexpr std::array kCensusColumns{DuckColumn{"cluster", ColumnKind::text},
                                    DuckColumn{"uid", ColumnKind::text},
                                    DuckColumn{"started", ColumnKind::timestamp},
                                    DuckColumn{"local_started", ColumnKind::timestamp},
                                    DuckColumn{"seconds"},
                                    DuckColumn{"nodes"},
                                    DuckColumn{"silent_nodes"},
                                    DuckColumn{"bytes"},
                                    DuckColumn{"read_bytes"},
                                    DuckColumn{"write_bytes"},
                                    DuckColumn{"write_calls"},
                                    DuckColumn{"opens"},
                                    DuckColumn{"closes"},
                                    DuckColumn{"creates"},
                                    DuckColumn{"mkdirs"},
                                    DuckColumn{"mknods"},
                                    DuckColumn{"renames"},
                                    DuckColumn{"rmdirs"},
                                    DuckColumn{"unlinks"},
                                    DuckColumn{"metadata_calls"}};

constexpr std::size_t column_named(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kCensusColumns, name, &DuckColumn::name) - kCensusColumns.begin());
}

constexpr std::size_t kCluster = column_named("cluster");
constexpr std::size_t kUser = column_named("uid");
constexpr std::size_t kStarted = column_named("started");
constexpr std::size_t kLocalStarted = column_named("local_started");
constexpr std::size_t kSeconds = column_named("seconds");
constexpr std::size_t kNodes = column_named("nodes");
constexpr std::size_t kSilentNodes = column_named("silent_nodes");
constexpr std::size_t kBytes = column_named("bytes");
constexpr std::size_t kReadBytes = column_named("read_bytes");
constexpr std::size_t kWriteBytes = column_named("write_bytes");
constexpr std::size_t kWriteCalls = column_named("write_calls");
constexpr std::size_t kOpens = column_named("opens");
constexpr std::size_t kCloses = column_named("closes");
constexpr std::size_t kMetadataCalls = column_named("metadata_calls");
constexpr std::size_t kColumns = kCensusColumns.size();
static_assert(kMetadataCalls == kOpens + kOperations - 1 && kMetadataCalls == kColumns - 1);

constexpr std::int64_t kHour = 3600LL * 1000000;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kFirstTime = -719162 * kDay;  // the year 1
constexpr std::int64_t kLastTime = 2932897 * kDay;   // the year 10000, in any time zone

std::int64_t day_of(std::int64_t time) { return time / kDay - (time % kDay < 0 ? 1 : 0); }

bool within_limits(std::span<const std::int64_t> values, ColumnKind kind) {
  if (kind == ColumnKind::timestamp) {
    const auto [least, most] = std::ranges::minmax(values);
    return least >= kFirstTime && most <= kLastTime;
  }
  std::int64_t signs = 0;
  for (const std::int64_t value : values) signs |= value;
  return signs >= 0;
}

// Takes the heavier one; of two that moved the same, the one whose name comes first.
void consider(Census::Heaviest& heaviest, const NameNumbers& users, std::uint32_t user, double bytes) {
  heaviest.bytes += bytes;
  if (bytes > heaviest.most || (bytes == heaviest.most && users[user].text < users[heaviest.user].text)) {
    heaviest.user = user;
    heaviest.most = bytes;
  }
}

}  // namespace

std::span<const DuckColumn> Census::columns() { return kCensusColumns; }

std::unique_ptr<DuckFold> Census::part() const { return std::make_unique<Census>(longest_seconds_); }

std::uint32_t Census::cluster_number(std::string_view name) {
  const std::uint32_t number = clusters_.of(0, name);
  if (number == cluster_sums_.size()) {
    cluster_sums_.emplace_back();
    day_numbers_.emplace_back();
  }
  return number;
}

std::uint32_t Census::user_number(std::uint32_t cluster, const DuckText& id) {
  if (!id.is_short()) return user_number(cluster, id.view());
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  const auto bits = id.bits();
  const std::uint64_t mixed = ((bits[0] * kGoldenRatio) ^ bits[1] ^ cluster) * kGoldenRatio;
  KnownUser& known = known_users_[mixed >> (64 - kKnownBits)];
  if (known.bits != bits || known.cluster != cluster)
    known = {.bits = bits, .cluster = cluster, .number = user_number(cluster, id.view())};
  return known.number;
}

std::uint32_t Census::user_number(std::uint32_t cluster, std::string_view id) {
  const std::uint32_t number = users_.of(cluster, id);
  if (number == user_sums_.size()) {
    user_sums_.emplace_back();
    current_days_.push_back({.user = number});
  }
  return number;
}

std::uint32_t Census::day_number(std::uint32_t cluster, std::int64_t day) {
  const auto [known, is_new] = day_numbers_[cluster].try_emplace(day, static_cast<std::uint32_t>(days_.size()));
  if (is_new) days_.push_back({.cluster = cluster, .day = day, .sums = {}});
  return known->second;
}

void Census::add_to_day(std::uint32_t user, std::uint32_t day, double bytes) {
  UserDay& current = current_days_[user];
  if (current.day != day) {
    if (current.bytes > 0) user_days_.push_back(current);
    current.day = day;
    current.bytes = 0;
  }
  current.bytes += bytes;
}

struct Census::Columns {
  std::span<const DuckText> clusters;
  std::span<const DuckText> users;
  std::array<std::span<const std::int64_t>, kColumns> column;

  std::span<const std::int64_t> operator[](std::size_t i) const { return column[i]; }
};

Result<void> Census::add(const DuckBlock& block) {
  if (block.rows() == 0) return {};
  Columns columns{.clusters = block.texts(kCluster), .users = block.texts(kUser), .column = {}};
  for (std::size_t i = kStarted; i < kColumns; ++i) {
    columns.column[i] = block.integers(i);
    if (!within_limits(columns[i], kCensusColumns[i].kind)) {
      return fail(Errc::parse, fmt::format("a row has a value in column {} that no row of a store has", kCensusColumns[i].name));
    }
  }
  for (std::size_t from = 0; from < block.rows();) {
    std::size_t to = from + 1;
    while (to < block.rows() && columns.clusters[to] == columns.clusters[from]) ++to;
    add_run(columns, from, to, cluster_number(columns.clusters[from].view()));
    from = to;
  }
  return {};
}

void Census::add_run(const Columns& columns, std::size_t from, std::size_t to, std::uint32_t cluster) {
  // Column by column where memory is far apart: a processor then waits for several rows at once.
  users_of_rows_.clear();
  for (std::size_t row = from; row < to; ++row) users_of_rows_.push_back(user_number(cluster, columns.users[row]));
  ClusterSums& of_cluster = cluster_sums_[cluster];
  for (std::size_t row = from; row < to; ++row) {
    if (columns[kSeconds][row] < longest_seconds_) of_cluster.durations.add(columns[kSeconds][row]);
  }
  for (std::size_t row = from; row < to; ++row) {
    if (columns[kSeconds][row] < longest_seconds_) of_cluster.nodes.add(columns[kNodes][row]);
  }
  std::uint32_t day = 0;
  for (std::size_t row = from; row < to; ++row) {
    constexpr std::size_t kAhead = 8;
    if (row + kAhead < to) __builtin_prefetch(&user_sums_[users_of_rows_[row + kAhead - from]]);
    const std::int64_t local = columns[kLocalStarted][row];
    const std::int64_t today = day_of(local);
    // Rows are sorted by time: the last day will do nearly always.
    if (row == from || days_[day].day != today) day = day_number(cluster, today);
    const CountedJob job{.started = columns[kStarted][row],
                         .local_day = today,
                         .local_hour = static_cast<std::size_t>((local - today * kDay) / kHour),
                         .seconds = columns[kSeconds][row],
                         .silent_nodes = columns[kSilentNodes][row],
                         .bytes = columns[kBytes][row],
                         .read_bytes = columns[kReadBytes][row],
                         .write_bytes = columns[kWriteBytes][row],
                         .write_calls = columns[kWriteCalls][row],
                         .metadata_calls = columns[kMetadataCalls][row],
                         .opens = columns[kOpens][row],
                         .closes = columns[kCloses][row]};
    const std::uint32_t user = users_of_rows_[row - from];
    user_sums_[user].add(job);
    days_[day].sums.add(job);
    if (job.bytes > 0) add_to_day(user, day, static_cast<double>(job.bytes));
    if (job.write_bytes <= 0) continue;
    of_cluster.add_writer(job);
    std::array<std::int64_t, kOperations> operations{};
    for (std::size_t i = 0; i < kOperations; ++i) operations[i] = columns[kOpens + i][row];
    writers_.add(job.write_bytes, operations);
  }
  writers_.flush(of_cluster);
}

void Census::take(Census& other) noexcept {
  std::swap(clusters_, other.clusters_);
  std::swap(cluster_sums_, other.cluster_sums_);
  std::swap(day_numbers_, other.day_numbers_);
  std::swap(users_, other.users_);
  std::swap(user_sums_, other.user_sums_);
  std::swap(current_days_, other.current_days_);
  std::swap(days_, other.days_);
  std::swap(user_days_, other.user_days_);
  std::swap(known_users_, other.known_users_);
}

void Census::join(DuckFold& part) {
  auto& other = static_cast<Census&>(part);
  if (users_.size() == 0) {
    take(other);
    return;
  }
  std::vector<std::uint32_t> clusters;
  for (std::uint32_t i = 0; i < other.clusters_.size(); ++i) {
    clusters.push_back(cluster_number(other.clusters_[i].text));
    cluster_sums_[clusters.back()].join(other.cluster_sums_[i]);
  }
  std::vector<std::uint32_t> days;
  for (const Day& day : other.days_) {
    days.push_back(day_number(clusters[day.cluster], day.day));
    days_[days.back()].sums.join(day.sums);
  }
  std::vector<std::uint32_t> users;
  for (std::uint32_t i = 0; i < other.users_.size(); ++i) {
    users.push_back(user_number(clusters[other.users_[i].group], other.users_[i].text));
    user_sums_[users.back()].join(other.user_sums_[i]);
  }
  for (const std::vector<UserDay>* const parts : {&other.user_days_, &other.current_days_}) {
    for (const UserDay& one : *parts) {
      if (one.bytes > 0) user_days_.push_back({.user = users[one.user], .day = days[one.day], .bytes = one.bytes});
    }
  }
}

std::vector<Census::Heaviest> Census::heaviest_of_days() const {
  // Parts by day, without sorting: where the parts of each day begin, then each to its place.
  std::vector<std::size_t> begins(days_.size() + 1);
  const auto each = [&](const auto& visit) {
    for (const std::vector<UserDay>* const parts : {&user_days_, &current_days_}) {
      for (const UserDay& one : *parts) {
        if (one.bytes > 0) visit(one);
      }
    }
  };
  each([&](const UserDay& one) { ++begins[one.day + 1]; });
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  std::vector<UserDay> by_day(begins.back());
  std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
  each([&](const UserDay& one) { by_day[next[one.day]++] = one; });

  std::vector<Heaviest> answer;
  std::vector<double> of_user(users_.size());
  std::vector<std::uint32_t> seen;
  for (std::size_t day = 0; day < days_.size(); ++day) {
    seen.clear();
    for (std::size_t i = begins[day]; i < begins[day + 1]; ++i) {
      if (of_user[by_day[i].user] == 0) seen.push_back(by_day[i].user);
      of_user[by_day[i].user] += by_day[i].bytes;
    }
    if (seen.empty()) continue;
    Heaviest heaviest{.cluster = days_[day].cluster, .day = days_[day].day};
    for (const std::uint32_t user : seen) {
      consider(heaviest, users_, user, of_user[user]);
      of_user[user] = 0;
    }
    answer.push_back(heaviest);
  }
  return answer;
}

std::vector<Census::Heaviest> Census::heaviest_of_weekdays() const {
  std::vector<Heaviest> all;
  for (std::uint32_t cluster = 0; cluster < clusters_.size(); ++cluster) {
    for (std::size_t weekday = 0; weekday < UserSums::kWeekdays; ++weekday) {
      all.push_back({.cluster = cluster, .day = static_cast<std::int64_t>(weekday)});
    }
  }
  for (std::uint32_t user = 0; user < users_.size(); ++user) {
    for (std::size_t weekday = 0; weekday < UserSums::kWeekdays; ++weekday) {
      const double bytes = user_sums_[user].weekdays[weekday];
      if (bytes > 0) consider(all[users_[user].group * UserSums::kWeekdays + weekday], users_, user, bytes);
    }
  }
  std::erase_if(all, [](const Heaviest& heaviest) { return heaviest.most == 0; });
  return all;
}

}  // namespace iez::jobs
