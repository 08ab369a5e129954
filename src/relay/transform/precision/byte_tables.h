// Functions of one byte as tables of their 256 values.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// Replaces each chain of pointwise operators from a dequantised tensor of bytes to a quantised one:
//
//   qnn.quantize(tanh(qnn.dequantize(%x, s, z)), t, u)      becomes      take(table, cast(%x, dtype="uint8"), axis=0)
//
// The evaluator computes the table by the operators of the chain. Other operands of the chain are single constants. The
// chain may quantise and dequantise again in between. Chains of linear functions, nn.relu and clip stay: they have a
// form on integers, or one with few operations on floats that needs no pass of its own. The function is typed, and in
// graph normal form.
ir::FunctionRef with_byte_tables(const ir::FunctionRef& f);

}  // namespace relay::transform
