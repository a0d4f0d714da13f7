// Logs of files in log mode, brought into their files by all ranks together.
//
// Thread safety: as of collective calls on the file.
#pragma once

#include <string>

#include "collective/hints.hpp"
#include "preload/mpi/team.hpp"

namespace iez::preload {

// Whether a log lies beside the file: of a program that was killed, or left it for later.
bool has_log(const std::string& path);

// Collective; an errno, the same on all ranks. The log is gone, or all of it is still there. EBUSY: somebody writes it. EBADMSG:
// it is damaged. If the file itself is gone, so is its log.
int flatten_log(TeamComm& team, const std::string& path, const collective::Hints& hints);

// Of a file that is deleted. By one process.
void discard_log_of(const std::string& path);

// Whether logs are faster than one file for so many ranks, by what the OSTs have to bear (contention/log_choice.hpp), on a file
// system of which nothing but the number of OSTs is known. No, if even that is not. By the first rank.
bool logs_pay(const TeamComm& team, const std::string& path, const collective::Hints& hints);

}  // namespace iez::preload
