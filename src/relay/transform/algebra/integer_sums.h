// Bounds of sums of products of integers with constant weights. They decide whether int32 holds a sum, whatever the
// data are. Bounds stop at 2^30: the other half of int32 is left to what is added to the sum (a bias).
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

constexpr int64_t most_of_sums = int64_t{1} << 30;

// The largest sum of magnitudes among the weights of one output: those with the same index along the axis `channel`, or
// all if it is negative.
int64_t largest_weight_sum(const Tensor& weight, int64_t channel);

// True for data of int16 and a constant weight of int8 without zero points, if int32 holds the sums of their products.
// The data are any integers of their type, or within the bounds of the call of clip that computes them.
// `weight_axis`: of the weight's outputs; negative if there is none. Tensors are typed.
bool has_exact_sums(const ir::Expr& data, const ir::Expr& data_zero_point, const ir::Expr& weight,
                    const ir::Expr& weight_zero_point, int64_t weight_axis);

// False for a constant that is larger, in units of the scale of sums, than int32 holds beside a sum. `axis`: of the
// constant, along which scales vary; negative if there is one. True if the scales are not known.
bool fits_beside_sums(const ir::Expr& constant, const ir::Expr& scale, int64_t axis);

// True for a call that moves values or selects among them, whatever they represent.
bool only_selects(const ir::Expr& e);

}  // namespace relay::transform
