#include "running_lab.hpp"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "lustre/cluster_reader.hpp"
#include "lustre/layout_codec.hpp"
#include "lustre/layout_file.hpp"
#include "measure.hpp"
#include "model/cluster.hpp"
#include "peer.hpp"

namespace iez::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kPatience(60);
constexpr auto kLook = 20ms;  // between two looks at something that is waited for
constexpr std::size_t kPiece = std::size_t{1} << 20U;
constexpr mode_t kMode = 0600;
constexpr std::uint64_t kRounding = 64UL << 10U;  // parameters count KiB

bool about_equal(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  return std::ranges::equal(a, b, [](std::uint64_t x, std::uint64_t y) { return (x > y ? x - y : y - x) < kRounding; });
}

}  // namespace

Result<RunningLab> RunningLab::up(const std::string& program, const std::string& folder, std::vector<std::string> words) {
  RunningLab lab(program, folder + "/lab");
  std::vector<std::string> command{program, "lab", "up", "--dir", lab.folder_, "--name", "bench", "--json"};
  for (std::string& word : words) command.push_back(std::move(word));
  IEZ_CHECK(output_of(std::move(command), kPatience));
  return lab;
}

RunningLab::~RunningLab() {
  if (folder_.empty()) return;
  // What is left of it is in a folder that goes away, too.
  static_cast<void>(output_of({program_, "lab", "down", "--dir", folder_, "--json"}, kPatience));
}

std::string RunningLab::mount(unsigned client) const { return fmt::format("{}/mnt/client{}", folder_, client); }

std::string RunningLab::params(unsigned client) const { return fmt::format("{}/params/client{}", folder_, client); }

Result<void> RunningLab::set_speed(OstIndex ost, double share) const {
  IEZ_CHECK(output_of(
      {program_, "lab", "fault", "--dir", folder_, "--json", "slow", fmt::format("ost{}", ost.value), fmt::format("{}", share)},
      kPatience));
  return {};
}

Result<std::vector<std::uint64_t>> RunningLab::used() const {
  IEZ_TRY(const std::string text, output_of({program_, "lab", "df", "--dir", folder_, "--json"}, kPatience));
  const auto told = nlohmann::json::parse(text, nullptr, false);
  if (!told.is_object() || !told.contains("osts")) return fail(Errc::parse, "iez lab df --json: no OSTs");
  std::vector<std::uint64_t> used;
  for (const auto& ost : told["osts"]) {
    if (!ost.contains("used") || !ost["used"].is_number_unsigned()) return fail(Errc::io, "an OST of the lab does not answer");
    used.push_back(ost["used"].get<std::uint64_t>());
  }
  return used;
}

Result<std::vector<std::uint64_t>> RunningLab::used_as_seen_by(unsigned client) const {
  std::vector<std::unique_ptr<lustre::ParamSource>> sources;
  IEZ_TRY(sources.emplace_back(), lustre::open_source(params(client)));
  input::ParseReport report;
  IEZ_TRY(const auto reading, lustre::read_clusters(sources, {}, report));
  std::vector<std::uint64_t> used;
  for (const auto& view : reading.file_systems) {
    for (const model::Ost& ost : view.cluster.osts) used.push_back(model::used(ost).count);
  }
  return used;
}

Result<void> RunningLab::wait_until_used(const std::vector<std::uint64_t>& used, std::chrono::seconds limit) const {
  const auto begun = Clock::now();
  while (Clock::now() - begun < limit) {
    IEZ_TRY(const auto seen, used_as_seen_by(0));
    if (about_equal(seen, used)) {
      IEZ_TRY(const auto now, this->used());
      if (about_equal(now, used)) return {};
    }
    std::this_thread::sleep_for(kLook);
  }
  return fail(Errc::limit, fmt::format("the OSTs of the lab do not become as empty as before within {} s", limit.count()));
}

Result<void> set_default_layout(const std::string& folder, const model::Layout& layout) {
  IEZ_TRY(const auto request, lustre::encode_request(layout));
  if (::setxattr(folder.c_str(), "lustre.lov", request.data(), request.size(), 0) != 0) return fail_errno(errno, folder);
  return {};
}

Result<void> write_mib(const std::string& path, unsigned mib) {
  const input::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) return fail_errno(errno, path);
  const std::string piece(kPiece, 'x');
  for (unsigned i = 0; i < mib; ++i) {
    if (::pwrite(fd.get(), piece.data(), kPiece, static_cast<off_t>(i * kPiece)) != static_cast<ssize_t>(kPiece)) {
      return fail_errno(errno, path);
    }
  }
  if (::fsync(fd.get()) != 0) return fail_errno(errno, path);
  return {};
}

Result<void> write_mib_on(const std::string& path, OstIndex ost, unsigned mib) {
  const model::Layout layout{.components = {{.stripe_size = Bytes::mib(1), .stripe_count = 1, .osts = {ost}}}};
  IEZ_CHECK(lustre::create_with_layout(path, layout, kMode));
  return write_mib(path, mib);
}

}  // namespace iez::bench
