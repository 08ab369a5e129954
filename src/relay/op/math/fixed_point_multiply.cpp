// fixed_point_multiply:          out = data * multiplier * 2^(shift - 31), rounded, halves up
// fixed_point_multiply_per_axis: out = x * y[a] * 2^(lshift[a] - rshift[a] - 31), rounded, halves up, a: i at the axes
#include <algorithm>

#include "relay/op/math/fixed_point.h"

namespace relay::ops {
namespace fixed_point_multiply_cpp {
namespace {

struct FixedPointMultiplyAttrs {
  int64_t multiplier = 0, shift = 0;
  static constexpr auto fields =
      std::tuple{required_field("multiplier", &FixedPointMultiplyAttrs::multiplier, "A factor, in units of 2^-31."),
                 required_field("shift", &FixedPointMultiplyAttrs::shift, "A power of two; negative: a right shift.")};
};

struct PerAxisAttrs {
  bool is_lshift_required = false, is_rshift_required = false;
  Ints axes;
  static constexpr auto fields =
      std::tuple{field("is_lshift_required", &PerAxisAttrs::is_lshift_required, "True to apply lshift."),
                 field("is_rshift_required", &PerAxisAttrs::is_rshift_required, "True to apply rshift."),
                 field("axes", &PerAxisAttrs::axes, "The axes of x along which the factors vary.")};
};

Expr scaled(const Expr& x, const Expr& multiplier, const Expr& left, const Expr& right) {
  return cast(DType::int32(), fixed_point_product(cast(DType::int64(), x), multiplier, left, right));
}

Result<Type> infer(const FixedPointMultiplyAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data is int32.
  if (data->dtype != DType::int32()) return constraint("C1", "data must be int32, but is {}", data->dtype.str());
  // (C2) The factor has 32 bits, the shift at most 31.
  if (a.multiplier < INT32_MIN || a.multiplier > INT32_MAX || a.shift < -31 || a.shift > 31)
    return constraint("C2", "multiplier {} must have 32 bits, and shift {} be from -31 to 31", a.multiplier, a.shift);
  return in[0];
}

te::Tensors compute(const FixedPointMultiplyAttrs& a, const te::Tensors& in, const Type&) {
  return {elementwise("fixed_point_multiply", in[0], [&](const Exprs& i) {
    return scaled((*in[0])(i), dim(a.multiplier), dim(std::max(a.shift, int64_t{0})),
                  dim(std::max(-a.shift, int64_t{0})));
  })};
}

Result<Type> infer_per_axis(const PerAxisAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* x, tensor_input(in, 0, "x"));
  // (C1) All are int32.
  const char* names[] = {"x", "y", "lshift", "rshift"};
  for (size_t k = 0; k < 4; ++k) {
    RELAY_ASSIGN(const TensorType* t, tensor_input(in, k, names[k]));
    if (t->dtype != DType::int32()) return constraint("C1", "{} must be int32, but is {}", names[k], t->dtype.str());
  }
  // (C2) The axes exist, each named once, in order.
  RELAY_ASSIGN(Ints axes, normal_axes("C2", a.axes, rank(x)));
  if (axes != a.axes) return constraint("C2", "axes {} should be ascending and not negative", text(a.axes));
  // (C3) There is a factor and are shifts for each index at these axes.
  Dims wanted;
  for (int64_t axis : axes) wanted.push_back(x->shape[static_cast<size_t>(axis)]);
  for (size_t k = 1; k < 4; ++k)
    if (const TensorType* t = as<TensorType>(in[k]); !agree(wanted, t->shape))
      return constraint("C3", "{} {} should be {}: x {} at axes {}", names[k], text(t->shape), text(wanted),
                        text(x->shape), text(axes));
  return in[0];
}

te::Tensors compute_per_axis(const PerAxisAttrs& a, const te::Tensors& in, const Type&) {
  return {elementwise("fixed_point_multiply", in[0], [&](const Exprs& i) {
    Exprs at;
    for (int64_t axis : a.axes) at.push_back(i[static_cast<size_t>(axis)]);
    auto shift = [&](bool used, size_t k) { return used ? cast(DType::int64(), (*in[k])(at)) : dim(0); };
    return scaled((*in[0])(i), cast(DType::int64(), (*in[1])(at)), shift(a.is_lshift_required, 2),
                  shift(a.is_rshift_required, 3));
  })};
}

}  // namespace
}  // namespace fixed_point_multiply_cpp

