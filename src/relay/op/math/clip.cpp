// clip: out[i] = min(max(data[i], a_min), a_max)
#include <algorithm>
#include <cmath>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace clip_cpp {
namespace {

struct ClipAttrs {
  double a_min = 0;
  double a_max = 0;
  static constexpr auto fields = std::tuple{required_field("a_min", &ClipAttrs::a_min, "Lower bound of the result."),
                                            required_field("a_max", &ClipAttrs::a_max, "Upper bound of the result.")};
};

Result<Type> infer(const ClipAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The elements are numbers.
  if (data->dtype.is_bool()) return constraint("C1", "clip needs numbers, but data is bool");
  return in[0];
}

// The bound as a value of `dtype`: for integers the nearest one inside of the bounds that the type can represent.
Expr bound(double value, DType dtype, bool lower) {
  if (dtype.is_float()) return scalar::fimm(value, dtype);
  bool is_signed = dtype.code == DType::Code::Int;
  double least = is_signed ? -std::ldexp(1.0, dtype.bits - 1) : 0;
  double greatest = std::ldexp(1.0, is_signed ? dtype.bits - 1 : std::min<int>(dtype.bits, 63));  // not itself a value
  double whole = lower ? std::ceil(value) : std::floor(value);
  int64_t last = greatest >= std::ldexp(1.0, 63) ? INT64_MAX : static_cast<int64_t>(greatest) - 1;
  return imm(whole <= least      ? static_cast<int64_t>(least)
             : whole >= greatest ? last
                                 : static_cast<int64_t>(whole),
             dtype);
}

te::Tensors compute(const ClipAttrs& a, const te::Tensors& in, const Type&) {
  return {elementwise("clip", in[0], [&](const Exprs& i) {
    Expr x = (*in[0])(i);
    return min(max(x, bound(a.a_min, x->dtype, true)), bound(a.a_max, x->dtype, false));
  })};
}

// Passed through within the range, ends included.
ir::Exprs gradient(const ClipAttrs& a, const Adjoint& of) {
  const ir::Expr& x = of.inputs[0];
  const ir::Expr inside = grad::call("logical_and", {grad::call("greater_equal", {x, grad::number(a.a_min, x)}),
                                                     grad::call("less_equal", {x, grad::number(a.a_max, x)})});
  return {grad::call("where", {inside, of.gradient, grad::zeros_like(of.gradient)})};
}

}  // namespace
}  // namespace clip_cpp

OpDef clip() {
  using namespace clip_cpp;
  return define<ClipAttrs>(
      {.name = "clip",
       .doc = "Limits every element to a range.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "torch.clamp(data, a_min, a_max)",
       .examples = {{.inputs = {"(3, 5, 7)"}, .attrs = "a_min=-0.5f, a_max=0.25f", .symbolic = {"(n, 5, m)"}},
                    {.inputs = {"(4, 5) int32"}, .attrs = "a_min=0f, a_max=6f", .low = -9, .high = 9, .ulps = 0}},
       .rejects = {{{"(2,) bool"}, "a_min=0f, a_max=1f", "C1"}}},
      "ClipAttrs");
}

}  // namespace relay::ops
