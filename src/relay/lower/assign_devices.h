// The device of each array of a function.
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// Sets Array::device: all arrays of a group are on one device, except those of a copy between devices; inputs and
// outputs are where the options say. A constant that groups on several devices read becomes several arrays. Indices to
// check and conditions are read on the host, wherever they are (lower.cpp copies them).
Status assign_devices(FunctionPlan& plan, const LowerOptions& options);

}  // namespace relay::lower
