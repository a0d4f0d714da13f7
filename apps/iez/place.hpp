// `iez place`: where the files of a batch would go, how even that is, and how other policies compare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace iez::cli {

struct PlaceOptions {
  SourceOptions source;  // used without a cluster file
  std::string cluster;   // TOML; "-": standard input
  std::vector<std::string> requests;
  std::string policy = "balanced";
  std::uint64_t seed = 1;
  std::string exclude;               // OSTs: "0-3,7"
  std::optional<std::size_t> limit;  // files to list; 0: all
  bool compare = false;
  bool phases = false;                 // planned by what is written together; policy is not used
  std::optional<std::uint64_t> seeds;  // of policies that draw, with compare
  bool plot = false;
  std::string svg;  // files to write; "-": standard output
  std::string csv;
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_place(const PlaceOptions& options, Context& context);

// Why the file of that name gets what it gets.
[[nodiscard]] Result<void> run_place_explain(const PlaceOptions& options, const std::string& name, Context& context);

}  // namespace iez::cli
