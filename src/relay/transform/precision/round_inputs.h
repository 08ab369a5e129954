// Inputs of products that are rounded to 8 bits, in the blocks in which the weight has its scales:
//
//   scale[m, b] = max(k < 32) abs(x[m, 32 b + k]) / 127
//   x8[m, 32 b + k] = round(x[m, 32 b + k] / scale[m, b])                                                      int8
//   qnn.dequantize(x8, scale, 0, axis=1, block=32)
//
// A kernel can then add products of integers within a block (lower/rules/narrow/block_dots.cpp).
#pragma once

#include "relay/base/function_ref.h"
#include "relay/op/registry.h"

namespace relay::transform {

// True if the blocks divide rows of `length` numbers and the integer products of a block are added in whole steps.
bool can_round_in_blocks(int64_t length, int64_t block);

// The float32 `x`, whose last axis has a constant length, rounded. `emit` makes a typed call, or returns null.
using EmitCall = function_ref<ir::Expr(const char* op, const ir::Exprs& args, const op::AttrValues& attrs)>;
ir::Expr rounded_in_blocks(const ir::Expr& x, int64_t block, EmitCall emit);

}  // namespace relay::transform
