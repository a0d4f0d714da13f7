// What a program file says of itself: how it is loaded, which libraries it wants, which functions it takes from them.
//
// Reads ELF files of 64 bits, little-endian, by their program headers alone, as the kernel and the loader do: section headers may
// be stripped. Bytes from outside: every offset is compared with the size of the file; texts and tables are bounded.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace iez::program {

struct Elf {
  std::uint16_t machine = 0;  // EM_X86_64 is 62
  bool dynamic = false;       // has a dynamic section
  std::string interpreter;    // the loader; empty: a static program, or a library
  std::vector<std::string> needed;
  std::set<std::string, std::less<>> imports;  // functions and data taken from libraries
  bool go = false;                             // made by the Go compiler
};

// Whether the bytes begin as an ELF file does.
bool is_elf(std::span<const std::byte> bytes);

// Errc::parse: cut or damaged, with the field. Errc::unsupported: 32 bits, or big-endian.
[[nodiscard]] Result<Elf> parse_elf(std::span<const std::byte> bytes);

// The line of a script: "#!/usr/bin/env python3 -u". Empty if there is none, or a part of it.
struct Interpreter {
  std::string path;
  std::string argument;  // all behind the path, as the kernel passes it: one argument
};
Interpreter parse_script_line(std::span<const std::byte> bytes);

}  // namespace iez::program
