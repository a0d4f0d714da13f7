#include "sim_list.hpp"

#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/words.hpp"
#include "json.hpp"
#include "sim_input.hpp"
#include "sim_shipped.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

ordered_json files_json(std::span<const ShippedFile> files) {
  ordered_json json = ordered_json::array();
  for (const ShippedFile& file : files) json.push_back({{"name", file.name}, {"summary", summary_of(file.text)}});
  return json;
}

std::string files_text(std::string_view title, std::span<const ShippedFile> files, bool header, const Terminal& terminal) {
  Table table({{.title = title}, {.title = "WHAT"}});
  for (const ShippedFile& file : files) table.add({{std::string(file.name)}, {summary_of(file.text)}});
  return table.render(terminal, header);
}

}  // namespace

Result<void> run_sim_list(const SimListOptions& options, Context& context) {
  if (options.json) {
    return print(to_line({{"scenarios", files_json(shipped_scenarios())}, {"machines", files_json(shipped_machines())}}));
  }
  const bool header = !options.no_header;
  std::string out = files_text("SCENARIO", shipped_scenarios(), header, context.terminal);
  if (header) out += '\n';
  return print(out + files_text("MACHINE", shipped_machines(), header, context.terminal));
}

Result<void> run_sim_show(const SimShowOptions& options, Context&) {
  std::vector<std::string_view> known;
  for (const auto files : {shipped_scenarios(), shipped_machines()}) {
    if (const ShippedFile* const file = find_shipped(files, options.name)) return print(file->text);
    for (const ShippedFile& file : files) known.push_back(file.name);
  }
  return fail(Errc::not_found, fmt::format("no scenario or machine {} is shipped; 'iez sim list' shows all{}",
                                           config::shown(options.name), config::suggestion(options.name, known)));
}

}  // namespace iez::cli
