#include "store/record_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "store/rows.hpp"

namespace iez::store {

namespace {

using nlohmann::ordered_json;

constexpr int kMaxDepth = 8;

bool is_utf8(std::string_view text) {
  const auto next = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = next(i);
    std::size_t length = 1;
    unsigned low = 0x80;
    unsigned high = 0xBF;
    if (first >= 0xC2 && first <= 0xDF) {
      length = 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
      length = 3;
      if (first == 0xE0) low = 0xA0;
      if (first == 0xED) high = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
      length = 4;
      if (first == 0xF0) low = 0x90;
      if (first == 0xF4) high = 0x8F;
    } else if (first >= 0x80) {
      return false;
    }
    for (std::size_t k = 1; k < length; ++k) {
      const unsigned byte = next(i + k);
      if (byte < (k == 1 ? low : 0x80U) || byte > (k == 1 ? high : 0xBFU)) return false;
    }
    i += length;
  }
  return true;
}

class Writer {
 public:
  void operator()(const char* name, const std::string& value) {
    if (is_utf8(value)) {
      json_[name] = value;
      return;
    }
    std::string hex;
    hex.reserve(value.size() * 2);
    for (const char c : value) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    json_[name] = {{"hex", std::move(hex)}};
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(const char* name, const T& value) {
    json_[name] = value;
  }
  void operator()(const char* name, const Bytes& value) { json_[name] = value.count; }
  void operator()(const char* name, const std::optional<double>& value) {
    json_[name] = value && std::isfinite(*value) ? ordered_json(*value) : ordered_json(nullptr);
  }
  void operator()(const char* name, const RunMode& value) { json_[name] = to_string(value); }
  void operator()(const char* name, const PlanState& value) { json_[name] = to_string(value); }
  void operator()(const char* name, const std::vector<StripeLayout>& value) {
    ordered_json list = ordered_json::array();
    for (const StripeLayout& layout : value) {
      ordered_json osts = ordered_json::array();
      for (const OstIndex ost : layout.osts) osts.push_back(ost.value);
      list.push_back({{"stripe_size", layout.stripe_size.count}, {"osts", std::move(osts)}});
    }
    json_[name] = std::move(list);
  }
  void operator()(const char* name, const std::vector<RunPhase>& value) { (*this)(name, phase_list(value)); }
  void operator()(const char* name, const std::vector<RunTargets>& value) { (*this)(name, target_list(value)); }
  void operator()(const char* name, const std::vector<double>& value) { (*this)(name, seconds_list(value)); }
  ordered_json take() { return std::move(json_); }

 private:
  ordered_json json_ = ordered_json::object();
};

// The first thing that is wrong stays.
class Reader {
 public:
  explicit Reader(const ordered_json& json) : json_(json) {}

  void operator()(const char* name, std::string& value) {
    const ordered_json* const found = find(name);
    if (found == nullptr) return;
    if (found->is_string()) {
      value = found->get_ref<const std::string&>();
    } else if (found->is_object() && found->size() == 1 && found->contains("hex") && found->front().is_string()) {
      if (!unhex(found->front().get_ref<const std::string&>(), value)) bad(name, "hexadecimal digits");
    } else {
      bad(name, "a text");
    }
  }
  void operator()(const char* name, bool& value) {
    const ordered_json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_boolean()) return bad(name, "true or false");
    value = found->get<bool>();
  }
  template <typename T>
    requires std::integral<T>
  void operator()(const char* name, T& value) {
    const ordered_json* const found = find(name);
    if (found != nullptr && !whole(*found, value)) bad(name, "a whole number that fits");
  }
  void operator()(const char* name, Bytes& value) { (*this)(name, value.count); }
  void operator()(const char* name, std::optional<double>& value) {
    const ordered_json* const found = find(name);
    if (found == nullptr || found->is_null()) return;
    if (!found->is_number() || !std::isfinite(found->get<double>())) return bad(name, "a number or null");
    value = found->get<double>();
  }
  void operator()(const char* name, RunMode& value) { choice(name, value, std::array{RunMode::learn, RunMode::place}); }
  void operator()(const char* name, PlanState& value) {
    choice(name, value, std::array{PlanState::planned, PlanState::created, PlanState::expired});
  }
  void operator()(const char* name, std::vector<StripeLayout>& value) {
    const ordered_json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_array()) return bad(name, "a list");
    for (const ordered_json& item : *found) {
      const bool right = item.is_object() && item.contains("stripe_size") && item.contains("osts") && item["osts"].is_array();
      StripeLayout layout;
      if (!right || !whole(item["stripe_size"], layout.stripe_size.count)) return bad(name, "layouts with stripe_size and osts");
      for (const ordered_json& ost : item["osts"]) {
        OstIndex index;
        if (!whole(ost, index.value)) return bad(name, "numbers of OSTs");
        layout.osts.push_back(index);
      }
      value.push_back(std::move(layout));
    }
  }

