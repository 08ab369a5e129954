// Helpers shared by operator files: reading input types, symbolic shape arithmetic, and a few te stages. Only files of
// op/ include this header.
//
// Dimensions agree if they are proved equal or one of them is `?`. If agreement can be neither proved nor disproved,
// typing records a condition, which becomes an entry check of the function (conditions.h). The same holds for bounds
// and multiples.
#pragma once

#include "relay/op/op.h"
#include "relay/scalar/simplify.h"

// Operators are functions of this namespace (ops.def). Everything else in the file x.cpp is in the namespace x_cpp,
// because files are compiled together (cmake/unity.cmake).
namespace relay::ops {
using namespace op;
}

namespace relay::op {

using ir::as;
using ir::Dim;
using ir::Dims;
using ir::field;
using ir::IntLists;
using ir::IntOrInts;
using ir::Ints;
using ir::OptDType;
using ir::OptFloat;
using ir::OptInt;
using ir::OptInts;
using ir::required_field;
using ir::TensorType;
using ir::TupleType;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::Exprs;
using scalar::imm;
using scalar::UnaryOp;
using te::Combiner;

// --- input types -----------------------------------------------------------------------------------------------------
// Input i as a tensor type. `name` is used in messages.
Result<const TensorType*> tensor_input(const Types& in, size_t i, const char* name);
// The tensors of a tuple input, at least one.
Result<std::vector<const TensorType*>> tuple_input(const Types& in, size_t i, const char* name);
// Input i as a shape: a list of integers of known length. Returns the length.
Result<size_t> shape_input(const char* number, const Types& in, size_t i, const char* name);
Status expect_rank(const char* number, const TensorType* type, size_t rank, const char* name);
Status expect_same_dtype(const char* number, const TensorType* a, const char* a_name, const TensorType* b,
                         const char* b_name);

// For OpSpec::complete: fills in the weight of a convolution from channels and kernel_size. `transposed`: the
// convolution is transposed.
Types with_weight(Types in, const std::string& data_layout, const std::string& kernel_layout, const OptInt& channels,
                  const OptInts& kernel_size, int64_t groups, bool transposed = false);
// Inputs with one value per index of an axis of the first input: (C,).
Types with_vectors(Types in, int64_t axis);

inline int64_t rank(const TensorType* type) { return static_cast<int64_t>(type->shape.size()); }
// "(1, n, 224)"
std::string text(const Dims& shape);
std::string text(const Ints& values);

// --- dimensions ------------------------------------------------------------------------------------------------------
inline Dim dim(int64_t value) { return imm(value); }
bool agree(const Dim& a, const Dim& b);             // unknown: true only if the condition is recorded for a check
bool at_least(const Dim& a, const Dim& b);          // unknown: true
bool divides(const Dim& divisor, const Dim& size);  // unknown: true
bool agree(const Dims& a, const Dims& b);
// The more specific of two dimensions that agree.
Dim meet(const Dim& a, const Dim& b);
Dims simplified(Dims shape);
Dim product(const Dims& shape);

// The shape of an elementwise operation on a and b by numpy's rules: aligned at the last axis, 1 stretches.
Result<Dims> broadcast_shape(const char* number, const Dims& a, const Dims& b);
// The indices at which such an operation reads `tensor` for the output element at `axes`.
Exprs broadcast_indices(const te::Tensor& tensor, const Exprs& axes);

// Converts an axis in [-rank, rank) to [0, rank).
Result<int64_t> normal_axis(const char* number, int64_t axis, int64_t rank);
// The same if the constraint is known to hold.
inline int64_t positive_axis(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }
// Distinct axes in ascending order.
Result<Ints> normal_axes(const char* number, const Ints& axes, int64_t rank);

// --- windows (convolution, pooling) ----------------------------------------------------------------------------------
// Checks that a layout is a permutation of these letters.
Status expect_layout(const char* number, const char* attribute, const std::string& layout, const std::string& letters);
// A value for each axis, from one value for all or one each; all at least 1.
Result<Ints> per_axis(const char* number, const char* attribute, const Ints& values, size_t axes);
// Padding before every axis, then after every axis, from one value for all, one per axis (both sides), or all of them.
Result<Ints> padding_sides(const char* number, const Ints& padding, size_t axes);
// For use in compute, after the checks in infer.
Ints per_axis(const Ints& values, size_t axes);
Ints padding_sides(const Ints& padding, size_t axes);
// The number of positions of a window of k taps: (in + before + after - dilation * (k - 1) - 1) / stride + 1; `ceil`
// rounds up.
Dim window_extent(const Dim& in, const Dim& k, int64_t stride, int64_t before, int64_t after, int64_t dilation,
                  bool ceil = false);

// --- te --------------------------------------------------------------------------------------------------------------
inline const Dims& shape_of(const Type& type) { return as<TensorType>(type)->shape; }
inline DType dtype_of(const Type& type) { return as<TensorType>(type)->dtype; }

// The type in which sums and products of `dtype` are accumulated: float32 for the half precisions.
DType accumulator(DType dtype);
// An elementwise stage that converts to `dtype`; the tensor itself if it already has that type.
te::Tensor converted(const te::Tensor& tensor, DType dtype);
// `data` surrounded by `value`, before[d] elements before axis d and after[d] after it. A separate movement stage, so
// that the windowed stage that reads it stays a plain sum of products. Returns the tensor itself if nothing is added.
te::Tensor padded(const te::Tensor& data, const Ints& before, const Ints& after, Expr value);
// A stage that has the shape of `like`.
te::Tensor elementwise(const char* name, const te::Tensor& like, const std::function<Expr(const Exprs&)>& body);
// The extents of the given axes of a tensor.
Exprs extents(const te::Tensor& tensor, const Ints& axes);

// values[i], by a chain of selects; 0 if `values` is empty.
Expr one_of(const Expr& i, const Exprs& values);
// A shape as a tensor, int64[rank]: the result of OpSpec::shape.
te::Tensor shape_tensor(const Exprs& sizes);

// A constant of `dtype`; for integer types the value is rounded.
Expr number(double value, DType dtype);
inline Expr divide(Expr a, Expr b) { return scalar::binary(BinaryOp::Div, std::move(a), std::move(b)); }
// 1 / (1 + exp(-x))
Expr sigmoid(const Expr& x);

}  // namespace relay::op
