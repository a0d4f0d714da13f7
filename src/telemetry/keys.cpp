#include "telemetry/keys.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/byte_stream.hpp"

namespace iez::telemetry {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeySize = 40;
constexpr std::string_view kMagic = "iez-key-1";
constexpr std::string_view kSecret = "secret";
constexpr std::string_view kPublic = "public";
constexpr std::string_view kCoordinator = "coordinator";
constexpr std::string_view kShared = "agent";
constexpr mode_t kSecretMode = 0600;
constexpr mode_t kPublicMode = 0644;

std::string path_of(const std::string& folder, std::string_view name, std::string_view suffix) {
  return fmt::format("{}/{}.{}", folder, name, suffix);
}

bool is_key(std::string_view key) {
  std::array<std::uint8_t, kKeySize * 4 / 5> bytes{};
  return key.size() == kKeySize && zmq_z85_decode(bytes.data(), std::string(key).c_str()) != nullptr;
}

Result<std::string> read_key(const std::string& path, std::string_view kind) {
  const input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return fail_errno(errno, path);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::unsupported, path + ": not a regular file");
  if (kind == kSecret && (status.st_mode & 077U) != 0) {
    return fail(Errc::permission, fmt::format("{}: mode {:04o}: a secret key that others may read or change is not used; "
                                              "'chmod 600 {}', or make new keys if it may have been read",
                                              path, status.st_mode & 07777U, path));
  }
  std::array<char, 256> buffer{};
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size < 0) return fail_errno(errno, path);
  std::string_view rest(buffer.data(), static_cast<std::size_t>(size));
  const std::string_view magic = text::take_word(rest);
  const std::string_view found = text::take_word(rest);
  const std::string_view key = text::take_word(rest);
  if (magic != kMagic || found != kind || !is_key(key) || !text::trim(rest).empty()) {
    return fail(Errc::parse, fmt::format("{}: expected one line, '{} {} KEY' with a key of {} characters; 'iez keys' writes it",
                                         path, kMagic, kind, kKeySize));
  }
  return std::string(key);
}

// By a new file that takes the name: readers see the old key or the new one.
Result<void> write_key(const std::string& path, std::string_view kind, std::string_view key) {
  const mode_t mode = kind == kSecret ? kSecretMode : kPublicMode;
  const std::string next = fmt::format("{}.{}.new", path, ::getpid());
  const std::string line = fmt::format("{} {} {}\n", kMagic, kind, key);
  static_cast<void>(::unlink(next.c_str()));
  const input::UniqueFd fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return fail_errno(errno, next);
  const auto give_up = [&next](int reason) {
    static_cast<void>(::unlink(next.c_str()));
    return fail_errno(reason, next);
  };
  if (::fchmod(fd.get(), mode) != 0) return give_up(errno);
  const ssize_t written = ::write(fd.get(), line.data(), line.size());
  if (written < 0) return give_up(errno);
  if (static_cast<std::size_t>(written) != line.size()) return give_up(ENOSPC);
  if (::fsync(fd.get()) != 0) return give_up(errno);
  if (::rename(next.c_str(), path.c_str()) != 0) return give_up(errno);
  return {};
}

Result<void> make_folder(const std::string& folder) {
  std::error_code error;
  const fs::path above = fs::path(folder).parent_path();
  if (!above.empty()) fs::create_directories(above, error);
  if (error) return fail_errno(error.value(), above.string());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, folder);
  return {};
}

Result<void> require_free(const std::string& path, Overwrite overwrite) {
  struct stat status{};
  if (overwrite == Overwrite::yes || ::lstat(path.c_str(), &status) != 0) return {};
  return fail(Errc::exists, fmt::format("{}: is there, and was left alone; --force makes a new one, and every agent with the old "
                                        "one is then refused",
                                        path));
}

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return text::is_digit(c) || (text::to_lower(c) >= 'a' && text::to_lower(c) <= 'z') || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 128 && name.front() != '.' && name.front() != '-' && std::ranges::all_of(name, allowed);
}

