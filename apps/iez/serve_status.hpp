// `iez serve status`: how a coordinator is, asked over HTTP as any client does.
#pragma once

#include <string>

#include "command.hpp"

namespace iez::cli {

struct ServeStatusOptions {
  std::string url;         // empty: that of the settings, or of this node's [serve]
  std::string token_file;  // empty: that of the settings
  std::string ca_file;     // likewise
  bool json = false;
};

[[nodiscard]] Result<void> run_serve_status(const ServeStatusOptions& options, Context& context);

}  // namespace iez::cli
