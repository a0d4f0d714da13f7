#include "coordinator/stored_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace iez::coordinator {

namespace {

// 1: without a database, and without expected sizes. 2: without phases, a verdict and a gain; with a flag of each layout, since
// one target could have several objects of a file. 3: without the times of the last run. 4: without slow OSTs, how long
// phases last, and what it was made together with.
constexpr std::uint64_t kVersion = 5;
constexpr std::uint64_t kOldest = 1;

class Writer {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::byte>(value | 0x80U));
      value >>= 7U;
    }
    bytes_.push_back(static_cast<std::byte>(value));
  }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    number(value.size());
    const auto* const data = reinterpret_cast<const std::byte*>(value.data());
    bytes_.insert(bytes_.end(), data, data + value.size());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// The first failure stays; numbers are 0 then, and lists empty.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t number(std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ >= bytes_.size()) return bad();
      const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
      const std::uint64_t part = byte & 0x7FU;
      if (shift == 63 && part > 1) return bad();
      value |= part << shift;
      if (byte < 0x80) return value <= limit ? value : bad();
    }
    return bad();
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string text() {
    const std::uint64_t size = count();
    std::string out(size, '\0');
    if (size > 0) std::memcpy(out.data(), bytes_.data() + at_, size);
    at_ += size;
    return out;
  }
  // Of members that take at least one byte each, and come after it.
  std::uint64_t count() {
    const std::uint64_t value = number();
    return value <= bytes_.size() - at_ ? value : bad();
  }
  bool failed() const { return failed_; }
  bool done() const { return !failed_ && at_ == bytes_.size(); }

 private:
  std::uint64_t bad() {
    failed_ = true;
    at_ = bytes_.size();
    return 0;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMost16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kMostReadPhase = std::uint64_t{api::kMaxPhase} + 1;  // as it is written: one more than it is

bool sound(const StoredPlan& plan) {
  std::uint64_t layouts = 0;
  for (const StoredEntry& entry : plan.entries) {
    if (entry.first != layouts || entry.created > entry.layouts) return false;
    if (entry.phase > api::kMaxPhase) return false;
    layouts += entry.layouts;
  }
  std::uint64_t stripes = 0;
  for (const StoredLayout& layout : plan.layouts) {
    if (layout.first != stripes || layout.reason >= plan.reasons.size() || layout.pool >= plan.pools.size()) return false;
    if (layout.stripes == 0 || layout.stripe_size == 0 || layout.expected > layout.bytes) return false;
    stripes += layout.stripes;
  }
  if (!std::isfinite(plan.gain) || plan.gain < 0) return false;
  if (!std::ranges::all_of(plan.slow, [](const api::SlowOst& one) { return one.speed > 0 && one.speed <= 1; })) return false;
  if (!std::ranges::all_of(plan.phase_seconds, [](double seconds) { return std::isfinite(seconds) && seconds >= 0; }))
    return false;
  return plan.id != 0 && layouts == plan.layouts.size() && stripes == plan.osts.size();
}

}  // namespace

std::uint64_t StoredPlan::created() const {
  std::uint64_t sum = 0;
  for (const StoredEntry& entry : entries) sum += entry.created;
  return sum;
}

std::uint64_t StoredPlan::reserved() const {
  std::uint64_t sum = 0;
  for (const StoredEntry& entry : entries) {
    for (std::uint32_t i = entry.first + entry.created; i < entry.first + entry.layouts; ++i) {
      sum += layouts[i].object_bytes * layouts[i].stripes;
    }
  }
  return sum;
}

bool StoredPlan::has_reads() const {
  return std::ranges::any_of(entries, [](const StoredEntry& entry) { return entry.read_phase >= 0; });
}

std::size_t StoredPlan::work() const { return osts.size() * (has_reads() ? 10 : 1); }

std::string id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

std::uint64_t parse_id(std::string_view text) {
  if (text.size() != 16) return 0;
  std::uint64_t id = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return 0;
    id = id << 4U | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return id;
}

