// What another program prints, as bytes from outside: a converter that knows a format which we do not.
//
// The program is started by its words, never through a shell, with nothing on its standard input and its errors kept apart. It is
// trusted with nothing: it may print nothing, or without end, fail half way, or hang. So its time and its output are bounded, and
// the end of the stream is only given if it ended with status 0; all else is an error that names the program, with the first line
// it complained by. Whatever happens, the program and all of its process group have been ended when the stream is gone; if this
// process is killed, the program is, too.
//
// Thread safety: none. Memory: constant. SIGCHLD is not ignored from then on; whoever handles it leaves the program's end to the
// stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "input/byte_stream.hpp"

namespace iez::input {

struct ProgramLimits {
  Duration within{600'000'000'000};  // from its start to its end
  Bytes most;                        // that it may print
};

// words: the path of the program, and its arguments. The clock must outlive the stream. Fails if it cannot be started.
[[nodiscard]] Result<std::unique_ptr<ByteStream>> program_stream(const std::vector<std::string>& words,
                                                                 const ProgramLimits& limits, const Clock& clock);

}  // namespace iez::input
