#include "program/elf.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::program {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A program of one segment, loaded at kBase: headers, loader, dynamic section, texts, symbols, hash, note.
constexpr std::uint64_t kBase = 0x400000;

struct Small {
  Elf64_Ehdr header{};
  Elf64_Phdr load{};
  Elf64_Phdr interpreter{};
  Elf64_Phdr dynamic{};
  Elf64_Phdr note{};
  char loader[32] = "/lib64/ld-linux-x86-64.so.2";
  Elf64_Dyn entries[6]{};
  char texts[64]{};
  Elf64_Sym symbols[4]{};
  std::uint32_t gnu_hash[4]{};
  Elf64_Nhdr note_header{};
  char note_name[4] = {'G', 'o', '\0', '\0'};
  char note_text[8]{};
};

Small small_program() {
  Small p;
  std::memcpy(p.header.e_ident, ELFMAG, SELFMAG);
  p.header.e_ident[EI_CLASS] = ELFCLASS64;
  p.header.e_ident[EI_DATA] = ELFDATA2LSB;
  p.header.e_machine = EM_X86_64;
  p.header.e_phoff = offsetof(Small, load);
  p.header.e_phentsize = sizeof(Elf64_Phdr);
  p.header.e_phnum = 4;
  p.load = {.p_type = PT_LOAD, .p_vaddr = kBase, .p_filesz = sizeof(Small)};
  p.interpreter = {.p_type = PT_INTERP, .p_offset = offsetof(Small, loader), .p_filesz = sizeof p.loader};
  p.dynamic = {.p_type = PT_DYNAMIC, .p_offset = offsetof(Small, entries), .p_filesz = sizeof p.entries};
  p.note = {.p_type = PT_NOTE, .p_offset = offsetof(Small, note_header), .p_filesz = 24};
  const char names[] = "\0libmpi.so.40\0libc.so.6\0pwrite\0syscall\0own";
  std::memcpy(p.texts, names, sizeof names);
  p.entries[0] = {.d_tag = DT_NEEDED, .d_un = {.d_val = 1}};
  p.entries[1] = {.d_tag = DT_NEEDED, .d_un = {.d_val = 14}};
  p.entries[2] = {.d_tag = DT_STRTAB, .d_un = {.d_ptr = kBase + offsetof(Small, texts)}};
  p.entries[3] = {.d_tag = DT_SYMTAB, .d_un = {.d_ptr = kBase + offsetof(Small, symbols)}};
  p.entries[4] = {.d_tag = DT_GNU_HASH, .d_un = {.d_ptr = kBase + offsetof(Small, gnu_hash)}};
  p.symbols[1].st_name = 24;
  p.symbols[2].st_name = 31;
  p.symbols[3].st_name = 39;
  p.symbols[3].st_shndx = 1;  // its own
  p.gnu_hash[0] = 1;
  p.gnu_hash[1] = 3;  // the first that it offers
  p.note_header = {.n_namesz = 4, .n_descsz = 8, .n_type = 4};
  return p;
}

std::span<const std::byte> bytes_of(const Small& program) { return std::as_bytes(std::span(&program, 1)); }

TEST(Elf, ReadsWhatTheLoaderReads) {
  const Small program = small_program();
  const auto elf = parse_elf(bytes_of(program));
  ASSERT_TRUE(elf.has_value());
  EXPECT_EQ(elf->interpreter, "/lib64/ld-linux-x86-64.so.2");
  EXPECT_TRUE(elf->dynamic);
  EXPECT_THAT(elf->needed, ElementsAre("libmpi.so.40", "libc.so.6"));
  EXPECT_THAT(elf->imports, ElementsAre("pwrite", "syscall"));
  EXPECT_TRUE(elf->go);
}

TEST(Elf, ReadsThisProgram) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto elf = parse_elf(std::as_bytes(std::span(text)));
  ASSERT_TRUE(elf.has_value());
  EXPECT_THAT(elf->interpreter, HasSubstr("ld-"));
  EXPECT_THAT(elf->needed, Contains(HasSubstr("libstdc++")));
  EXPECT_THAT(elf->imports, Contains("memcpy"));
  EXPECT_FALSE(elf->go);
}

TEST(Elf, TellsWhatIsWrong) {
  EXPECT_THAT(parse_elf({}).error().message, HasSubstr("no ELF file"));
  Small program = small_program();
  program.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(parse_elf(bytes_of(program)).error().code, Errc::unsupported);
  program = small_program();
  program.header.e_ident[EI_DATA] = ELFDATA2MSB;
  EXPECT_THAT(parse_elf(bytes_of(program)).error().message, HasSubstr("big-endian"));
  program = small_program();
  program.header.e_phoff = sizeof(Small);
  EXPECT_THAT(parse_elf(bytes_of(program)).error().message, HasSubstr("program header 0 of 4"));
  program = small_program();
  program.entries[2].d_un.d_ptr = 5;
  EXPECT_THAT(parse_elf(bytes_of(program)).error().message, HasSubstr("DT_STRTAB is 0x5"));
  program = small_program();
  program.header.e_phentsize = 1;
  EXPECT_THAT(parse_elf(bytes_of(program)).error().message, HasSubstr("e_phentsize is 1"));
}

TEST(Elf, EveryPrefixIsReadOrRefused) {
  const Small program = small_program();
  for (std::size_t size = 0; size < sizeof(Small); ++size) {
    const auto elf = parse_elf(bytes_of(program).first(size));
    if (elf) {
      EXPECT_LE(elf->needed.size(), 2U) << size;
    }
  }
}

TEST(Elf, DamagedBytesAreReadOrRefused) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 20'000; ++round) {
    Small program = small_program();
    auto* const bytes = reinterpret_cast<unsigned char*>(&program);
    for (int i = 0; i < 4; ++i) bytes[rng.below(sizeof(Small))] = static_cast<unsigned char>(rng.below(256));
    const auto elf = parse_elf(bytes_of(program));
    if (elf) {
      EXPECT_LE(elf->needed.size(), 6U);
    }
  }
}

Interpreter line_of(std::string_view text) { return parse_script_line(std::as_bytes(std::span(text))); }

TEST(ScriptLine, IsCutAsTheKernelDoes) {
  EXPECT_EQ(line_of("#!/bin/sh\nexit\n").path, "/bin/sh");
  EXPECT_EQ(line_of("#! /usr/bin/env  python3 -u \nx").path, "/usr/bin/env");
  EXPECT_EQ(line_of("#! /usr/bin/env  python3 -u \nx").argument, "python3 -u");
  EXPECT_EQ(line_of("#!/bin/sh").path, "/bin/sh");
  EXPECT_EQ(line_of("#!\n").path, "");
  EXPECT_EQ(line_of("").path, "");
  EXPECT_EQ(line_of("exit\n#!/bin/sh").path, "");
}

}  // namespace
}  // namespace iez::program
