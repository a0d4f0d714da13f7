#include "text_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace iez::cli {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }  // read only: nothing can be lost
};

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const bool standard = path == "-";
  std::unique_ptr<std::FILE, CloseFile> opened;
  if (!standard) {
    opened.reset(std::fopen(path.c_str(), "re"));
    if (!opened) return fail_errno(errno, path);
  }
  std::FILE* const file = standard ? stdin : opened.get();
  std::string text;
  std::array<char, 16384> block{};
  for (std::size_t got = block.size(); got == block.size();) {
    got = std::fread(block.data(), 1, block.size(), file);
    text.append(block.data(), got);
  }
  if (std::ferror(file) != 0) return fail_errno(errno, standard ? "standard input" : path);
  return text;
}

}  // namespace iez::cli
