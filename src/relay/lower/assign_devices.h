// The device of each array of a function, and the order of groups on several devices.
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// Sets Array::device: all arrays of a group are on one device, except those of a copy between devices; inputs and
// outputs are where the options say. A constant that groups on several devices read becomes several arrays. Indices to
// check and conditions are read on the host, wherever they are (lower.cpp copies them).
Status assign_devices(FunctionPlan& plan, const LowerOptions& options);

// Moves groups of devices, and copies to them, in front of groups of the host and of downloads that they do not depend
// on. A download waits until its device has computed the array, and the host with it: later kernels are launched later.
// Groups of the host come before downloads that they do not need, too. No group passes a check of indices, or more than
// `most_passed` groups. Does nothing if all is on one device. Called before arrays share storage.
void order_for_devices(FunctionPlan& plan, const LowerOptions& options);

inline constexpr size_t most_passed = 64;  // a choice: arrays that live longer take memory

}  // namespace relay::lower
