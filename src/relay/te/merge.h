// Reductions with several results that operators and schedules use (Merge, te.h).
#pragma once

#include "relay/te/te.h"

namespace relay::te {

// (x, place): the greatest x (the least) and where it is, an int32. Of equal ones the place is the first, or the last.
// NaN counts as greater (less) than every number. The identity is at place 0, so that -inf (+inf) everywhere is found
// there.
Ref<const Merge> extreme(DType dtype, bool greatest, bool last);

}  // namespace relay::te