// The names of *.suffix in a folder, ascending; empty if it is not there.
std::vector<std::string> names_in(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() == suffix && is_name(path.stem().string())) out.push_back(path.stem().string());
  }
  std::ranges::sort(out);
  return out;
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

Result<KeyPair> make_keys() {
  std::array<char, kKeySize + 1> public_key{};
  std::array<char, kKeySize + 1> secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
    return fail(Errc::unsupported, "this libzmq has no CURVE: it was built without libsodium");
  }
  return KeyPair{.public_key = public_key.data(), .secret_key = secret_key.data()};
}

Result<KeyPair> load_pair(const std::string& folder, std::string_view name) {
  KeyPair pair;
  auto secret = read_key(path_of(folder, name, "key"), kSecret);
  if (!secret && secret.error().os_errno == ENOENT) {
    return fail(Errc::not_found, fmt::format("{}: not there; 'iez keys init --dir {}' makes the keys of a coordinator, and an "
                                             "agent's are copied from there",
                                             path_of(folder, name, "key"), folder));
  }
  if (!secret) return std::unexpected(std::move(secret).error());
  pair.secret_key = *std::move(secret);
  std::array<char, kKeySize + 1> public_key{};
  if (zmq_curve_public(public_key.data(), pair.secret_key.c_str()) != 0) {
    return fail(Errc::parse, path_of(folder, name, "key") + ": no key of CURVE");
  }
  pair.public_key = public_key.data();
  return pair;
}

Result<std::string> load_public(const std::string& folder, std::string_view name) {
  return read_key(path_of(folder, name, "pub"), kPublic);
}

Result<void> init_keys(const std::string& folder, Overwrite overwrite) {
  for (const std::string_view name : {kCoordinator, kShared}) {
    IEZ_CHECK(require_free(path_of(folder, name, "key"), overwrite));
    IEZ_CHECK(require_free(path_of(folder, name, "pub"), overwrite));
  }
  IEZ_CHECK(make_folder(folder));
  IEZ_CHECK(make_folder(folder + "/agents"));
  for (const std::string_view name : {kCoordinator, kShared}) {
    IEZ_TRY(const KeyPair pair, make_keys());
    IEZ_CHECK(write_key(path_of(folder, name, "key"), kSecret, pair.secret_key));
    IEZ_CHECK(write_key(path_of(folder, name, "pub"), kPublic, pair.public_key));
  }
  return {};
}

Result<void> add_agent_key(const std::string& folder, std::string_view name, const std::optional<std::string>& public_key,
                           Overwrite overwrite) {
  if (!is_name(name)) {
    return fail(Errc::invalid_argument,
                fmt::format("agent '{}': a name has letters, digits, '.', '-' and '_'", text::printable(name)));
  }
  if (!exists(path_of(folder, kCoordinator, "key"))) {
    return fail(Errc::not_found, fmt::format("{}: no coordinator.key in it; 'iez keys init --dir {}' makes one", folder, folder));
  }
  const std::string agents = folder + "/agents";
  IEZ_CHECK(require_free(path_of(agents, name, "pub"), overwrite));
  IEZ_CHECK(require_free(path_of(agents, name, "key"), overwrite));
  IEZ_CHECK(make_folder(agents));
  if (public_key) {
    if (!is_key(*public_key)) {
      return fail(Errc::invalid_argument, fmt::format("'{}': a public key has {} characters, as 'iez keys show' prints it",
                                                      text::printable(*public_key), kKeySize));
    }
    static_cast<void>(::unlink(path_of(agents, name, "key").c_str()));  // of a pair that is replaced
    return write_key(path_of(agents, name, "pub"), kPublic, *public_key);
  }
  IEZ_TRY(const KeyPair pair, make_keys());
  IEZ_CHECK(write_key(path_of(agents, name, "key"), kSecret, pair.secret_key));
  return write_key(path_of(agents, name, "pub"), kPublic, pair.public_key);
}

