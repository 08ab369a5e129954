// Checks of the devices of a program, and of the memories of its arrays (validate.cpp).
#pragma once

#include "relay/runtime/program/program.h"

namespace relay::runtime {

// The problem of a program's list of devices; empty if there is none.
std::string wrong_devices(const std::vector<DeviceName>& devices);
// The problem of a segment's memories; empty if every step finds its arrays in the memory of the device that runs it.
// All indices of the segment are valid.
std::string wrong_memory(const Program& program, const Segment& segment);

}  // namespace relay::runtime
