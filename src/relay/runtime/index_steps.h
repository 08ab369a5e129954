// CheckIndices, a step of a segment (program.h), on the values of its array.
#pragma once

#include "relay/runtime/program/planner.h"
#include "relay/runtime/program/program.h"

namespace relay::runtime {

// The number of indices for each extent of the step.
int64_t indices_per_extent(const Shape& shape, const IndexCheck& check);
// The error about the first index that is out of range, of which there must be one. `data`: the elements of the array.
Diagnostic index_error(const Segment& segment, const Plan& plan, const Step& step, const void* data);
// Reads all indices on this thread.
Status check_indices(const Segment& segment, const Plan& plan, const Step& step, const void* data);

}  // namespace relay::runtime
