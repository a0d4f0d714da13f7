// The text of `lctl get_param`: every section found lies within the text, and no two overlap unless they are the same.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "lustre/get_param_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  iez::input::UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const auto source = iez::lustre::index_get_param(std::move(fd), "fuzz");
  if (!source) return 0;
  for (const auto& row : iez::lustre::param_table()) {
    const auto instances = (*source)->find(row.param);
    if (!instances) std::abort();
    for (const auto& instance : *instances) {
      if (instance.offset + instance.length > size) std::abort();
      if (!iez::lustre::wanted(row.kind, instance.device)) std::abort();
      static_cast<void>(iez::lustre::read_number(**source, instance));
    }
  }
  return 0;
}
