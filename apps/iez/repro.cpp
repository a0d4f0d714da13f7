#include "repro.hpp"

#include <unistd.h>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "repro_page.hpp"
#include "repro_papers.hpp"
#include "repro_rows.hpp"
#include "repro_runner.hpp"
#include "repro_sections.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::array<std::string_view, 5> kSections{"congestion", "contention", "placement", "collective", "prediction"};

Result<void> check_section(const std::string& only) {
  if (only.empty()) return {};
  for (const std::string_view id : kSections) {
    if (only == id) return {};
  }
  const std::vector<std::string_view> known(kSections.begin(), kSections.end());
  const auto meant = text::nearest(only, known);
  return fail(Errc::invalid_argument,
              fmt::format("--only: found '{}', expected congestion, contention, placement, collective or prediction{}",
                          text::printable(only), meant ? fmt::format("; did you mean '{}'?", *meant) : ""));
}

// Told before minutes of work, not after.
Result<void> check_folder(const std::string& folder) {
  if (folder.empty()) return {};
  std::error_code error;
  const auto state = std::filesystem::status(folder, error);
  if (std::filesystem::is_directory(state)) {
    if (::access(folder.c_str(), W_OK | X_OK) != 0) return fail_errno(errno, fmt::format("--out {}", text::printable(folder)));
    return {};
  }
  if (std::filesystem::exists(state))
    return fail(Errc::invalid_argument, fmt::format("--out {}: not a folder", text::printable(folder)));
  std::filesystem::path path(folder);
  if (!path.has_filename()) path = path.parent_path();  // "out/"
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  if (::access(parent.c_str(), W_OK | X_OK) != 0)
    return fail_errno(errno, fmt::format("--out {}: folder {}", text::printable(folder), text::printable(parent.string())));
  if (!std::filesystem::is_directory(parent, error)) return fail_errno(ENOTDIR, fmt::format("--out {}", text::printable(folder)));
  return {};
}

Result<ReproSection> make_section(std::string_view id, ReproRunner& runner, Context& context, bool quick) {
  if (id == "congestion") return repro_congestion(runner, quick);
  if (id == "contention") return repro_contention(runner, quick);
  if (id == "placement") return repro_placement(runner, context.clock, quick);
  if (id == "collective") return repro_collective(runner, quick);
  return repro_prediction();
}

// Both files or none. A folder that was made for them goes, too.
Result<void> write_pages(const std::string& folder, const std::vector<ReproSection>& sections, bool quick) {
  std::error_code error;
  const bool made = std::filesystem::create_directory(folder, error);
  if (error) return fail_errno(error.value(), fmt::format("--out {}", text::printable(folder)));
  const std::string page = folder + "/index.html";
  const std::string text = folder + "/reproduction.md";
  const auto write_both = [&]() -> Result<void> {
    IEZ_TRY(auto page_file, TextOutput::create(page));
    IEZ_CHECK(page_file.write(repro_html(sections, quick)));
    IEZ_TRY(auto text_file, TextOutput::create(text));
    IEZ_CHECK(text_file.write(repro_markdown(sections, quick)));
    IEZ_CHECK(page_file.finish());
    return text_file.finish();
  };
  auto written = write_both();
  if (!written && made) std::filesystem::remove_all(folder, error);
  return written;
}

}  // namespace

Result<void> run_repro(const ReproOptions& options, Context& context) {
  IEZ_CHECK(check_section(options.only));
  IEZ_CHECK(check_folder(options.out));
  ReproRunner runner(context.clock);
  std::vector<ReproSection> sections;
  for (const std::string_view id : kSections) {
    if (!options.only.empty() && options.only != id) continue;
    IEZ_TRY(auto section, make_section(id, runner, context, options.quick));
    section.cited = paper_of(id);
    section.text += ' ' + section.cited;
    sections.push_back(std::move(section));
  }
  if (!options.out.empty()) IEZ_CHECK(write_pages(options.out, sections, options.quick));
  return print(options.json ? repro_json(sections, options.quick) : repro_text(sections, !options.no_header, context.terminal));
}

}  // namespace iez::cli
