// How an interposed function is written:
//
//   IEZ_INTERPOSE(ssize_t, write, (int fd, const void* from, std::size_t size)) {
//     if (!active.tracing) return next.write(fd, from, size);   // a tail call: all that it costs when nothing is on
//     const std::int64_t start = call_start();
//     const ssize_t done = next.write(fd, from, size);          // a cancellation point: nothing is held across it
//     record_write(fd, done, kAtPosition, start);
//     return done;
//   }
//
// In the sources the function is called interposed_write; only the symbol is `write`. So the declarations in libc's headers (with
// "...", with attributes, with other types) do not matter, and a call of ::write() cannot be meant by mistake. None of them is
// noexcept: pthread_cancel unwinds through them.
#pragma once

#include "next_symbols.hpp"
#include "recorder.hpp"

#define IEZ_INTERPOSE(result, name, parameters)                                                            \
  extern "C" [[gnu::visibility("default"), gnu::used]] result interposed_##name parameters __asm__(#name); \
  result interposed_##name parameters
