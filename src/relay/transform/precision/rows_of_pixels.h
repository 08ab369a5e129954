// Convolutions of images of few channels as sums along rows of numbers (rows_of_pixels.cpp).
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// True if the pass rows_of_pixels changes this typed call once its data is in bfloat16.
bool can_be_rows(const ir::Call& call, int64_t most_channels);

}  // namespace relay::transform
