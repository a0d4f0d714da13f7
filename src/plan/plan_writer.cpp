#include "plan/plan_writer.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/file_stage.hpp"
#include "plan/pattern_text.hpp"
#include "plan/plan_output.hpp"
#include "plan/rule_trie.hpp"

namespace iez::plan {

namespace {

constexpr std::uint64_t kFilesPerBucket = 2;
constexpr std::uint64_t kBytesPerBucket = 2000;
constexpr std::uint32_t kMaxRules = 1'000'000;
constexpr std::size_t kMaxTurns = 1'000'000;                    // layouts of one rule
constexpr std::size_t kInline = 24;                             // layouts up to this size are kept with their file
constexpr std::size_t kMaxInline = 4096;                        // and up to this one, if there are too many to share
constexpr std::size_t kSharedBudget = std::size_t{64} << 20U;   // for finding equal ones
constexpr std::uint64_t kMaxLayouts = std::uint64_t{1} << 30U;  // bytes of the section
constexpr int kAttempts = 8;                                    // to find a number of buckets, none of which is too large

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// Not insert(): gcc 12 takes its copy for an overflow at -O3.
void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::size_t size = to.size();
  to.resize(size + bytes.size());
  std::memcpy(to.data() + size, bytes.data(), bytes.size());
}
void append(std::vector<std::byte>& to, std::string_view text) { append(to, std::as_bytes(std::span(text))); }

std::string shown(std::string_view name) {
  constexpr std::size_t kShown = 200;
  return fmt::format("'{}'{}", text::printable(name.substr(0, kShown)), name.size() > kShown ? "..." : "");
}

Result<void> check_name(std::string_view name, std::string_view what) {
  if (name.empty() || name.size() > abi::kMaxName) {
    return fail(Errc::parse, fmt::format("found {} of {} bytes, expected 1 to {}", what, name.size(), abi::kMaxName));
  }
  if (name[0] != '/') return fail(Errc::parse, fmt::format("found {} {}, expected an absolute one, /...", what, shown(name)));
  if (name.find('\0') != std::string_view::npos) {
    return fail(Errc::parse, fmt::format("found a zero byte in {} {}, expected none", what, shown(name)));
  }
  return {};
}

std::uint64_t new_id(std::int64_t created_ns, std::string_view path) {
  const std::uint64_t id = abi::hash64(static_cast<std::uint64_t>(created_ns), path.data(), path.size());
  return id == 0 ? 1 : id;
}

// A record within the bytes of a part of the stage.
struct StagedRecord {
  std::uint64_t hash;
  const std::byte* bytes;
  std::size_t size;  // without the origin

  std::string_view name() const {
    return {reinterpret_cast<const char*>(bytes + abi::kRecordHead), abi::load_u16(bytes + abi::kRecordNameSize)};
  }
  std::uint64_t origin() const { return abi::load_u64(bytes + size); }
};

std::vector<StagedRecord> records_in(std::span<const std::byte> part) {
  std::vector<StagedRecord> records;
  std::size_t at = 0;
  while (at < part.size()) {
    const std::byte* const record = part.data() + at;
    const std::size_t size = abi::kRecordHead + std::size_t{abi::load_u16(record + abi::kRecordNameSize)} +
                             abi::load_u16(record + abi::kRecordFinalSize) + abi::load_u16(record + abi::kRecordLayoutSize);
    records.push_back({.hash = abi::load_u64(record + abi::kRecordHash), .bytes = record, .size = size});
    at += size + sizeof(std::uint64_t);
  }
  std::ranges::sort(records, [](const StagedRecord& a, const StagedRecord& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    if (const int order = a.name().compare(b.name()); order != 0) return order < 0;
    return a.origin() < b.origin();
  });
  return records;
}

}  // namespace

struct PlanWriter::State {
  State(std::string to, const Options& with)
      : path(std::move(to)),
        options(with),
        id(with.id == 0 ? new_id(with.created_ns, path) : with.id),
        stage(with.temporary_directory.empty() ? directory_of(path) : with.temporary_directory) {}

  static std::string directory_of(const std::string& path) {
    const std::string directory = std::filesystem::path(path).parent_path().string();
    return directory.empty() ? "." : directory;
  }

  // The place of the layout in its section, from the start of the file; equal ones are kept once.
  Result<std::uint64_t> place_layout(std::span<const std::byte> packed) {
    const std::string key(reinterpret_cast<const char*>(packed.data()), packed.size());
    if (const auto found = shared.find(key); found != shared.end()) return found->second;
    const std::uint64_t at = sizeof(abi::Header) + layouts.size();
    if (layouts.size() + abi::kLayoutHead + packed.size() > kMaxLayouts) {
      return fail(Errc::limit,
                  fmt::format("{}: more than {} bytes of different layouts do not fit into one plan", path, kMaxLayouts));
    }
    append(layouts, bytes_of(abi::layout_check(id, at, packed.data(), packed.size())));
    append(layouts, bytes_of(static_cast<std::uint16_t>(packed.size())));
    append(layouts, packed);
    if (shared_bytes < kSharedBudget) {
      constexpr std::size_t kEntry = 100;
      shared_bytes += key.size() + kEntry;
      shared.emplace(key, at);
    }
    return at;
  }