std::vector<std::byte> encode(const StoredPlan& plan) {
  Writer out;
  out.number(kVersion);
  out.number(plan.id);
  out.text(plan.user);
  out.text(plan.application);
  out.text(plan.file_system);
  out.text(plan.policy);
  out.text(plan.database);
  out.text(plan.verdict);
  out.real(plan.gain);
  out.number(plan.revision);
  out.number(static_cast<std::uint64_t>(plan.made_ns));
  out.number(static_cast<std::uint64_t>(plan.expires_ns));
  out.number(static_cast<std::uint64_t>(plan.began_ns));
  out.number(static_cast<std::uint64_t>(plan.ended_ns));
  out.number(plan.weights ? 1 : 0);
  for (const double cost : {plan.before.ost, plan.before.oss, plan.after.ost, plan.after.oss}) out.real(cost);
  for (const auto* const texts : {&plan.reasons, &plan.pools, &plan.notes}) {
    out.number(texts->size());
    for (const std::string& text : *texts) out.text(text);
  }
  out.number(plan.freed.size());
  for (const api::FreedBytes& freed : plan.freed) {
    out.number(freed.ost);
    out.number(freed.bytes);
  }
  out.number(plan.slow.size());
  for (const api::SlowOst& slow : plan.slow) {
    out.number(slow.ost);
    out.real(slow.speed);
  }
  out.number(plan.phase_seconds.size());
  for (const double seconds : plan.phase_seconds) out.real(seconds);
  out.number(plan.together.size());
  for (const std::uint64_t id : plan.together) out.number(id);
  out.number(plan.entries.size());
  for (const StoredEntry& entry : plan.entries) {
    out.number(entry.layouts);
    out.number(entry.created);
    out.number(entry.phase);
    out.number(static_cast<std::uint64_t>(entry.read_phase + 1));
  }
  out.number(plan.layouts.size());
  for (const StoredLayout& layout : plan.layouts) {
    out.number(layout.bytes);
    out.number(layout.expected);
    out.number(layout.object_bytes);
    out.number(layout.stripe_size);
    out.number(layout.pool);
    out.number(layout.reason);
    out.number(layout.stripes);
    for (const std::uint32_t ost : plan.osts_of(layout)) out.number(ost);
  }
  return out.take();
}

Result<StoredPlan> decode(std::span<const std::byte> bytes) {
  Reader in(bytes);
  const std::uint64_t version = in.number();
  if (version < kOldest || version > kVersion) {
    return fail(Errc::unsupported,
                fmt::format("a plan of version {}; this program reads versions {} to {}", version, kOldest, kVersion));
  }
  StoredPlan plan{.id = in.number()};
  plan.user = in.text();
  plan.application = in.text();
  plan.file_system = in.text();
  plan.policy = in.text();
  if (version >= 2) plan.database = in.text();
  if (version >= 3) {
    plan.verdict = in.text();
    plan.gain = in.real();
  }
  plan.revision = in.number();
  plan.made_ns = static_cast<std::int64_t>(in.number());
  plan.expires_ns = static_cast<std::int64_t>(in.number());
  if (version >= 4) {
    plan.began_ns = static_cast<std::int64_t>(in.number());
    plan.ended_ns = static_cast<std::int64_t>(in.number());
  }
  plan.weights = in.number(1) == 1;
  for (double* const cost : {&plan.before.ost, &plan.before.oss, &plan.after.ost, &plan.after.oss}) *cost = in.real();
  for (auto* const texts : {&plan.reasons, &plan.pools, &plan.notes}) {
    for (std::uint64_t left = in.count(); left > 0 && !in.failed(); --left) texts->push_back(in.text());
  }
  for (std::uint64_t left = in.count(); left > 0 && !in.failed(); --left) {
    api::FreedBytes freed{.ost = static_cast<std::uint32_t>(in.number(kMost32))};
    freed.bytes = in.number();
    plan.freed.push_back(freed);
  }
  for (std::uint64_t left = version >= 5 ? in.count() : 0; left > 0 && !in.failed(); --left) {
    api::SlowOst slow{.ost = static_cast<std::uint32_t>(in.number(kMost32))};
    slow.speed = in.real();
    plan.slow.push_back(slow);
  }
  for (std::uint64_t left = version >= 5 ? in.count() : 0; left > 0 && !in.failed(); --left)
    plan.phase_seconds.push_back(in.real());
  for (std::uint64_t left = version >= 5 ? in.count() : 0; left > 0 && !in.failed(); --left) plan.together.push_back(in.number());
  std::uint64_t first = 0;
  for (std::uint64_t left = in.count(); left > 0 && !in.failed() && first <= kMost32; --left) {
    StoredEntry entry{.first = static_cast<std::uint32_t>(first), .layouts = static_cast<std::uint32_t>(in.number(kMost32))};
    entry.created = static_cast<std::uint32_t>(in.number(kMost32));
    if (version >= 3) {
      entry.phase = static_cast<std::uint32_t>(in.number(kMost32));
      entry.read_phase = static_cast<std::int64_t>(in.number(kMostReadPhase)) - 1;
    }
    first += entry.layouts;
    plan.entries.push_back(entry);
  }
  for (std::uint64_t left = in.count(); left > 0 && !in.failed(); --left) {
    StoredLayout layout{.bytes = in.number()};
    layout.expected = version >= 2 ? in.number() : layout.bytes;
    layout.object_bytes = in.number();
    layout.stripe_size = in.number();
    layout.pool = static_cast<std::uint16_t>(in.number(kMost16));
    layout.reason = static_cast<std::uint32_t>(in.number(kMost32));
    if (version < 3) static_cast<void>(in.number(1));
    layout.stripes = static_cast<std::uint16_t>(in.number(kMost16));
    layout.first = static_cast<std::uint32_t>(plan.osts.size());
    for (std::uint32_t i = 0; i < layout.stripes && !in.failed(); ++i) {
      plan.osts.push_back(static_cast<std::uint32_t>(in.number(kMost32)));
    }
    plan.layouts.push_back(layout);
  }
  if (!in.done() || !sound(plan)) return fail(Errc::parse, "not a plan of the coordinator's ledger");
  return plan;
}

