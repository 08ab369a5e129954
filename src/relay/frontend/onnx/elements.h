// Element types of ONNX that Relay has no tensors of. Bytes carry them: uint8 holds the bits of an 8-bit or 4-bit float
// and the value of a short unsigned integer, int8 the value of a short signed one. A Value says which type it carries
// (`carried`); an operator that knows nothing of them refuses it. Strings are int64, places in a list (strings.h).
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// What an operator does with a carried input: refuses it, moves its elements without looking at them, or knows them.
enum class Carries : uint8_t { Refuses, Moves, Knows };
Carries carries(std::string_view domain, std::string_view op, int32_t type);

bool is_carried_integer(int32_t type);
// The range of a carried integer.
std::pair<double, double> carried_range(int32_t type);
// The values that bytes carry: float32, or the integers themselves.
ir::Expr decoded(Convert& c, const ir::Expr& bytes, int32_t type);
// Numbers as the bytes of a type: floats rounded to even, with `saturate` to the greatest number where they exceed it,
// else to infinity or NaN; integers keep their lowest bits. `rounding` is that of float8e8m0: up, down or nearest.
ir::Expr encoded(Convert& c, const ir::Expr& numbers, int32_t type, bool saturate, const std::string& rounding);

}  // namespace relay::onnx
