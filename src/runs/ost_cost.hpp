// OSTCost: the fullest OST over the mean of all, by the bytes of one run. 1 is even, and the number of OSTs is all on one.
//
// A run that was seen and a plan for the next one are measured by the same function, so that what `iez plan explain` tells of a
// plan is what `iez run` tells when it was followed. Only large files count: those below least_file are Lustre's business.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "base/units.hpp"
#include "runs/gather.hpp"
#include "store/records.hpp"

namespace iez::runs {

using OstLoads = std::map<OstIndex, double>;  // bytes; an OST without any may be missing

// osts: of the file system. Nothing: there are no bytes, or more OSTs are in use than there are.
std::optional<double> ost_cost(const OstLoads& loads, std::size_t osts);

// Of what a run wrote. Nothing: it is not known where one of the files lies, too.
std::optional<double> ost_cost(const Gathered& gathered, std::size_t osts);

// Of what a plan will write, by the bytes of its rows. The layouts of a pattern are taken by its files in turn.
std::optional<double> ost_cost(const store::Allocation& allocation, Bytes least_file, std::size_t osts);

}  // namespace iez::runs
