// Gives planned files their layout at creation.
//
// The plan file is opened once, in the constructor, at a high number that the program does not get to see: close() of it says
// EBADF, as it would without the library. Should it be lost all the same, or be in the way of the last descriptor that the
// program may have, it is opened anew.
//
// A symbolic link that leads to a planned name is followed (LinkGuess says where it is looked for). Who creates what is not
// planned pays nothing for that: the create is made with O_EXCL first, and only a name that exists is asked whether it is a link.
// A planned file behind a link costs three calls more: that create, reading the link, and a look by the kernel at what it leads
// to, which also says whether the program may follow it.
//
// A planned create costs the lookup, once a directory the question whether it has a layout of its own, and what
// lustre/set_layout.hpp says. Whatever goes wrong, the program gets the answer of its own call.
//
// Thread safety: any thread.
#pragma once

#include <sys/types.h>

#include "recorder.hpp"

namespace iez::preload {

// True: there is a plan that can be read.
bool open_plan_file();

struct PlacedOpen {
  int fd = -1;  // or -1, and errno
  Created created = Created::no;
  bool behind_link = false;  // the file has another name than the one that was said
};

// False if the name is not planned, or is to be left alone: the caller makes its own call. A cancellation point.
// REQUIRES: active.placing.
bool open_placed(int dirfd, const char* path, int flags, mode_t mode, PlacedOpen& placed);

// Whether open_placed() would have a layout for a name such as mkstemp() makes.
bool is_planned(const char* path);

// The other end of mpi/open_note.hpp: what fcntl(kNoteDescriptor, ...) answers.
int answer_note(int command, const void* note);

// A call failed with EMFILE: gives the plan file's descriptor back, if that is one of those in use. True: the call is to be made
// again. The next create opens the plan anew, if it can. Leaves errno as it was.
bool spare_descriptor();

// The descriptor of the plan file; -1: none. Nobody but this library may close or replace it.
int own_descriptor();

// Moves the plan file to another number, since dup2() is about to take this one.
void give_up_descriptor(int fd);

}  // namespace iez::preload
