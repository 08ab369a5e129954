// What gradients and definitions of operators are written with (OpDef::gradient, OpDef::definition): calls of other
// operators by short names.
//
//   .gradient = [](const NoAttrs&, const Adjoint& of) -> ir::Exprs {
//     return {grad::times(of.gradient, grad::call("cos", {of.inputs[0]}))};   // of sin
//   }
//
// The binary ones broadcast. Where a comment says typed, the expression must have its type: the inputs and the output
// of an Adjoint do, and its gradient.
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

// Of typed expressions.
inline const TensorType& tensor(const Value& typed) { return *as<TensorType>(typed->type); }
inline int64_t rank(const Value& typed) { return op::rank(&tensor(typed)); }
// A scalar of the element type of `like`, typed.
Value number(double value, const Value& like);
// `gradient`, of the type of `output`, added up to the shape of an input that was broadcast to it. Both typed.
Value summed_to(Value gradient, const Value& input, const Value& output);
// `values` under the shape of `like`, which is typed; they have as many elements.
Value shaped_as(Value values, const Value& like);
// `values`, whose element type is that of `typed`, as those of `like`: `values` itself where it is the same.
Value converted_as(Value values, const Value& typed, const Value& like);
// With the last two axes exchanged, of so many.
Value transposed(Value matrices, int64_t rank);
// A vector along an axis of a tensor of `rank`, as something that broadcasts with it: (C,) becomes (C, 1, 1).
Value along(Value vector, int64_t axis, int64_t rank);
// What a reduction over `axes` (ascending, of `data`, typed) left, as something that broadcasts with data.
Value with_axes(Value reduced, const Ints& axes, bool keepdims);
// How many elements of `data`, typed, each element of a reduction over `axes` stands for: a scalar, or, where that is
// not known yet, what broadcasts with data.
Value count(const Value& data, const Ints& axes);

// A list of int64, typed as a constant.
Value integers(const Ints& values);
// How many elements `data`, typed, has along an axis: a scalar, int64.
Value extent(const Value& data, int64_t axis);
// The places 0, 1, .. along an axis of `data`, typed, int64.
Value places(const Value& data, int64_t axis);
// The numbers of the elements of `data`, typed, from 1 in row-major order: int64, of its shape.
Value numbers(const Value& data);
// The gradient of `data`, typed, through what copies its elements. `sources`, of the shape of `gradient`, says which
// element of data each is, by its number, or 0 where it is none: the same copying of numbers(data).
Value scattered(Value gradient, Value sources, const Value& data);
// The sum over an axis of a tensor of `rank` times a matrix, which puts the matrix's first axis in its place:
// out[.., i, ..] = sum(j) matrix[i, j] * tensor[.., j, ..].
Value contracted(Value tensor, int64_t rank, int64_t axis, Value matrix);
// The unit matrix with a row for each place along an axis of `data`, typed, of its element type.
Value unit_matrix(const Value& data, int64_t axis);

}  // namespace relay::op::grad
