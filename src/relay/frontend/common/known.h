// Known: a small tensor whose elements are known during import, as numbers or as expressions over shape variables.
//
//   the shape of x: (n, 3, 8, 8)    is known as [n, 3, 8, 8]
//   its element 0                   is known as n
//   [that, -1], concatenated        is known as [n, -1]: a reshape takes it as its new shape
//
// So the arithmetic that exporters write around reshapes, resizes, slices and broadcasts disappears at import, even if
// sizes are variables. Each function here applies an operator to known operands, and returns null if the result is not
// known: if it has too many elements, or would need an expression over sizes without an exact integer form. Numbers are
// computed as the evaluator does: every step wraps around or rounds in the type of its tensor.
#pragma once

#include <memory>
#include <optional>

#include "relay/ir/type.h"
#include "relay/tensor/tensor.h"

namespace relay::frontend {

struct Known {
  Shape shape;
  DType dtype;           // of the tensor
  scalar::Exprs values;  // row-major; integers and bools are int64 expressions, floats are float64 ones
};
using KnownRef = std::shared_ptr<const Known>;

inline constexpr int64_t max_known = 1024;  // elements; larger tensors are never "known"

KnownRef known_of(const Tensor& tensor);           // null if it is too large
KnownRef known_ints(const scalar::Exprs& values);  // a list of int64
KnownRef known_scalar(scalar::Expr value, DType dtype);
std::optional<Tensor> as_tensor(const Known& known);  // set if every element is a number
std::optional<std::vector<int64_t>> as_ints(const Known& known);

KnownRef reshaped(const Known& known, Shape shape);
KnownRef cast(const Known& known, DType dtype);
// Elements at `indices` of the flat data.
KnownRef picked(const Known& known, const std::vector<int64_t>& indices, Shape shape);
KnownRef binary(scalar::BinaryOp op, const Known& a,
                const Known& b);                     // numpy's broadcasting; Div is the division of the dtype
KnownRef unary(scalar::UnaryOp op, const Known& a);  // Neg, Floor, Ceil, Abs, Sqrt, Not
KnownRef where(const Known& condition, const Known& a, const Known& b);
KnownRef concat(const std::vector<KnownRef>& parts);  // rank 1
KnownRef transposed(const Known& known, const std::vector<int64_t>& axes);
// Elements begin, begin + step, .. before end of one axis. Both begin and end are on the axis.
KnownRef sliced(const Known& known, size_t axis, int64_t begin, int64_t end, int64_t step);
KnownRef product(const Known& known);  // of all elements, rank 0

}  // namespace relay::frontend
