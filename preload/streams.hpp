// Streams that fopen() made and nobody closed.
#pragma once

namespace iez::preload {

// Counts what they did so far: before the process ends, or becomes another program.
void check_open_streams();

}  // namespace iez::preload