  // The layout as a file record has it.
  Result<std::vector<std::byte>> own_layout(std::span<const std::byte> request) {
    IEZ_TRY(std::vector<std::byte> packed, pack_layout(request));
    if (packed.size() <= kInline || (packed.size() <= kMaxInline && shared_bytes >= kSharedBudget)) return packed;
    IEZ_TRY(const std::uint64_t at, place_layout(packed));
    packed.assign(1, std::byte{abi::kLayoutShared});
    append(packed, bytes_of(abi::layout_ref(id, abi::kNoRule, 0, at)));
    return packed;
  }

  Result<void> write_bucket(PlanOutput& output, std::uint64_t bucket, std::span<const StagedRecord> records) {
    bucket_bytes.assign(sizeof(std::uint64_t), std::byte{0});
    for (const StagedRecord& one : records) append(bucket_bytes, {one.bytes, one.size});
    const std::uint64_t check = abi::bucket_check(id, bucket, bucket_bytes.data() + 8, bucket_bytes.size() - 8);
    std::memcpy(bucket_bytes.data(), &check, sizeof(check));
    directory.push_back(output.size());
    return output.append(bucket_bytes);
  }

  // False: a bucket would be too large.
  Result<bool> write_buckets(PlanOutput& output) {
    directory.clear();
    directory.reserve(bucket_count + 1);
    std::vector<std::byte> part;  // begins with what the part before left: records of a bucket that lies in both
    for (std::size_t number = 0; number < FileStage::kParts; ++number) {
      IEZ_TRY(const std::vector<std::byte> staged, stage.part(number));
      append(part, staged);
      const bool last = number + 1 == FileStage::kParts;
      const std::uint64_t complete = last ? bucket_count : abi::bucket_of(std::uint64_t{number + 1} << 56U, bucket_count);
      IEZ_TRY(const std::optional<std::size_t> left, write_part(output, part, complete));
      if (!left) return false;
      part.erase(part.begin(), part.end() - static_cast<std::ptrdiff_t>(*left));
    }
    while (directory.size() < bucket_count) IEZ_CHECK(write_bucket(output, directory.size(), {}));
    directory.push_back(output.size());
    return true;
  }

  // Writes the buckets before `complete`. What is left of the part is moved to its end, and its size given; nothing if a bucket
  // would be too large.
  Result<std::optional<std::size_t>> write_part(PlanOutput& output, std::vector<std::byte>& part, std::uint64_t complete) {
    const std::vector<StagedRecord> records = records_in(part);
    std::size_t first = 0;
    while (first < records.size()) {
      const std::uint64_t bucket = abi::bucket_of(records[first].hash, bucket_count);
      std::size_t end = first;
      std::size_t size = sizeof(std::uint64_t);
      for (; end < records.size() && abi::bucket_of(records[end].hash, bucket_count) == bucket; ++end) {
        if (end > first && records[end].name() == records[end - 1].name()) return twice(records[end - 1], records[end]);
        size += records[end].size;
      }
      if (size > abi::kMaxBucket) return std::optional<std::size_t>{};
      if (bucket >= complete) break;
      while (directory.size() < bucket) IEZ_CHECK(write_bucket(output, directory.size(), {}));
      IEZ_CHECK(write_bucket(output, bucket, std::span(records).subspan(first, end - first)));
      first = end;
    }
    std::vector<std::byte> left;
    for (const StagedRecord& one : std::span(records).subspan(first)) append(left, {one.bytes, one.size + sizeof(std::uint64_t)});
    std::ranges::copy(left, part.end() - static_cast<std::ptrdiff_t>(left.size()));
    return std::optional<std::size_t>(left.size());
  }

  std::unexpected<Error> twice(const StagedRecord& a, const StagedRecord& b) const {
    return fail(Errc::parse, fmt::format("found {} twice, in {} {} and {}, expected each name once", shown(a.name()),
                                         options.origin_word, a.origin(), b.origin()));
  }

