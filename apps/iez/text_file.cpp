#include "text_file.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "command.hpp"

namespace iez::cli {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }  // read only: nothing can be lost
};

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const bool standard = path == kStandardStream;
  std::unique_ptr<std::FILE, CloseFile> opened;
  if (!standard) {
    opened.reset(std::fopen(path.c_str(), "re"));
    if (!opened) return fail_errno(errno, path);
  }
  std::FILE* const file = standard ? stdin : opened.get();
  std::string text;
  std::array<char, 16384> block{};
  while (std::feof(file) == 0 && std::ferror(file) == 0) {
    const std::size_t got = std::fread(block.data(), 1, block.size(), file);
    text.append(block.data(), got);
  }
  if (std::ferror(file) != 0) return fail_errno(errno, standard ? "standard input" : path);
  return text;
}

Result<void> write_text_file(const std::string& path, std::string_view text) {
  if (path == kStandardStream) return print(text);
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return fail_errno(errno, path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int problem = errno;
  if (std::fclose(file) != 0) return fail_errno(errno, path);
  if (!written) return fail_errno(problem, path);
  return {};
}

Result<TextOutput> TextOutput::create(const std::string& path) {
  TextOutput output;
  output.path_ = path;
  if (path == kStandardStream) return output;
  std::error_code error;
  const auto there = std::filesystem::status(path, error).type();
  const bool special = there != std::filesystem::file_type::not_found && there != std::filesystem::file_type::regular;
  if (special && there != std::filesystem::file_type::directory) {
    output.file_ = std::fopen(path.c_str(), "we");
    if (output.file_ == nullptr) return fail_errno(errno, path);
    return output;
  }
  output.temporary_ = fmt::format("{}.{}.tmp", path, ::getpid());
  output.file_ = std::fopen(output.temporary_.c_str(), "wxe");
  if (output.file_ == nullptr) {
    const int problem = errno;
    output.temporary_.clear();  // not ours to remove
    return fail_errno(problem, path);
  }
  return output;
}

TextOutput::TextOutput(TextOutput&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, nullptr)) {}

TextOutput::~TextOutput() {
  if (file_ != nullptr) (void)std::fclose(file_);                  // it goes anyway
  if (!temporary_.empty()) (void)std::remove(temporary_.c_str());  // nothing more can be done
}

Result<void> TextOutput::write(std::string_view text) {
  if (file_ == nullptr) return print(text);
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) return fail_errno(errno, path_);
  return {};
}

Result<void> TextOutput::finish() {
  if (file_ == nullptr) return {};
  if (std::fclose(std::exchange(file_, nullptr)) != 0) return fail_errno(errno, path_);
  if (temporary_.empty()) return {};
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return fail_errno(errno, path_);
  temporary_.clear();
  return {};
}

}  // namespace iez::cli
