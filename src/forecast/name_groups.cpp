#include "forecast/name_groups.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

namespace iez::forecast {

namespace {

constexpr std::uint32_t kFewNames = 3;       // a random word needs this many siblings
constexpr std::size_t kMaxModels = 64;       // word groups that lone names are compared with
constexpr std::size_t kMaxDirectories = 16;  // of a name, counted from its end
constexpr std::size_t kMaxFractionDigits = 15;

// What the texts of one number over a group say about fractions.
struct FractionEvidence {
  unsigned least = ~0U;  // decimals
  unsigned most = 0;
  unsigned most_padded = 0;  // decimals of a text that ends in 0
  bool leading_zero = false;
  bool too_long = false;

  void see(std::string_view text, const Token& token) {
    least = std::min<unsigned>(least, token.decimals);
    most = std::max<unsigned>(most, token.decimals);
    if (token.decimals > 0 && text.back() == '0') most_padded = std::max<unsigned>(most_padded, token.decimals);
    leading_zero |= text.size() > 1 && text[0] == '0' && text[1] != '.';
    too_long |= text.size() > kMaxFractionDigits;
  }

  bool consistent() const { return !leading_zero && !too_long && (most_padded == 0 || most_padded == least); }
};

// "100.0" to "100.9", "200.0" to "200.9": each whole number with each rest, and no even steps. These are two numbers.
bool is_product(std::vector<std::int64_t> values, unsigned decimals) {
  std::int64_t scale = 1;
  for (unsigned i = 0; i < decimals; ++i) scale *= 10;
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
  std::set<std::int64_t> whole;
  std::set<std::int64_t> part;
  for (const std::int64_t value : values) {
    whole.insert(value / scale);
    part.insert(value % scale);
  }
  if (whole.size() < 2 || part.size() < 2 || whole.size() * part.size() != values.size()) return false;
  return !make_series(std::move(values), false).values.empty();
}

}  // namespace

// Groups by hash and shape, for one way to lex.
class NameGroups::Builder {
 public:
  explicit Builder(NameGroups& owner) : owner_(owner) {}

  // The group for a name that was lexed by mode; made if there is none.
  std::uint32_t find(std::uint32_t name, const LexMode& mode, const LexedName& lexed) {
    auto& groups = owner_.groups_;
    const auto fresh = static_cast<std::uint32_t>(groups.size());
    const auto [entry, inserted] = heads_.try_emplace(lexed.hash, fresh);
    std::uint32_t group = entry->second;
    if (!inserted) {
      while (!same(name, lexed, group)) {
        if (groups[group].next == 0) {
          groups[group].next = fresh;
          group = fresh;
          break;
        }
        group = groups[group].next;
      }
    }
    if (group == fresh) groups.push_back({.first = name, .mode = mode});
    return group;
  }

 private:
  // Names of a few groups often alternate: their models are kept.
  struct Model {
    std::uint32_t group = ~0U;
    LexedName lexed;
  };

  bool same(std::uint32_t name, const LexedName& lexed, std::uint32_t group) {
    const NameGroup& other = owner_.groups_[group];
    const std::string_view model_name = owner_.names_[other.first].name;
    Model& model = models_[group % models_.size()];
    if (model.group != group) {
      model.group = group;
      lex(model_name, other.mode, model.lexed);
    }
    return same_shape(owner_.names_[name].name, lexed, model_name, model.lexed);
  }