  Result<void> write_files(PlanOutput& output) {
    const std::uint64_t start = output.size();
    bucket_count = options.bucket_count;
    if (bucket_count == 0 && files != 0) {
      bucket_count =
          std::max((files + kFilesPerBucket - 1) / kFilesPerBucket, (record_bytes + kBytesPerBucket - 1) / kBytesPerBucket);
    }
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      IEZ_TRY(const bool done, write_buckets(output));
      if (done) return {};
      if (options.bucket_count != 0) break;
      IEZ_CHECK(output.rewind(start));
      bucket_count *= 2;
    }
    return fail(Errc::limit, fmt::format("{}: too many long names fall into one of {} buckets", path, bucket_count));
  }

  std::string path;
  Options options;
  std::uint64_t id;
  FileStage stage;
  std::uint64_t files = 0;
  std::uint64_t name_bytes = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t bucket_count = 0;
  std::vector<std::uint64_t> directory;
  std::vector<std::byte> bucket_bytes;
  std::vector<std::byte> record;
  std::vector<std::byte> layouts;
  std::unordered_map<std::string, std::uint64_t> shared;  // packed layout to its place
  std::size_t shared_bytes = 0;
  RuleTrie trie;
  std::vector<std::byte> rules;
  std::vector<std::uint64_t> rule_offsets;
  std::vector<std::uint64_t> rule_origins;
  std::vector<std::string> rule_texts;
};

PlanWriter::PlanWriter(std::string path, const Options& options) : state_(std::make_unique<State>(std::move(path), options)) {}
PlanWriter::~PlanWriter() = default;
PlanWriter::PlanWriter(PlanWriter&&) noexcept = default;

Result<void> PlanWriter::add(const PlannedFile& file) {
  State& state = *state_;
  const std::string_view key = file.created_as.empty() ? file.name : file.created_as;
  const std::string_view final_name = file.created_as.empty() || file.created_as == file.name ? std::string_view{} : file.name;
  IEZ_CHECK(check_name(file.name, "a name"));
  IEZ_CHECK(check_name(key, "a temporary name"));
  IEZ_TRY(const std::vector<std::byte> layout, state.own_layout(file.request));
  const std::uint64_t hash = abi::name_hash(state.id, key.data(), key.size());
  state.record.clear();
  append(state.record, bytes_of(hash));
  append(state.record, bytes_of(static_cast<std::uint16_t>(key.size())));
  append(state.record, bytes_of(static_cast<std::uint16_t>(final_name.size())));
  append(state.record, bytes_of(static_cast<std::uint16_t>(layout.size())));
  append(state.record, key);
  append(state.record, final_name);
  append(state.record, layout);
  ++state.files;
  state.name_bytes += key.size() + final_name.size();
  state.record_bytes += state.record.size();
  return state.stage.add(hash, state.record, file.origin);
}

