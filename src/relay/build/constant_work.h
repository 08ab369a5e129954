// A limit on the work on constants that is done when a program is built.
#pragma once

#include "relay/exec/lowered_segment.h"

namespace relay::build {

// Leaves steps on constants to each run (clears Step::constant) once all steps before them take more time or memory
// than the program's stored size allows. So a few bytes of an untrusted model, such as a chain of products of constants
// that have a size but no elements, cannot ask for more.
void limit_constant_work(std::vector<exec::LoweredSegment>& segments);

}  // namespace relay::build
