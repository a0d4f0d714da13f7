#include "lab/job_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <chrono>
#include <iterator>

namespace iez::lab {
namespace {

using model::Operation;

constexpr std::size_t kLongestId = 31;
constexpr auto kIdle = std::chrono::seconds(600);

bool counts_bytes(Operation operation) { return operation == Operation::read_bytes || operation == Operation::write_bytes; }

std::string seconds(Duration time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{}.{:09} secs.nsecs", whole.count(), (time - whole).count());
}

// "1", "512", "4K", "1M": 2^power.
std::string size_name(std::size_t power) {
  constexpr std::string_view kUnits = "KMGTPE";
  const std::uint64_t number = std::uint64_t{1} << (power % 10);
  return power < 10 ? fmt::format("{}", number) : fmt::format("{}{}", number, kUnits.at(power / 10 - 1));
}

std::string without_spaces(std::string_view job) {
  std::string id;
  for (const char c : job) {
    if (c != ' ' && id.size() < kLongestId) id += c;
  }
  return id;
}

// As it is where YAML takes it so; else in quotes, with \xHH for what is not printable.
std::string quoted(std::string_view id) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._-+/").contains(c);
  };
  if (std::ranges::all_of(id, is_plain) && !id.starts_with('-')) return std::string(id);
  std::string text = "\"";
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x21 || byte > 0x7e || c == '"' || c == '\\') {
      fmt::format_to(std::back_inserter(text), "\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string histogram(const std::array<std::uint64_t, 64>& sizes) {
  std::string text;
  for (std::size_t power = 0; power < sizes.size(); ++power) {
    if (sizes.at(power) == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}: {}", size_name(power), sizes.at(power));
  }
  return text;
}

constexpr std::array kOstOperations{Operation::read_bytes, Operation::write_bytes, Operation::read,    Operation::write,
                                    Operation::getattr,    Operation::setattr,     Operation::punch,   Operation::sync,
                                    Operation::destroy,    Operation::create,      Operation::statfs,  Operation::get_info,
                                    Operation::set_info,   Operation::quotactl,    Operation::prealloc};

constexpr std::array kMdtOperations{
    Operation::open,    Operation::close,   Operation::mknod,          Operation::link,
    Operation::unlink,  Operation::mkdir,   Operation::rmdir,          Operation::rename,
    Operation::getattr, Operation::setattr, Operation::getxattr,       Operation::setxattr,
    Operation::statfs,  Operation::sync,    Operation::samedir_rename, Operation::crossdir_rename};

}  // namespace

std::span<const Operation> ost_job_operations() { return kOstOperations; }
std::span<const Operation> mdt_job_operations() { return kMdtOperations; }

void OperationCounters::count(Operation operation, std::uint64_t value, WallTime now) {
  if (start_ == WallTime{}) start_ = now;
  last_ = std::max(last_, now);
  Row& row = rows_.at(static_cast<std::size_t>(operation));
  row.min = row.samples == 0 ? value : std::min(row.min, value);
  row.max = std::max(row.max, value);
  ++row.samples;
  row.sum += value;
  row.squares += value * value;  // wraps, as in the kernel
  if (!counts_bytes(operation)) return;
  const auto power =
      std::min(static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(value, 1) - 1)), sizes_[0].size() - 1);
  ++sizes_.at(operation == Operation::read_bytes ? 0 : 1).at(power);
}

std::string OperationCounters::stats_text(WallTime start, WallTime now) const {
  std::string text;
  const auto line = [&text](std::string_view name, const std::string& value) { text += fmt::format("{:<25} {}\n", name, value); };
  line("snapshot_time", seconds(now.time_since_epoch()));
  line("start_time", seconds(start.time_since_epoch()));
  line("elapsed_time", seconds(now - start));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_.at(i);
    if (row.samples == 0) continue;
    const auto operation = static_cast<Operation>(i);
    line(model::to_string(operation),
         fmt::format("{} samples [{}] {} {} {} {}", row.samples, counts_bytes(operation) ? "bytes" : "usecs", row.min, row.max,
                     row.sum, row.squares));
  }
  return text;
}

void JobCounters::count(std::string_view job, Operation operation, std::uint64_t value, WallTime now) {
  auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    std::string id = without_spaces(job);
    if (id.empty()) return;
    found = jobs_.try_emplace(std::move(id)).first;
  }
  found->second.count(operation, value, now);
}

void JobCounters::forget_idle(WallTime now) {
  std::erase_if(jobs_, [now](const auto& job) { return now - job.second.last() > kIdle; });
}

std::string JobCounters::text() const {
  if (jobs_.empty()) return {};
  std::string text = "job_stats:\n";
  for (const auto& [id, counters] : jobs_) {
    text += fmt::format("- {:<16} {}\n", "job_id:", quoted(id));
    text += fmt::format("  {:<16} {}\n", "snapshot_time:", seconds(counters.last().time_since_epoch()));
    text += fmt::format("  {:<16} {}\n", "start_time:", seconds(counters.start().time_since_epoch()));
    text += fmt::format("  {:<16} {}\n", "elapsed_time:", seconds(counters.last() - counters.start()));
    for (const Operation operation : operations_) {
      const OperationCounters::Row& row = counters.rows_.at(static_cast<std::size_t>(operation));
      text += fmt::format("  {:<16} {{ samples: {:>11}, unit: {}, min: {:>8}, max: {:>8}, sum: {:>16}, sumsq: {:>18}",
                          fmt::format("{}:", model::to_string(operation)), row.samples,
                          counts_bytes(operation) ? "bytes" : "usecs", row.min, row.max, row.sum, row.squares);
      if (counts_bytes(operation)) {
        text += fmt::format(", hist: {{ {} }}", histogram(counters.sizes_.at(operation == Operation::read_bytes ? 0 : 1)));
      }
      text += " }\n";
    }
  }
  return text;
}

}  // namespace iez::lab
