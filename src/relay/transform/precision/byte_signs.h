// The signs of quantised bytes.
#pragma once

#include <optional>

#include "relay/ir/expr.h"

namespace relay::transform {

// Gives computed bytes the type `dtype`, uint8 or int8, for instructions that take one of them. Their zero points move
// by 128, so that the same numbers are represented:
//
//   %q = qnn.quantize(%x, s, -128, out_dtype="int8", round_first=True);  qnn.dequantize(%q, s, -128)
//     becomes   %q = qnn.quantize(%x, s, 0, out_dtype="uint8", round_first=True);  qnn.dequantize(%q, s, 0)
//
// If unset, only bytes whose zero point is then 0 are changed: sums of such bytes need no correction. Bytes are changed
// if they are rounded before their zero point is added, so that they stay the same but for that, and if they are only
// dequantised.
//
// Known zero points of bytes become bytes too. Kernels take them as parameters, and would add those of 32 bits in 64
// bits. The function is typed, and in graph normal form.
ir::FunctionRef with_byte_signs(const ir::FunctionRef& f, std::optional<DType> dtype);

}  // namespace relay::transform