  void operator()(const char* name, std::vector<RunPhase>& value) {
    std::string text;
    (*this)(name, text);
    value = parse_phase_list(text);
  }
  void operator()(const char* name, std::vector<RunTargets>& value) {
    std::string text;
    (*this)(name, text);
    value = parse_target_list(text);
  }
  void operator()(const char* name, std::vector<double>& value) {
    std::string text;
    (*this)(name, text);
    value = parse_seconds_list(text);
  }

  const std::string& problem() const { return problem_; }

 private:
  const ordered_json* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  void bad(const char* name, std::string_view expected) {
    if (problem_.empty()) problem_ = fmt::format("field {}: expected {}", name, expected);
  }
  template <typename T>
  static bool whole(const ordered_json& json, T& value) {
    if (json.is_number_unsigned()) {
      const auto number = json.get<std::uint64_t>();
      if (!std::in_range<T>(number) || number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return false;
      value = static_cast<T>(number);
      return true;
    }
    if (!json.is_number_integer()) return false;
    const auto number = json.get<std::int64_t>();
    if (!std::in_range<T>(number)) return false;
    value = static_cast<T>(number);
    return true;
  }
  template <typename T, std::size_t N>
  void choice(const char* name, T& value, const std::array<T, N>& choices) {
    const ordered_json* const found = find(name);
    if (found == nullptr) return;
    for (const T one : choices) {
      if (found->is_string() && found->get_ref<const std::string&>() == to_string(one)) {
        value = one;
        return;
      }
    }
    bad(name, "one of its words");
  }
  static bool unhex(std::string_view hex, std::string& out) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (hex.size() % 2 != 0) return false;
    out.clear();
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      const std::size_t high = kDigits.find(hex[i]);
      const std::size_t low = kDigits.find(hex[i + 1]);
      if (high == std::string_view::npos || low == std::string_view::npos) return false;
      out += static_cast<char>(high * 16 + low);
    }
    return true;
  }

  const ordered_json& json_;
  std::string problem_;
};

