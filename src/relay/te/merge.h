// Reductions with several results that operators and schedules use (Merge, te.h).
#pragma once

#include "relay/te/te.h"

namespace relay::te {

// (x, position): the greatest (or least) x and its position, of type `place`. Among equal ones, the first or the last.
// NaN counts as greater (or less) than every number. The identity has position 0, which is the result if all x are -inf
// (or +inf).
Ref<const Merge> extreme(DType dtype, bool greatest, bool last, DType place = DType::int32());

}  // namespace relay::te
