#include "next_symbols.hpp"

#include <dlfcn.h>

namespace iez::preload {

constinit NextSymbols next;

namespace {

// Initial-exec, as all of this library's: the other models may allocate at the first access.
__thread bool looking_up;

}  // namespace

void* find_next_symbol(const char* name) {
  if (looking_up) return nullptr;
  const int caller_errno = errno;
  looking_up = true;
  void* const found = ::dlsym(RTLD_NEXT, name);
  looking_up = false;
  errno = caller_errno;
  return found;
}

void resolve_next_symbols() {
#define IEZ_RESOLVE(result, name, parameters) next.name.resolve();
  IEZ_NEXT_SYMBOLS(IEZ_RESOLVE)
#undef IEZ_RESOLVE
  ::dlerror();  // what is missing is no error of the program's
}

}  // namespace iez::preload