// The fields of each kind, once for both directions. `Record` is const for the writer.
template <typename Archive, typename Record>
void fields(Archive& archive, Record& record) {
  using T = std::remove_const_t<Record>;
  if constexpr (std::is_same_v<T, ExportHead>) {
    archive("version", record.version);
    archive("made_ns", record.made_ns);
  } else if constexpr (std::is_same_v<T, Application>) {
    archive("owner", record.owner);
    archive("name", record.name);
    archive("fingerprint", record.fingerprint);
    archive("created_ns", record.created_ns);
  } else if constexpr (std::is_same_v<T, ExportRun>) {
    archive("owner", record.owner);
    archive("application", record.application);
    auto& run = record.run;
    archive("key", run.key);
    archive("started_ns", run.started_ns);
    archive("ended_ns", run.ended_ns);
    archive("command", run.command);
    archive("host", run.host);
    archive("uid", run.uid);
    archive("job", run.job);
    archive("ranks", run.ranks);
    archive("processes", run.processes);
    archive("mode", run.mode);
    archive("exit_status", run.exit_status);
    archive("plan", run.plan);
    archive("files", run.files);
    archive("written", run.written);
    archive("read", run.read);
    archive("misses", run.misses);
    archive("planned", run.planned);
    archive("unplanned", run.unplanned);
    archive("accuracy", run.accuracy);
    archive("by_weight", run.by_weight);
    archive("foretold", run.foretold);
    archive("met", run.met);
    archive("files_kept", run.files_kept);
    archive("phases", run.phases);
    archive("targets", run.targets);
  } else if constexpr (std::is_same_v<T, FileRow>) {
    archive("name", record.name);
    archive("renamed", record.renamed);
    archive("written", record.written);
    archive("read", record.read);
    archive("stripe_count", record.stripe_count);
    archive("stripe_size", record.stripe_size);
    archive("rank", record.rank);
    archive("ranks", record.ranks);
    archive("created", record.created);
    archive("phase", record.phase);
    archive("read_phase", record.read_phase);
    archive("removed", record.removed);
    archive("own_layout", record.own_layout);
  } else if constexpr (std::is_same_v<T, Miss>) {
    archive("name", record.name);
    archive("why", record.why);
  } else if constexpr (std::is_same_v<T, ExportPrediction>) {
    archive("owner", record.owner);
    archive("application", record.application);
    archive("run", record.run);
    auto& prediction = record.prediction;
    archive("key", prediction.key);
    archive("made_ns", prediction.made_ns);
    archive("ranks", prediction.ranks);
    archive("model", prediction.model);
    archive("accuracy", prediction.accuracy);
    archive("rows", prediction.row_count);
    archive("bytes", prediction.bytes);
    archive("phase_seconds", prediction.phase_seconds);
    archive("verdict", prediction.verdict);
  } else if constexpr (std::is_same_v<T, PredictionRow>) {
    archive("name", record.name);
    archive("created_as", record.created_as);
    archive("bytes", record.bytes);
    archive("high", record.high);
    archive("stripe_count", record.stripe_count);
    archive("stripe_size", record.stripe_size);
    archive("rank", record.rank);
    archive("shared", record.shared);
    archive("open", record.open);
    archive("files", record.files);
    archive("phase", record.phase);
    archive("read_phase", record.read_phase);
    archive("left_alone", record.left_alone);
    archive("default_stripes", record.default_stripes);
    archive("default_stripe_size", record.default_stripe_size);
  } else if constexpr (std::is_same_v<T, ExportAllocation>) {
    archive("prediction", record.prediction);
    auto& allocation = record.allocation;
    archive("key", allocation.key);
    archive("plan", allocation.plan);
    archive("made_ns", allocation.made_ns);
    archive("planner", allocation.planner);
    archive("policy", allocation.policy);
    archive("file_system", allocation.file_system);
    archive("details", allocation.details);
    archive("rows", allocation.row_count);
    archive("planned", allocation.planned);
    archive("created", allocation.created);
    archive("expired", allocation.expired);
  } else if constexpr (std::is_same_v<T, AllocationRow>) {
    archive("row", record.row);
    archive("layouts", record.layouts);
    archive("reason", record.reason);
    archive("state", record.state);
  } else {
    static_assert(std::is_same_v<T, ExportEnd>);
    archive("lines", record.lines);
  }
}

constexpr std::array<std::string_view, std::variant_size_v<ExportLine>> kKinds{
    "iez_store", "application", "run", "file", "miss", "prediction", "predicted", "allocation", "allocated", "end"};

template <std::size_t I>
Result<ExportLine> decode_as(const ordered_json& json) {
  std::variant_alternative_t<I, ExportLine> record{};
  Reader reader(json);
  fields(reader, record);
  if (!reader.problem().empty()) return fail(Errc::parse, fmt::format("{}: {}", kKinds.at(I), reader.problem()));
  return ExportLine(std::in_place_index<I>, std::move(record));
}

template <std::size_t... I>
Result<ExportLine> decode_kind(std::size_t kind, const ordered_json& json, std::index_sequence<I...> /*kinds*/) {
  Result<ExportLine> line = fail(Errc::parse, "no kind");
  ((kind == I ? static_cast<void>(line = decode_as<I>(json)) : void()), ...);
  return line;
}

// Before the parser sees it: brackets outside of texts.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::string encode_line(const ExportLine& line) {
  ordered_json json = ordered_json::object();
  std::visit(
      [&](const auto& record) {
        Writer writer;
        fields(writer, record);
        json[std::string(kKinds.at(line.index()))] = writer.take();
      },
      line);
  return json.dump();
}

Result<ExportLine> decode_line(std::string_view text) {
  if (text.size() > kMaxLine) return fail(Errc::limit, fmt::format("the line has more than {} bytes", kMaxLine));
  if (too_deep(text)) return fail(Errc::parse, "too many brackets within each other");
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(Errc::parse, "is no JSON");
  if (!json.is_object() || json.size() != 1 || !json.front().is_object()) {
    return fail(Errc::parse, "expected an object of one member, which names its kind");
  }
  const auto* const kind = std::find(kKinds.begin(), kKinds.end(), json.begin().key());
  if (kind == kKinds.end()) {
    return fail(Errc::parse, fmt::format("'{}' is no kind of line", text::printable(json.begin().key().substr(0, 40))));
  }
  return decode_kind(static_cast<std::size_t>(kind - kKinds.begin()), json.front(),
                     std::make_index_sequence<std::variant_size_v<ExportLine>>());
}

}  // namespace iez::store
