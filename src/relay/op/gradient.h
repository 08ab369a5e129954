// Helpers for writing gradients and definitions of operators (OpDef::gradient, OpDef::definition): calls of other
// operators by short names.
//
//   .gradient = [](const NoAttrs&, const Adjoint& of) -> ir::Exprs {
//     return {grad::times(of.gradient, grad::call("cos", {of.inputs[0]}))};   // of sin
//   }
//
// The binary ones broadcast. "Typed" expressions must have their type set, as the inputs, output and gradient of an
// Adjoint do.
#pragma once

#include "relay/op/common.h"
#include "relay/op/registry.h"

namespace relay::op::grad {

using Value = ir::Expr;
using Values = ir::Exprs;

inline Value call(std::string_view name, Values args, const AttrValues& attrs = {}) {
  return make(name, std::move(args), attrs);
}
inline Value plus(Value a, Value b) { return make("add", {std::move(a), std::move(b)}); }
inline Value minus(Value a, Value b) { return make("subtract", {std::move(a), std::move(b)}); }
inline Value times(Value a, Value b) { return make("multiply", {std::move(a), std::move(b)}); }
inline Value over(Value a, Value b) { return make("divide", {std::move(a), std::move(b)}); }
inline Value negated(Value a) { return make("negative", {std::move(a)}); }
inline Value zeros_like(Value a) { return make("zeros_like", {std::move(a)}); }

// For typed expressions.
inline const TensorType& tensor(const Value& typed) { return *as<TensorType>(typed->type); }
inline int64_t rank(const Value& typed) { return op::rank(&tensor(typed)); }
// A scalar of the element type of `like`, typed.
Value number(double value, const Value& like);
// Sums `gradient`, of the type of `output`, to the shape of an input that was broadcast to it. Both are typed.
Value summed_to(Value gradient, const Value& input, const Value& output);
// `values` reshaped to the shape of `like`, which is typed and has as many elements.
Value shaped_as(Value values, const Value& like);
// `values`, whose element type is that of `typed`, converted to the element type of `like`; `values` itself if the
// types are equal.
Value converted_as(Value values, const Value& typed, const Value& like);
// Exchanges the last two axes of tensors of this rank.
Value transposed(Value matrices, int64_t rank);
// A vector along an axis of a tensor of `rank`, reshaped to broadcast with it: (C,) becomes (C, 1, 1).
Value along(Value vector, int64_t axis, int64_t rank);
// The result of a reduction over `axes` (ascending), reshaped to broadcast with the reduction's input.
Value with_axes(Value reduced, const Ints& axes, bool keepdims);
// The number of elements of `data`, typed, per element of a reduction over `axes`: a scalar, or, if it is not known
// yet, an expression that broadcasts with data.
Value count(const Value& data, const Ints& axes);

// A list of int64, typed as a constant.
Value integers(const Ints& values);
// The extent of an axis of `data`, typed: a scalar, int64.
Value extent(const Value& data, int64_t axis);
// The indices 0, 1, .. along an axis of `data`, typed, int64.
Value places(const Value& data, int64_t axis);
// The numbers of the elements of `data`, typed, from 1 in row-major order: int64, in data's shape.
Value element_numbers(const Value& data);
// The gradient of `data`, typed, through an operator that copies its elements. `sources`, of the shape of `gradient`,
// holds the number of the element of data that was copied, or 0 if none: the same copying applied to
// element_numbers(data).
Value scattered(Value gradient, Value sources, const Value& data);
// The product of a matrix with a tensor of `rank` along one axis: out[.., i, ..] = sum(j) matrix[i, j] * tensor[.., j,
// ..].
Value contracted(Value tensor, int64_t rank, int64_t axis, Value matrix);
// The identity matrix with a row for each index of an axis of `data`, typed, in its element type.
Value unit_matrix(const Value& data, int64_t axis);

}  // namespace relay::op::grad