  NameGroups& owner_;
  std::unordered_map<std::uint64_t, std::uint32_t> heads_;
  std::vector<Model> models_ = std::vector<Model>(64);
};

NameGroups::NameGroups(std::span<const ObservedName> names) : names_(names), group_of_(names.size(), 0) {
  group_all();
  split_false_fractions();
  merge_random_words();
  merge_runs();
}

void NameGroups::adopt(std::uint32_t name, std::uint32_t group) {
  NameGroup& to = groups_[group];
  ++to.count;
  if (names_[name].run != names_[to.first].run) to.one_run = false;
  group_of_[name] = group;
}

std::vector<std::vector<std::uint32_t>> NameGroups::members(const std::vector<bool>& wanted) const {
  std::vector<std::vector<std::uint32_t>> result(wanted.size());
  for (std::uint32_t i = 0; i < names_.size(); ++i) {
    if (const std::uint32_t group = group_of_[i]; group < wanted.size() && wanted[group]) result[group].push_back(i);
  }
  return result;
}

void NameGroups::group_all() {
  Builder builder(*this);
  LexedName lexed;
  for (std::uint32_t i = 0; i < names_.size(); ++i) {
    lex(names_[i].name, {}, lexed);
    const std::uint32_t group = builder.find(i, {}, lexed);
    adopt(i, group);
    if (groups_[group].pointed) continue;
    groups_[group].pointed = std::ranges::any_of(lexed.tokens(), [](const Token& token) { return token.decimals > 0; });
  }
}

void NameGroups::split_false_fractions() {
  std::vector<bool> pointed(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) pointed[g] = groups_[g].pointed;
  if (std::ranges::find(pointed, true) == pointed.end()) return;
  const auto names_of = members(pointed);
  const LexMode plain{.fractions = false};
  Builder builder(*this);
  LexedName lexed;
  for (std::size_t g = 0; g < names_of.size(); ++g) {
    if (!pointed[g]) continue;
    std::array<FractionEvidence, kMaxTokens> evidence;
    std::size_t tokens = 0;
    for (const std::uint32_t i : names_of[g]) {
      lex(names_[i].name, {}, lexed);
      tokens = lexed.count;
      for (std::size_t t = 0; t < tokens; ++t) {
        const Token& token = lexed.storage[t];
        evidence[t].see(names_[i].name.substr(token.offset, token.length), token);
      }
    }
    bool good = true;
    for (std::size_t t = 0; t < tokens && good; ++t) {
      if (evidence[t].most == 0) continue;
      good = evidence[t].consistent();
      if (!good || evidence[t].least != evidence[t].most) continue;
      std::vector<std::int64_t> values;
      values.reserve(names_of[g].size());
      for (const std::uint32_t i : names_of[g]) {
        lex(names_[i].name, {}, lexed);
        values.push_back(lexed.storage[t].value);
      }
      good = !is_product(std::move(values), evidence[t].most);
    }
    if (good) continue;
    groups_[g].count = 0;
    for (const std::uint32_t i : names_of[g]) {
      lex(names_[i].name, plain, lexed);
      adopt(i, builder.find(i, plain, lexed));
    }
  }
}

void NameGroups::merge_random_words() {
  std::vector<std::uint32_t> lone;
  for (std::uint32_t i = 0; i < names_.size(); ++i) {
    if (groups_[group_of_[i]].count < kFewNames) lone.push_back(i);
  }
  const auto first_new = static_cast<std::uint32_t>(groups_.size());
  const LexMode words{.words = true};
  Builder builder(*this);
  LexedName lexed;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> candidates;  // name, group
  for (const std::uint32_t i : lone) {
    lex(names_[i].name, words, lexed);
    if (std::ranges::none_of(lexed.tokens(), [](const Token& token) { return token.word; })) continue;
    const std::uint32_t group = builder.find(i, words, lexed);
    candidates.emplace_back(i, group);
    ++groups_[group].count;
  }
  // A name is left in its first group where too few share the rest.
  std::vector<std::uint32_t> models;
  std::vector<bool> kept(groups_.size());
  for (std::uint32_t g = first_new; g < groups_.size(); ++g) {
    kept[g] = groups_[g].count >= kFewNames;
    groups_[g].count = 0;
    if (kept[g]) models.push_back(g);
  }
  for (const auto& [name, group] : candidates) {
    if (!kept[group]) continue;
    --groups_[group_of_[name]].count;
    adopt(name, group);
  }
  join_models(models, first_new);
}

void NameGroups::join_models(std::span<const std::uint32_t> models, std::uint32_t first_model) {
  if (models.empty()) return;
  std::vector<std::uint32_t> target(first_model, ~0U);
  std::vector<LexedName> shapes(std::min(models.size(), kMaxModels));
  for (std::size_t m = 0; m < shapes.size(); ++m) {
    lex(names_[groups_[models[m]].first].name, groups_[models[m]].mode, shapes[m]);
  }
  LexedName lexed;
  const auto model_name = [&](std::size_t m) { return names_[groups_[models[m]].first].name; };
  for (std::uint32_t g = 0; g < first_model; ++g) {
    if (groups_[g].count == 0) continue;
    for (std::size_t m = 0; m < shapes.size(); ++m) {
      // A large group is a series of its own.
      if (groups_[g].count * 4 > groups_[models[m]].count + 4) continue;
      if (!lex_like(names_[groups_[g].first].name, model_name(m), shapes[m], lexed)) continue;
      target[g] = static_cast<std::uint32_t>(m);
      break;
    }
  }
  for (std::uint32_t i = 0; i < names_.size(); ++i) {
    const std::uint32_t group = group_of_[i];
    if (group >= first_model || target[group] == ~0U) continue;
    const std::uint32_t m = target[group];
    if (!lex_like(names_[i].name, model_name(m), shapes[m], lexed)) continue;
    --groups_[group].count;
    adopt(i, models[m]);
  }
}

void NameGroups::merge_runs() {
  struct Candidate {
    std::uint64_t key;
    std::uint32_t group;
    std::uint32_t run;
    LexMode mode;
    std::uint32_t order;  // directories nearest to the file come last
  };
  std::vector<Candidate> candidates;
  std::set<std::uint32_t> runs;
  std::size_t alone = 0;
  for (const NameGroup& group : groups_) {
    if (group.count == 0 || !group.one_run) continue;
    runs.insert(names_[group.first].run);
    if (++alone > kMaxRunGroups) return;
  }
  if (runs.size() < 2) return;
  LexedName lexed;
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    const NameGroup& group = groups_[g];
    if (group.count == 0 || !group.one_run) continue;
    const std::string_view name = names_[group.first].name;
    const std::uint32_t run = names_[group.first].run;
    if (!group.mode.words) {
      LexMode mode = group.mode;
      mode.words = true;
      lex(name, mode, lexed);
      if (std::ranges::any_of(lexed.tokens(), [](const Token& token) { return token.word; })) {
        candidates.push_back({lexed.hash, g, run, mode, 0});
      }
    }
    std::size_t end = name.rfind('/');
    for (std::uint32_t k = 0; k < kMaxDirectories && end != std::string_view::npos && end > 0; ++k) {
      const std::size_t slash = name.rfind('/', end - 1);
      const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
      LexMode mode = group.mode;
      mode.component = name.substr(begin, end - begin);
      if (!mode.component.empty()) {
        lex(name, mode, lexed);
        candidates.push_back({lexed.hash, g, run, mode, k + 1});
      }
      end = slash;
    }
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.key, a.group, a.order) < std::tie(b.key, b.group, b.order);
  });
  std::vector<std::uint32_t> merged_into(groups_.size(), ~0U);
  const auto old_groups = static_cast<std::uint32_t>(groups_.size());
  std::vector<bool> asked(groups_.size());
  for (const Candidate& candidate : candidates) asked[candidate.group] = true;
  const auto names_of = members(asked);
  // The word must be the same in all names of its run; else it is a field, and no mark of the run.
  const auto steady = [&](const Candidate& candidate, const LexedName& model) {
    const std::string_view first = names_[groups_[candidate.group].first].name;
    LexedName member;
    return std::ranges::all_of(names_of[candidate.group], [&](std::uint32_t i) {
      const std::string_view name = names_[i].name;
      lex(name, candidate.mode, member);
      if (!same_shape(name, member, first, model)) return false;
      for (std::size_t t = 0; t < model.count; ++t) {
        const Token& a = member.storage[t];
        const Token& b = model.storage[t];
        if (a.word && name.substr(a.offset, a.length) != first.substr(b.offset, b.length)) return false;
      }
      return true;
    });
  };
  for (std::size_t begin = 0; begin < candidates.size();) {
    std::size_t end = begin;
    std::vector<Candidate> bucket;
    std::set<std::uint32_t> bucket_runs;
    LexedName model;
    for (; end < candidates.size() && candidates[end].key == candidates[begin].key; ++end) {
      const Candidate& candidate = candidates[end];
      const std::string_view name = names_[groups_[candidate.group].first].name;
      if (merged_into[candidate.group] != ~0U) continue;
      lex(name, candidate.mode, bucket.empty() ? model : lexed);
      if (!bucket.empty() && !same_shape(name, lexed, names_[groups_[bucket[0].group].first].name, model)) continue;
      bucket.push_back(candidate);
      bucket_runs.insert(candidate.run);
    }
    begin = end;
    // Two groups of the same run are two series.
    if (bucket.size() < 2 || bucket_runs.size() != bucket.size()) continue;
    const bool all_steady = std::ranges::all_of(bucket, [&](const Candidate& candidate) {
      lex(names_[groups_[candidate.group].first].name, candidate.mode, model);
      return steady(candidate, model);
    });
    if (!all_steady) continue;
    const auto target = static_cast<std::uint32_t>(groups_.size());
    NameGroup group{.first = groups_[bucket[0].group].first, .one_run = false, .mode = bucket[0].mode};
    group.mode.component = {};
    for (const Candidate& candidate : bucket) {
      merged_into[candidate.group] = target;
      group.count += groups_[candidate.group].count;
      groups_[candidate.group].count = 0;
      group.components.emplace_back(candidate.run, candidate.mode.component);
    }
    std::ranges::sort(group.components);
    groups_.push_back(std::move(group));
  }
  if (groups_.size() == old_groups) return;
  for (std::uint32_t& group : group_of_) {
    if (group < old_groups && merged_into[group] != ~0U) group = merged_into[group];
  }
}

void NameGroups::lex_member(std::uint32_t name, LexedName& out) const {
  const NameGroup& group = groups_[group_of_[name]];
  LexMode mode = group.mode;
  if (!group.components.empty()) {
    const auto found =
        std::ranges::lower_bound(group.components, names_[name].run, {}, &decltype(group.components)::value_type::first);
    mode.component = found->second;
  }
  lex(names_[name].name, mode, out);
  if (!mode.words || !group.components.empty()) return;
  LexedName model;
  const std::string_view model_name = names_[group.first].name;
  lex(model_name, mode, model);
  if (!same_shape(names_[name].name, out, model_name, model)) lex_like(names_[name].name, model_name, model, out);
}

}  // namespace iez::forecast
