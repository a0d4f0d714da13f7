#include "contention/log_choice.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "contention/equations.hpp"

namespace iez::contention {

namespace {

std::string reason_of(const Machine& machine, const LogQuestion& question, const LogChoice& choice) {
  const double load = choice.log_usage.load;
  std::string text =
      fmt::format("logs of {} ranks put {:.2f} writers on each of {:.0f} OSTs", question.ranks, load, choice.log_usage.in_use);
  if (load >= machine.contention_from)
    text += fmt::format(", and {:g} is where they begin to hinder each other", machine.contention_from);
  text += fmt::format("; {} as logs", to_string(choice.logs));
  if (question.flatten_at_close) text += ", flattened at close,";
  text += fmt::format(" against {} as one file of {} stripes", to_string(choice.shared), question.stripes);
  if (question.shared_share < 1) text += fmt::format(", of whose speed the pattern leaves {:.0f} %", question.shared_share * 100);
  return text;
}

}  // namespace

Machine machine_like_lscratchc(std::uint32_t osts) {
  Machine machine = kLscratchc;
  machine.osts = osts;
  machine.servers = std::max(1U, osts / (kLscratchc.osts / kLscratchc.servers));
  machine.max_stripes = std::max(machine.max_stripes, osts);
  return machine;
}

Result<LogChoice> log_pays(const Machine& machine, const Load& others, const LogQuestion& question) {
  if (!std::isfinite(question.shared_share) || question.shared_share <= 0 || question.shared_share > 1) {
    return fail(Errc::invalid_argument, fmt::format("shared_share {}: expected above 0 and up to 1", question.shared_share));
  }
  const JobShape one_file{.ranks = question.ranks, .nodes = question.nodes, .files = FileUse::shared};
  const JobShape files{.ranks = question.ranks, .nodes = question.nodes, .files = FileUse::per_process};
  IEZ_TRY(const Prediction shared, predict(machine, others, one_file, question.stripes));
  IEZ_TRY(const Prediction logs, predict(machine, others, files, std::min(kLogStructuredStripes, machine.osts)));
  LogChoice choice{.shared = {shared.speed.value * question.shared_share},
                   .logs = logs.speed,
                   .shared_usage = shared.after,
                   .log_usage = logs.after};
  if (question.flatten_at_close) choice.logs.value = 1 / (2 / logs.speed.value + 1 / shared.speed.value);
  choice.pays = choice.logs > choice.shared;
  choice.reason = reason_of(machine, question, choice);
  return choice;
}

}  // namespace iez::contention
