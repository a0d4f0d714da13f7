// A parameter tree in a temporary folder, for tests.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace iez::lustre {

class TemporaryTree {
 public:
  TemporaryTree() {
    std::string pattern = testing::TempDir() + "iez-tree-XXXXXX";
    const char* const made = ::mkdtemp(pattern.data());
    EXPECT_NE(made, nullptr);
    root_ = pattern;
  }
  ~TemporaryTree() { std::filesystem::remove_all(root_); }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;

  const std::string& root() const { return root_; }
  std::string path(std::string_view below) const { return root_ + '/' + std::string(below); }

  void write(std::string_view below, std::string_view content) const {
    const std::filesystem::path file = path(below);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  std::string read(std::string_view below) const {
    std::ifstream file(path(below), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void add_ost(std::string_view name, std::uint64_t total, std::uint64_t free, std::uint64_t available,
               std::string_view home = "sys/fs/lustre") const {
    const std::string base = std::string(home) + "/obdfilter/" + std::string(name) + '/';
    write(base + "kbytestotal", std::to_string(total) + '\n');
    write(base + "kbytesfree", std::to_string(free) + '\n');
    write(base + "kbytesavail", std::to_string(available) + '\n');
  }

 private:
  std::string root_;
};

}  // namespace iez::lustre