Result<void> PlanWriter::add(const PlannedRule& rule) {
  State& state = *state_;
  const auto type = static_cast<std::uint8_t>(rule.type);
  std::string text = rule.created_as.empty() ? rule.text : rule.created_as;
  const std::string final_text = rule.created_as.empty() || rule.created_as == rule.text ? std::string{} : rule.text;
  IEZ_CHECK(check_name(text, rule.type == RuleType::pattern ? "a pattern" : "a directory"));
  if (rule.type != RuleType::pattern && !text.ends_with('/')) text += '/';
  IEZ_CHECK(check_name(text, "a directory"));
  IEZ_TRY(const std::vector<PatternPiece> pieces, parse_pattern(text));
  std::vector<abi::RuleField> fields;
  if (rule.type == RuleType::pattern) {
    IEZ_TRY(fields, parse_turn(rule.turn, pieces));
    if (fields.empty()) return fail(Errc::parse, fmt::format("found {} without a field, expected a pattern", shown(text)));
  } else if (!rule.turn.empty() || !rule.created_as.empty()) {
    return fail(Errc::parse, "found a turn or a temporary name, expected them with patterns and files only");
  }
  if (!final_text.empty()) {
    IEZ_CHECK(check_name(final_text, "a pattern"));
    IEZ_TRY(const std::vector<PatternPiece> final_pieces, parse_pattern(final_text));
    for (const PatternPiece& piece : final_pieces) {
      if (piece.kind == abi::kEdgeLiteral) continue;
      if (std::ranges::none_of(pieces,
                               [&](const PatternPiece& p) { return p.kind != abi::kEdgeLiteral && p.text == piece.text; })) {
        return fail(Errc::parse, fmt::format("found the field {{{}}} in {}, expected it in the temporary name {}, too",
                                             piece.text, shown(final_text), shown(text)));
      }
    }
  }
  if ((rule.type == RuleType::leave) != rule.requests.empty()) {
    return fail(Errc::parse,
                rule.requests.empty() ? "found no layout, expected one" : "found a layout, expected none with leave");
  }
  const std::size_t turns = rule.order.empty() ? rule.requests.size() : rule.order.size();
  if (turns > kMaxTurns || state.rule_offsets.size() >= kMaxRules) {
    return fail(Errc::limit, fmt::format("at most {} layouts of a rule, and {} rules", kMaxTurns, kMaxRules));
  }
  const auto number = static_cast<std::uint32_t>(state.rule_offsets.size());
  if (const std::uint32_t there = state.trie.add(pieces, type, number); there != number) {
    return fail(Errc::parse,
                fmt::format("found {}, which applies to the same names as {} in {} {}, expected one of them", shown(text),
                            shown(state.rule_texts[there]), state.options.origin_word, state.rule_origins[there]));
  }

  const std::uint64_t at = state.rules.size();
  std::vector<std::byte> tail;  // behind the head, as far as the check goes
  for (const abi::RuleField& field : fields) append(tail, bytes_of(field));
  append(tail, text);
  append(tail, final_text);
  abi::RuleHead head{.check = 0,
                     .size = 0,
                     .layout_count = static_cast<std::uint32_t>(turns),
                     .type = type,
                     .field_count = static_cast<std::uint8_t>(fields.size()),
                     .text_size = static_cast<std::uint16_t>(text.size()),
                     .final_size = static_cast<std::uint16_t>(final_text.size()),
                     .reserved = 0};
  head.size = static_cast<std::uint32_t>(sizeof(head) + tail.size() + turns * sizeof(std::uint64_t));
  if (at + head.size >= std::numeric_limits<std::uint32_t>::max()) {
    return fail(Errc::limit, fmt::format("{}: the rules of one plan have at most 4 GiB", state.path));
  }
  append(state.rules, bytes_of(head));
  append(state.rules, tail);
  const std::size_t checked = sizeof(head) + tail.size() - sizeof(head.check);
  head.check = abi::rule_check(state.id, at, state.rules.data() + at + sizeof(head.check), checked);
  std::memcpy(state.rules.data() + at, &head.check, sizeof(head.check));
  std::vector<std::uint64_t> places;
  places.reserve(rule.requests.size());
  for (const std::vector<std::byte>& request : rule.requests) {
    IEZ_TRY(const std::vector<std::byte> packed, pack_layout(request));
    IEZ_TRY(places.emplace_back(), state.place_layout(packed));
  }
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const std::size_t request = rule.order.empty() ? turn : rule.order[turn];
    IEZ_ASSERT(request < places.size());
    append(state.rules, bytes_of(abi::layout_ref(state.id, at, turn, places[request])));
  }
  state.rule_offsets.push_back(at);
  state.rule_origins.push_back(rule.origin);
  state.rule_texts.push_back(std::move(text));
  return {};
}

Result<PlanSummary> PlanWriter::finish() {
  State& state = *state_;
  std::vector<std::byte> trie;
  if (!state.rule_offsets.empty()) {
    IEZ_TRY(trie, state.trie.encode(state.id, state.rule_offsets));
  }
  IEZ_TRY(PlanOutput output, PlanOutput::create(state.path, state.options.mode));
  abi::Header header{};
  IEZ_CHECK(output.append(bytes_of(header)));
  const auto section = [&output](std::span<const std::byte> bytes, std::uint64_t& at, std::uint64_t& size) -> Result<void> {
    at = output.size();
    size = bytes.size();
    return output.append(bytes);
  };
  IEZ_CHECK(section(state.layouts, header.layouts_at, header.layouts_size));
  IEZ_CHECK(section(state.rules, header.rules_at, header.rules_size));
  IEZ_CHECK(section(trie, header.trie_at, header.trie_size));
  IEZ_CHECK(state.write_files(output));
  header.directory_at = output.size();
  IEZ_CHECK(output.append(std::as_bytes(std::span(state.directory))));
  IEZ_CHECK(output.append(bytes_of(abi::end_mark(state.id))));
  if (output.size() > abi::kMaxFile) return fail(Errc::limit, fmt::format("{}: a plan has at most 1 TiB", state.path));

  header.magic = abi::kMagic;
  header.byte_order = abi::kByteOrder;
  header.version = abi::kVersion;
  header.minor_version = abi::kMinorVersion;
  header.header_size = sizeof(header);
  header.file_size = output.size();
  header.id = state.id;
  header.created_ns = state.options.created_ns;
  header.file_count = state.files;
  header.bucket_count = state.bucket_count;
  header.rule_count = static_cast<std::uint32_t>(state.rule_offsets.size());
  header.name_bytes = state.name_bytes;
  header.checksum = abi::header_checksum(header);
  IEZ_CHECK(output.finish(bytes_of(header)));
  return PlanSummary{.id = state.id,
                     .files = state.files,
                     .rules = state.rule_offsets.size(),
                     .bytes = header.file_size,
                     .name_bytes = state.name_bytes,
                     .buckets = state.bucket_count};
}

}  // namespace iez::plan
