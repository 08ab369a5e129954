// What operator files share: reading input types, symbolic shape arithmetic, and a few te stages. Only files of op/
// include it.
//
// Dimensions agree when they are proven equal or one of them is `?`. Where neither that nor the contrary is known,
// typing notes it and whoever runs the function checks it (conditions.h); so with bounds and multiples.
#pragma once

#include "relay/op/op.h"
#include "relay/scalar/simplify.h"

// Operators are functions of this namespace (ops.def). Everything else in the file x.cpp is in the namespace x_cpp, because
// files are compiled together (cmake/unity.cmake).
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
// Input i as a tensor type. `name` is for the message.
Result<const TensorType*> tensor_input(const Types& in, size_t i, const char* name);
// The tensors of a tuple input, at least one.
Result<std::vector<const TensorType*>> tuple_input(const Types& in, size_t i, const char* name);
// Input i as a shape: a list of integers of known length, which is what comes back.
Result<size_t> shape_input(const char* number, const Types& in, size_t i, const char* name);
Status expect_rank(const char* number, const TensorType* type, size_t rank, const char* name);
Status expect_same_dtype(const char* number, const TensorType* a, const char* a_name, const TensorType* b,
                         const char* b_name);

// For OpSpec::complete. The weight of a convolution with channels and kernel_size; `turned`: of a transposed one.
Types with_weight(Types in, const std::string& data_layout, const std::string& kernel_layout, const OptInt& channels,
                  const OptInts& kernel_size, int64_t groups, bool turned = false);
// Inputs that are one value for each index of an axis of the first: (C,).
Types with_vectors(Types in, int64_t axis);

inline int64_t rank(const TensorType* type) { return static_cast<int64_t>(type->shape.size()); }
// "(1, n, 224)"
std::string text(const Dims& shape);
std::string text(const Ints& values);

// --- dimensions ------------------------------------------------------------------------------------------------------
inline Dim dim(int64_t value) { return imm(value); }
bool agree(const Dim& a, const Dim& b);             // nobody knows: only where somebody checks it
bool at_least(const Dim& a, const Dim& b);          // nobody knows: true
bool divides(const Dim& divisor, const Dim& size);  // the same
bool agree(const Dims& a, const Dims& b);
// Of two dimensions that agree, the one that says more.
Dim meet(const Dim& a, const Dim& b);
Dims simplified(Dims shape);
Dim product(const Dims& shape);

// The shape of an elementwise operation of a and b with numpy's rules: aligned at the last axis, 1 stretches.
Result<Dims> broadcast_shape(const char* number, const Dims& a, const Dims& b);
// Where such an operation reads `tensor` for the output element at `axes`.
Exprs broadcast_indices(const te::Tensor& tensor, const Exprs& axes);

// An axis in [0, rank) from one in [-rank, rank).
Result<int64_t> normal_axis(const char* number, int64_t axis, int64_t rank);
// The same where the constraint is known to hold.
inline int64_t positive_axis(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }
// Distinct axes in ascending order.
Result<Ints> normal_axes(const char* number, const Ints& axes, int64_t rank);

// --- windows (convolution, pooling) ----------------------------------------------------------------------------------
// A layout is any order of the given letters.
Status expect_layout(const char* number, const char* attribute, const std::string& layout, const std::string& letters);
// One value an axis, from one for all or one each; all at least 1.
Result<Ints> per_axis(const char* number, const char* attribute, const Ints& values, size_t axes);
// Padding before every axis, then after every axis, from one value for all, one an axis (both sides), or all of them.
Result<Ints> padding_sides(const char* number, const Ints& padding, size_t axes);
// For use in compute, after infer has checked them.
Ints per_axis(const Ints& values, size_t axes);
Ints padding_sides(const Ints& padding, size_t axes);
// The number of places of a window of k taps: (in + before + after - dilation * (k - 1) - 1) / stride + 1; `ceil`
// rounds up.
Dim window_extent(const Dim& in, const Dim& k, int64_t stride, int64_t before, int64_t after, int64_t dilation,
                  bool ceil = false);

// --- te --------------------------------------------------------------------------------------------------------------
inline const Dims& shape_of(const Type& type) { return as<TensorType>(type)->shape; }
inline DType dtype_of(const Type& type) { return as<TensorType>(type)->dtype; }

// The type sums and products of `dtype` are accumulated in: float32 for the half precisions.
DType accumulator(DType dtype);
// An elementwise stage to `dtype`; the tensor itself when it is of that type.
te::Tensor converted(const te::Tensor& tensor, DType dtype);
// `data` surrounded by `value`, before[d] elements in front of axis d and after[d] behind it: a movement stage of its
// own, so that the windowed stage behind it stays a plain sum of products. The tensor itself when nothing is added.
te::Tensor padded(const te::Tensor& data, const Ints& before, const Ints& after, Expr value);
// A stage that has the shape of `like`.
te::Tensor elementwise(const char* name, const te::Tensor& like, const std::function<Expr(const Exprs&)>& body);
// The extents of the given axes of a tensor.
Exprs extents(const te::Tensor& tensor, const Ints& axes);

// values[i], by a chain of selections; 0 where there are none.
Expr one_of(const Expr& i, const Exprs& values);
// A shape as a tensor, int64[rank]: what OpSpec::shape gives.
te::Tensor shape_tensor(const Exprs& sizes);

// Constants of a float type, or integers rounded.
Expr number(double value, DType dtype);
inline Expr divide(Expr a, Expr b) { return scalar::binary(BinaryOp::Div, std::move(a), std::move(b)); }
// 1 / (1 + exp(-x))
Expr sigmoid(const Expr& x);

}  // namespace relay::op
