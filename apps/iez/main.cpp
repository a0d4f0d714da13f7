#include <cstdio>
#include <exception>

#include "cli.hpp"

// The one edge at which an exception from a library ends: a message and exit status 1.
int main(int argc, char** argv) {
  try {
    return iez::cli::run(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "iez: %s\n", problem.what());
    return 1;
  }
}
