// arange: out[i] = start + i * step, while below stop (above it for a negative step)
//
// The bounds are inputs. If they are constants, they are attributes too, and the extent is known; else it is `?`.
#include <algorithm>
#include <cmath>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace arange_cpp {
namespace {

struct ArangeAttrs {
  OptFloat start;
  OptFloat stop;
  OptFloat step;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{field("start", &ArangeAttrs::start, "The first value, if it is constant."),
                 field("stop", &ArangeAttrs::stop, "The exclusive end, if it is constant."),
                 field("step", &ArangeAttrs::step, "The distance between values, if it is constant."),
                 field("dtype", &ArangeAttrs::dtype, "The element type of the result; None: that of the inputs.")};
};

Result<Type> infer(const ArangeAttrs& a, const Types& in) {
  DType dtype;
  const char* const names[] = {"start", "stop", "step"};
  for (size_t k = 0; k < 3; ++k) {
    RELAY_ASSIGN(const TensorType* bound, tensor_input(in, k, names[k]));
    // (C1) The bounds are scalars, of numbers.
    RELAY_RETURN_IF_ERROR(expect_rank("C1", bound, 0, names[k]));
    if (bound->dtype.is_bool()) return constraint("C1", "{} must be a number, but is bool", names[k]);
    dtype = bound->dtype;
  }
  if (a.dtype) dtype = *a.dtype;
  if (!a.start || !a.stop || !a.step) return ir::tensor_type({scalar::any_dim()}, dtype);
  // (C2) There is a step, and the number of values is finite.
  double count = std::ceil((*a.stop - *a.start) / *a.step);
  if (*a.step == 0 || !(std::abs(count) < 1e15))
    return constraint("C2", "arange from {} to {} by {} has no end", *a.start, *a.stop, *a.step);
  return ir::tensor_type({dim(std::max<int64_t>(0, static_cast<int64_t>(count)))}, dtype);
}

te::Tensors compute(const ArangeAttrs&, const te::Tensors& in, const Type& out) {
  DType dtype = dtype_of(out);
  return {te::compute("arange", shape_of(out), [&](const Exprs& i) {
    return cast(dtype, (*in[0])({})) + cast(dtype, i[0]) * cast(dtype, (*in[2])({}));
  })};
}

// ceil((stop - start) / step), at least 0, exact for integers; a step of 0 and NaN yield -1, which is not a size.
te::Tensor shape(const ArangeAttrs&, const te::Tensors& in) {
  return te::compute("shape", {dim(1)}, [&](const Exprs&) {
    const bool real = std::any_of(in.begin(), in.end(), [](const te::Tensor& t) { return t->dtype.is_float(); });
    const DType dtype = real ? DType::float64() : DType::int64();
    auto value = [&](size_t k) { return cast(dtype, (*in[k])({})); };
    const Expr zero = number(0, dtype), distance = value(1) - value(0);
    const Expr count =
        real ? scalar::unary(UnaryOp::Ceil, divide(distance, value(2))) : zero - floordiv(zero - distance, value(2));
    const Expr is_known = logical_and(ne(value(2), zero), eq(count, count));
    return select(is_known, cast(DType::int64(), max(zero, count)), dim(-1));
  });
}

// start + i * step; the stop value only determines the number of elements.
ir::Exprs gradient(const ArangeAttrs&, const Adjoint& of) {
  if (!grad::tensor(of.output).dtype.is_float()) return {nullptr, nullptr, nullptr};
  auto sum = [&](const ir::Expr& t, size_t k) {
    return grad::converted_as(grad::call("sum", {t}), of.output, of.inputs[k]);
  };
  const ir::Expr places = grad::call("cast", {grad::places(of.output, 0)}, {{"dtype", grad::tensor(of.output).dtype}});
  return {sum(of.gradient, 0), nullptr, sum(grad::times(of.gradient, places), 2)};
}

}  // namespace
}  // namespace arange_cpp

OpDef arange() {
  using namespace arange_cpp;
  return define<ArangeAttrs>(
      {.name = "arange",
       .doc = "Evenly spaced values.",
       .inputs = {{"start", "the first value"},
                  {"stop", "the exclusive end"},
                  {"step", "the distance between values, other than 0"}},
       // Fusion of arange: opaque in the reference; an element is computed where it is read.
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .shape = shape,
       .gradient = gradient,
       .oracle = "start + step * torch.arange(output_shape[0])",
       .examples = {{.inputs = {"()", "()", "()"}, .attrs = "start=1f, stop=4f, step=0.5f"},
                    {.inputs = {"() int32", "() int32", "() int32"},
                     .attrs = "start=5f, stop=-4f, step=-2f",
                     .low = -9,
                     .high = 9,
                     .ulps = 0},
                    {.inputs = {"() int64", "() int64", "() int64"},
                     .attrs = "start=3f, stop=3f, step=1f",
                     .low = -9,
                     .high = 9}},
       .rejects = {{{"(1,)", "()", "()"}, "", "C1"}, {{"()", "()", "()"}, "start=0f, stop=1f, step=0f", "C2"}}},
      "ArangeAttrs");
}

}  // namespace relay::ops