OpDef fixed_point_multiply() {
  using namespace fixed_point_multiply_cpp;
  return define<FixedPointMultiplyAttrs>(
      {.name = "fixed_point_multiply",
       .doc = "Multiplies by a factor given as an integer and a power of two.",
       .inputs = {{"data", "int32, any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .oracle = "torch.floor(data.double() * multiplier * 2.0 ** (shift - 31) + 0.5).to(torch.int32)",
       .examples = {{.inputs = {"(3, 7) int32"},
                     .attrs = "multiplier=1342177280, shift=-3",
                     .symbolic = {"(n, 7) int32"},
                     .low = -1000,
                     .high = 1000},
                    {.inputs = {"(9,) int32"}, .attrs = "multiplier=1073741824, shift=2", .low = -1000, .high = 1000}},
       .rejects = {{{"(3,)"}, "multiplier=1, shift=0", "C1"},
                   {{"(3,) int32"}, "multiplier=1, shift=32", "C2"},
                   {{"(3,) int32"}, "multiplier=4294967296, shift=0", "C2"}}},
      "FixedPointMultiplyAttrs");
}

OpDef fixed_point_multiply_per_axis() {
  using namespace fixed_point_multiply_cpp;
  return define<PerAxisAttrs>(
      {.name = "fixed_point_multiply_per_axis",
       .doc = "Multiplies along some axes by factors given as integers and powers of two.",
       .inputs = {{"x", "int32, any shape"},
                  {"y", "int32, a factor for each index at the axes, in units of 2^-31"},
                  {"lshift", "int32, the shape of y: bits of the left shift of x"},
                  {"rshift", "int32, the shape of y: bits of the right shift of the product"}},
       .fusion = Fusion::Broadcast,
       .infer = infer_per_axis,
       .compute = compute_per_axis,
       .oracle = "torch.floor(x.double() * y.reshape([n if d in axes else 1 for d, n in enumerate(x.shape)]) * 2.0 ** "
                 "((lshift if is_lshift_required else 0 * lshift) - (rshift if is_rshift_required else 0 * rshift) - "
                 "31).reshape([n if d in axes else 1 for d, n in enumerate(x.shape)]) + 0.5).to(torch.int32)",
       .examples = {{.inputs = {"(2, 3, 4) int32", "(3,) int32", "(3,) int32", "(3,) int32"},
                     .attrs = "is_lshift_required=True, axes=[1]",
                     .symbolic = {"(n, 3, m) int32", "(3,) int32", "(3,) int32", "(3,) int32"},
                     .low = 12,
                     .high = 30},
                    {.inputs = {"(3, 4) int32", "(3, 4) int32", "(3, 4) int32", "(3, 4) int32"},
                     .attrs = "is_rshift_required=True, axes=[0, 1]",
                     .low = 0,
                     .high = 9}},
       .rejects = {{{"(3,)", "(3,) int32", "(3,) int32", "(3,) int32"}, "axes=[0]", "C1"},
                   {{"(3,) int32", "(3,) int32", "(3,) int32", "(3,) int32"}, "axes=[1]", "C2"},
                   {{"(3,) int32", "(3,) int32", "(3,) int32", "(3,) int32"}, "axes=[-1]", "C2"},
                   {{"(3,) int32", "(3,) int32", "(2,) int32", "(3,) int32"}, "axes=[0]", "C3"}}},
      "FixedPointMultiplyPerAxisAttrs");
}

}  // namespace relay::ops