api::PlanAnswer answer_of(const StoredPlan& plan) {
  api::PlanAnswer answer{.plan = plan.id == 0 ? std::string() : id_text(plan.id),
                         .revision = plan.revision,
                         .made_ns = plan.made_ns,
                         .expires_ns = plan.expires_ns,
                         .application = plan.application,
                         .policy = plan.policy,
                         .file_system = plan.file_system,
                         .verdict = plan.verdict,
                         .gain = plan.gain};
  answer.reasons = plan.reasons;
  answer.before = plan.before;
  answer.after = plan.after;
  answer.notes = plan.notes;
  answer.files.reserve(plan.entries.size());
  for (const StoredEntry& entry : plan.entries) {
    api::FileAnswer file;
    file.layouts.reserve(entry.layouts);
    for (std::uint32_t i = entry.first; i < entry.first + entry.layouts; ++i) {
      const auto osts = plan.osts_of(plan.layouts[i]);
      file.layouts.push_back({.stripe_size = plan.layouts[i].stripe_size, .osts = {osts.begin(), osts.end()}});
    }
    if (entry.layouts > 0) file.reason = plan.layouts[entry.first].reason;
    answer.files.push_back(std::move(file));
  }
  return answer;
}

Result<PlanPointer> with_created(const StoredPlan& plan, const api::CreatedRequest& created) {
  auto next = std::make_shared<StoredPlan>(plan);
  if (created.all) {
    for (StoredEntry& entry : next->entries) entry.created = entry.layouts;
  }
  for (const api::CreatedFile& file : created.files) {
    if (file.file >= next->entries.size()) {
      return fail(Errc::invalid_argument, fmt::format("file {}: the plan has {} files", file.file, next->entries.size()));
    }
    StoredEntry& entry = next->entries[file.file];
    const std::uint64_t now = file.files == 0 ? entry.layouts : std::min<std::uint64_t>(file.files, entry.layouts);
    entry.created = std::max(entry.created, static_cast<std::uint32_t>(now));
  }
  if (next->created() > 0) next->freed.clear();  // the run has begun: what it replaces is gone, or about to be
  const bool over = std::ranges::all_of(next->entries, [](const StoredEntry& e) { return e.created == e.layouts; });
  return over ? PlanPointer() : PlanPointer(std::move(next));
}

}  // namespace iez::coordinator
