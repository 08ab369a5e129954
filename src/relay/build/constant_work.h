// How much of a program's work on constants is done when it is built.
#pragma once

#include "relay/exec/lowered_segment.h"

namespace relay::build {

// Leaves steps on constants to each run (Step::constant is false then) as soon as all before them take more time or
// memory than what the program stores allows: a few bytes of a stranger's model, such as a chain of products of
// constants that have a size and no elements, ask for no more.
void limit_constant_work(std::vector<exec::LoweredSegment>& segments);

}  // namespace relay::build
