// Files that MPI libraries make beside those of the program, for locks and shared file pointers. They are small, short-lived,
// and have numbers in their names that no prediction can know.
//
//     .NAME.shfp.N, .NAME.shfp.N.N     ROMIO: shared file pointers
//     NAME.locktest.N, NAME-N-N.lock   OMPIO, sharedfp/lockedfile: whether locks work; the pointer
//     NAME_cid-N-N.sm                  OMPIO, sharedfp/sm
//     NAME.metadata.N                  OMPIO, sharedfp/individual; its data files NAME.data.N are removed at the close, and are
//                                      not listed since programs call theirs so, too
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

namespace iez::runs {

// name: with or without its directory.
bool is_helper_file(std::string_view name);

}  // namespace iez::runs