Result<std::vector<ListedKey>> list_keys(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(Errc::not_found, fmt::format("{}: no folder of keys; 'iez keys init --dir {}' makes one", folder, folder));
  }
  std::vector<ListedKey> out;
  const auto add = [&out](const std::string& where, std::string_view name) -> Result<void> {
    const std::string public_path = path_of(where, name, "pub");
    const std::string secret_path = path_of(where, name, "key");
    const bool secret = exists(secret_path);
    if (!exists(public_path) && !secret) return {};
    ListedKey key{.name = std::string(name), .public_key = {}, .secret_here = secret, .path = public_path};
    if (exists(public_path)) {
      IEZ_TRY(key.public_key, load_public(where, name));
    } else {
      IEZ_TRY(const KeyPair pair, load_pair(where, name));
      key.public_key = pair.public_key;
      key.path = secret_path;
    }
    out.push_back(std::move(key));
    return {};
  };
  IEZ_CHECK(add(folder, kCoordinator));
  IEZ_CHECK(add(folder, kShared));
  for (const std::string& name : names_in(folder + "/agents", ".pub")) IEZ_CHECK(add(folder + "/agents", name));
  return out;
}

// ---- AgentKeys ----

AgentKeys::Seen AgentKeys::fingerprint() const {
  Seen out;
  for (const std::string& path : {folder_ + "/agent.pub", folder_ + "/agents"}) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) continue;
    const WallTime time{std::chrono::seconds{status.st_mtim.tv_sec} + std::chrono::nanoseconds{status.st_mtim.tv_nsec}};
    out.newest = std::max(out.newest, time);
    out.text += fmt::format("{} {} {} ", path, status.st_ino, time.time_since_epoch().count());
  }
  return out;
}

// Files of ours are replaced by rename, which changes the time of the folder; one that somebody edits in place is noticed with
// the next change of the folder. A time that is about now may hide a second change: it is not relied on.
void AgentKeys::look(const Clock& clock) {
  Seen found = fingerprint();
  if (found.text == seen_) return;
  read();
  seen_ = clock.wall() - found.newest > std::chrono::seconds{1} ? std::move(found.text) : std::string("?");
}

void AgentKeys::read() {
  names_.clear();
  problems_.clear();
  const auto add = [this](const std::string& where, const std::string& file, const std::string& name) {
    auto key = load_public(where, file);
    if (key) {
      names_.emplace(*std::move(key), name);
    } else if (key.error().os_errno != ENOENT) {
      problems_.push_back(key.error().message);
    }
  };
  // A key of one agent alone counts more than the shared one, should they be the same.
  for (const std::string& name : names_in(folder_ + "/agents", ".pub")) add(folder_ + "/agents", name, name);
  add(folder_, std::string(kShared), "");
}

std::optional<std::string> AgentKeys::name_of(std::string_view public_key) const {
  const auto found = names_.find(public_key);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

// ---- Endpoints ----

bool is_loopback(std::string_view endpoint) {
  if (endpoint.starts_with("ipc://") || endpoint.starts_with("inproc://")) return true;
  constexpr std::string_view kTcp = "tcp://";
  if (!endpoint.starts_with(kTcp)) return false;
  std::string_view host = endpoint.substr(kTcp.size());
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) return false;
  host = host.substr(0, colon);
  if (host == "localhost" || host == "[::1]") return true;
  // Four numbers, not a name such as 127.0.0.1.example.org.
  constexpr std::string_view kNet = "127.";
  return host.starts_with(kNet) && std::ranges::count(host, '.') == 3 &&
         std::ranges::all_of(host, [](char c) { return c == '.' || text::is_digit(c); });
}

Result<void> require_keys(std::string_view endpoint, std::string_view keys_folder) {
  if (!keys_folder.empty() || is_loopback(endpoint)) return {};
  return fail(
      Errc::invalid_argument,
      fmt::format("{}: leaves this machine, and there are no keys: anybody could send samples or read them. Make keys with "
                  "'iez keys init', and give their folder with --keys or 'keys' in iez.toml",
                  text::printable(endpoint)));
}

}  // namespace iez::telemetry
