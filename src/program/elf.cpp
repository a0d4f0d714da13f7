#include "program/elf.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace iez::program {

namespace {

constexpr std::size_t kMaxText = 4096;          // of a library's or symbol's name
constexpr std::size_t kMaxSymbols = 1U << 22U;  // far above what programs have
constexpr std::uint32_t kGoBuildId = 4;         // type of Go's note

class Image {
 public:
  explicit Image(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  // Up to its zero, or as far as the file goes.
  [[nodiscard]] std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto rest = bytes_.subspan(offset, std::min<std::size_t>(kMaxText, bytes_.size() - offset));
    const auto* const first = reinterpret_cast<const char*>(rest.data());
    return {first, ::strnlen(first, rest.size())};
  }

 private:
  std::span<const std::byte> bytes_;
};

// Where an address of the loaded program lies in the file.
std::optional<std::uint64_t> offset_of(std::span<const Elf64_Phdr> segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

struct Dynamic {
  std::vector<std::uint64_t> needed;  // offsets into the texts
  std::uint64_t texts = 0;            // addresses
  std::uint64_t symbols = 0;
  std::uint64_t hash = 0;
  std::uint64_t gnu_hash = 0;
};

Dynamic read_dynamic(const Image& image, const Elf64_Phdr& segment) {
  Dynamic dynamic;
  const std::uint64_t count = segment.p_filesz / sizeof(Elf64_Dyn);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = image.at<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    switch (entry->d_tag) {
      case DT_NEEDED:
        dynamic.needed.push_back(entry->d_un.d_val);
        break;
      case DT_STRTAB:
        dynamic.texts = entry->d_un.d_ptr;
        break;
      case DT_SYMTAB:
        dynamic.symbols = entry->d_un.d_ptr;
        break;
      case DT_HASH:
        dynamic.hash = entry->d_un.d_ptr;
        break;
      case DT_GNU_HASH:
        dynamic.gnu_hash = entry->d_un.d_ptr;
        break;
      default:
        break;
    }
  }
  return dynamic;
}

// No header says how many symbols there are. The old hash table does; with the new one alone, symbols that the program takes
// from others come before the first that it offers.
std::uint64_t imported_symbols(const Image& image, std::span<const Elf64_Phdr> segments, const Dynamic& dynamic) {
  if (const auto hash = offset_of(segments, dynamic.hash); dynamic.hash != 0 && hash) {
    return image.at<std::uint32_t>(*hash + sizeof(std::uint32_t)).value_or(0);
  }
  if (const auto hash = offset_of(segments, dynamic.gnu_hash); dynamic.gnu_hash != 0 && hash) {
    return image.at<std::uint32_t>(*hash + sizeof(std::uint32_t)).value_or(0);
  }
  return 0;
}

void read_imports(const Image& image, std::span<const Elf64_Phdr> segments, const Dynamic& dynamic, std::uint64_t texts,
                  Elf& elf) {
  const auto symbols = offset_of(segments, dynamic.symbols);
  if (!symbols) return;
  const std::uint64_t count = std::min<std::uint64_t>(kMaxSymbols, imported_symbols(image, segments, dynamic));
  for (std::uint64_t i = 1; i < count; ++i) {
    const auto symbol = image.at<Elf64_Sym>(*symbols + i * sizeof(Elf64_Sym));
    if (!symbol) return;
    if (symbol->st_shndx != SHN_UNDEF || symbol->st_name == 0) continue;
    if (std::string name = image.text(texts + symbol->st_name); !name.empty()) elf.imports.insert(std::move(name));
  }
}

bool has_go_note(const Image& image, const Elf64_Phdr& segment) {
  constexpr std::uint32_t kAlign = 3;
  std::uint64_t at = segment.p_offset;
  const std::uint64_t end = segment.p_offset + std::min<std::uint64_t>(segment.p_filesz, 1U << 20U);
  while (at < end) {
    const auto note = image.at<Elf64_Nhdr>(at);
    if (!note) return false;
    const std::uint64_t name = at + sizeof(Elf64_Nhdr);
    if (note->n_type == kGoBuildId && note->n_namesz == 4 && image.text(name) == "Go") return true;
    at = name + ((std::uint64_t{note->n_namesz} + kAlign) & ~std::uint64_t{kAlign}) +
         ((std::uint64_t{note->n_descsz} + kAlign) & ~std::uint64_t{kAlign});
  }
  return false;
}

}  // namespace

bool is_elf(std::span<const std::byte> bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

Result<Elf> parse_elf(std::span<const std::byte> bytes) {
  if (!is_elf(bytes)) return fail(Errc::parse, "no ELF file: expected it to begin with \\x7fELF");
  const Image image(bytes);
  const auto header = image.at<Elf64_Ehdr>(0);
  if (bytes.size() > EI_DATA && bytes[EI_CLASS] != std::byte{ELFCLASS64}) {
    return fail(Errc::unsupported, "a program of 32 bits; expected 64");
  }
  if (!header)
    return fail(Errc::parse, fmt::format("its header is cut: {} bytes, expected {}", bytes.size(), sizeof(Elf64_Ehdr)));
  if (header->e_ident[EI_DATA] != ELFDATA2LSB) return fail(Errc::unsupported, "a big-endian program; expected little-endian");
  if (header->e_phnum != 0 && header->e_phentsize != sizeof(Elf64_Phdr)) {
    return fail(Errc::parse, fmt::format("e_phentsize is {}, expected {}", header->e_phentsize, sizeof(Elf64_Phdr)));
  }
  std::vector<Elf64_Phdr> segments;
  segments.reserve(header->e_phnum);
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = image.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return fail(Errc::parse, fmt::format("program header {} of {} lies behind the end", i, header->e_phnum));
    segments.push_back(*segment);
  }

  Elf elf{.machine = header->e_machine};
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) elf.interpreter = image.text(segment.p_offset);
    if (segment.p_type == PT_NOTE) elf.go = elf.go || has_go_note(image, segment);
    if (segment.p_type != PT_DYNAMIC) continue;
    elf.dynamic = true;
    const Dynamic dynamic = read_dynamic(image, segment);
    const auto texts = offset_of(segments, dynamic.texts);
    if (!texts) return fail(Errc::parse, fmt::format("DT_STRTAB is {:#x}, an address that no segment has", dynamic.texts));
    for (const std::uint64_t name : dynamic.needed) elf.needed.push_back(image.text(*texts + name));
    read_imports(image, segments, dynamic, *texts, elf);
  }
  return elf;
}

Interpreter parse_script_line(std::span<const std::byte> bytes) {
  constexpr std::size_t kMaxLine = 256;  // as the kernel takes it
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kMaxLine));
  if (!all.starts_with("#!")) return {};
  std::string_view line = all.substr(2, all.find('\n') == std::string_view::npos ? kMaxLine : all.find('\n') - 2);
  const auto trim = [](std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::string_view{};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
  };
  line = trim(line);
  const std::size_t blank = line.find_first_of(" \t");
  Interpreter interpreter{.path = std::string(line.substr(0, blank)), .argument = {}};
  if (blank != std::string_view::npos) interpreter.argument = trim(line.substr(blank));
  return interpreter;
}

}  // namespace iez::program
