// Integers that stand for reals: real = (integer - zero point) * scale.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// The least and the greatest integer of a type of at most 32 bits.
std::pair<int64_t, int64_t> range_of(DType dtype);
// Scales or zero points, a single one or one per place along `axis` of x.
ir::Expr along_axis(Conversion& c, const ir::Expr& e, const ir::Expr& x, int64_t axis);
// An integer minus its zero point (null: 0), as int32.
ir::Expr centred(Conversion& c, const ir::Expr& e, const ir::Expr& zero, int64_t axis);
// A zero point as the qnn operators take it: one value, or a vector of several; 0 if it is null.
ir::Expr zero_of(Conversion& c, const ir::Expr& zero);
// The product of matrices of integers minus their zero points (null: 0), int32. Each zero point is a single value, or
// one for each row of A, or each column of B. Bytes are multiplied as they are if the qnn operators can do so.
ir::Expr integer_product(Conversion& c, const ir::Expr& a, const ir::Expr& a_zero, const ir::Expr& b,
                         const ir::Expr& b_zero);
// A real as integers of the type of `zero`: rounded to even, saturated.
ir::Expr quantised(Conversion& c, const ir::Expr& real, const ir::Expr& scale, const ir::Expr& zero);
// A real quantised to uint8, with the scale and zero point of its own range.
struct DynamicallyQuantised {
  ir::Expr values, scale, zero;
};
DynamicallyQuantised dynamically_quantised(Conversion& c, const ir::Expr& x);

}  // namespace relay::frontend
