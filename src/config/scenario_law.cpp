#include <array>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "config/scenario_layers.hpp"
#include "config/scenario_parts.hpp"

namespace iez::config {

namespace {

constexpr std::array<std::string_view, 3> kLaws{"fixed", "rcc", "goal"};
constexpr std::array<std::string_view, 3> kLawKeys{"fixed", "l_max", "goal"};  // of them, in the same order
constexpr std::array<std::string_view, 2> kFixedKeys{"law", "fixed"};
constexpr std::array<std::string_view, 10> kRccKeys{"law", "l_max", "rcc_min", "rcc_max", "d_low",
                                                    "stl", "ping",  "window",  "lambda",  "l_net"};
constexpr std::array<std::string_view, 8> kGoalKeys{"law",    "goal",       "most_credits", "loss",
                                                    "safety", "inequality", "brief",        "window"};
constexpr std::array<std::string_view, 17> kAllKeys{"law",          "fixed", "l_max",  "rcc_min",    "rcc_max", "d_low",
                                                    "stl",          "ping",  "window", "lambda",     "l_net",   "goal",
                                                    "most_credits", "loss",  "safety", "inequality", "brief"};

constexpr std::uint64_t kMaxCredits = 65'536;

Result<sim::CongestionLaw> read_fixed(const TableReader& table) {
  sim::FixedCredits law;
  IEZ_CHECK(table.only(kFixedKeys));
  IEZ_CHECK(table.whole("fixed", law.credits, 1, kMaxCredits));
  return law;
}

Result<sim::CongestionLaw> read_rcc(const TableReader& table) {
  congestion::RccParameters law;
  IEZ_CHECK(table.only(kRccKeys));
  IEZ_CHECK(table.duration("l_max", law.l_max, Zero::refused));
  IEZ_CHECK(table.whole("rcc_min", law.rcc_min, 1, kMaxCredits));
  IEZ_CHECK(table.whole("rcc_max", law.rcc_max, 1, kMaxCredits));
  if (law.rcc_max < law.rcc_min) {
    return table.bad(table.get("rcc_max") != nullptr ? "rcc_max" : "rcc_min",
                     fmt::format("rcc_min ({}) to be at most rcc_max ({})", law.rcc_min, law.rcc_max));
  }
  IEZ_CHECK(table.whole("d_low", law.d_low, 0, 1'000'000'000));
  IEZ_CHECK(table.duration("stl", law.stl, Zero::allowed));
  IEZ_CHECK(table.duration("ping", law.ping, Zero::refused));
  IEZ_CHECK(table.duration("window", law.window, Zero::refused));
  IEZ_CHECK(table.number("lambda", law.lambda, 1, 10));
  IEZ_CHECK(table.duration("l_net", law.l_net, Zero::allowed));
  return law;
}

Result<sim::CongestionLaw> read_goal(const TableReader& table) {
  congestion::LatencyGoal law;
  IEZ_CHECK(table.only(kGoalKeys));
  if (table.get("goal") != nullptr) {
    Duration goal{};
    IEZ_CHECK(table.duration("goal", goal, Zero::refused));
    law.goal = goal;
  }
  IEZ_CHECK(table.whole("most_credits", law.most_credits, 1, kMaxCredits));
  IEZ_CHECK(table.number("loss", law.loss, 0.0001, 0.5));
  IEZ_CHECK(table.number("safety", law.safety, 0.01, 1));
  IEZ_CHECK(table.number("inequality", law.inequality, 1, 1e6));
  IEZ_CHECK(table.duration("brief", law.brief, Zero::refused));
  IEZ_CHECK(table.duration("window", law.window, Zero::refused));
  return law;
}

}  // namespace

Result<sim::CongestionLaw> read_law(const TableReader& table) {
  std::string law = law_of(table.node()).value_or("");
  IEZ_CHECK(table.word("law", law, kLaws));
  for (std::size_t i = 0; i < kLawKeys.size(); ++i) {
    if (table.get(kLawKeys[i]) == nullptr) continue;
    if (law != kLaws[i]) {
      return table.bad(kLawKeys[i], fmt::format("it with the law \"{}\" only, and the law here is \"{}\": "
                                                "exactly one of fixed = 8, l_max = \"60s\" and goal = \"20s\"",
                                                kLaws[i], law));
    }
  }
  if (law == "fixed") return read_fixed(table);
  if (law == "rcc") return read_rcc(table);
  if (law == "goal") return read_goal(table);
  // Perhaps the key that tells the law is misspelt.
  IEZ_CHECK(table.only(kAllKeys));
  return table.missing("law", "one of fixed = 8, l_max = \"60s\", goal = \"20s\", or law = \"goal\"");
}

}  // namespace iez::config
