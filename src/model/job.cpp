#include "model/job.hpp"

#include <algorithm>

namespace iez::model {

namespace {

constexpr std::array<std::string_view, kOperationCount> kNames{
#define IEZ_NAME(name) #name,
    IEZ_JOB_OPERATIONS(IEZ_NAME)
#undef IEZ_NAME
};

constexpr std::array kCountedElsewhere{Operation::read,
                                       Operation::write,
                                       Operation::samedir_rename,
                                       Operation::crossdir_rename,
                                       Operation::parallel_rename_file,
                                       Operation::parallel_rename_dir,
                                       Operation::rename_trylocks};

}  // namespace

std::string_view to_string(Operation operation) { return kNames.at(static_cast<std::size_t>(operation)); }

std::optional<Operation> parse_operation(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Operation>(found - kNames.begin());
}

JobCounters& JobCounters::operator+=(const JobCounters& other) {
  read_bytes += other.read_bytes;
  write_bytes += other.write_bytes;
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i] = saturating_add(calls[i], other.calls[i]);
  return *this;
}

std::uint64_t operations(const JobCounters& counters) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (std::find(kCountedElsewhere.begin(), kCountedElsewhere.end(), operation) == kCountedElsewhere.end()) {
      sum = saturating_add(sum, counters.calls[i]);
    }
  }
  return sum;
}

}  // namespace iez::model
