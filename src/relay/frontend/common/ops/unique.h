// The distinct elements of a tensor.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// The distinct elements of a tensor, in ascending order or in that of their first places; their first places, the index
// of each element among them, and their counts, as int64 vectors. Empty if a problem was reported.
Values unique_elements(Conversion& c, const ir::Expr& x, bool sorted);

}  // namespace relay::frontend
