// nn.softmax:      out[.., i, ..] = exp(x[i] - m) / sum(k) exp(x[k] - m),   m = max(k) x[k]
// nn.log_softmax:  out[.., i, ..] = x[i] - m - log(sum(k) exp(x[k] - m))
//
// in stages: the maximum, the exponentials, their sum, the result. Half precisions are computed in float32.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace softmax_cpp {
namespace {

struct SoftmaxAttrs {
  int64_t axis = -1;
  static constexpr auto fields =
      std::tuple{field("axis", &SoftmaxAttrs::axis, "The axis along which the results sum to one.")};
};

Result<Type> infer(const SoftmaxAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_RETURN_IF_ERROR(normal_axis("C1", a.axis, rank(data)));
  // (C2) The elements are floats.
  if (!data->dtype.is_float()) return constraint("C2", "softmax needs floats, but data is {}", data->dtype.str());
  return in[0];
}

te::Tensors compute(const SoftmaxAttrs& a, const te::Tensors& in, bool logarithm) {
  const te::Tensor& data = in[0];
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  DType dtype = accumulator(data->dtype);
  Exprs rest = data->shape;
  rest.erase(rest.begin() + static_cast<int64_t>(axis));
  auto inserted = [axis](Exprs i, const Expr& k) { return i.insert(i.begin() + static_cast<int64_t>(axis), k), i; };
  auto without = [axis](Exprs i) { return i.erase(i.begin() + static_cast<int64_t>(axis)), i; };

  te::Tensor max = te::reduce("max", rest, {data->shape[axis]}, Combiner::Max,
                              [&](const Exprs& i, const Exprs& k) { return cast(dtype, (*data)(inserted(i, k[0]))); });
  auto shifted = [&](const Exprs& i) { return cast(dtype, (*data)(i)) - (*max)(without(i)); };
  te::Tensor exp = elementwise("exp", data, [&](const Exprs& i) { return unary(UnaryOp::Exp, shifted(i)); });
  te::Tensor sum = te::reduce("sum", rest, {data->shape[axis]}, Combiner::Sum,
                              [&](const Exprs& i, const Exprs& k) { return (*exp)(inserted(i, k[0])); });
  // The sum is at least 1 and its reciprocal accurate to half a unit in the last place.
  te::Tensor scale = elementwise(logarithm ? "log" : "scale", sum, [&](const Exprs& i) {
    return logarithm ? unary(UnaryOp::Log, (*sum)(i)) : divide(number(1, dtype), (*sum)(i));
  });
  te::Tensor out = elementwise(logarithm ? "log_softmax" : "softmax", data, [&](const Exprs& i) {
    const Expr of_row = (*scale)(without(i));
    return cast(data->dtype, logarithm ? shifted(i) - of_row : (*exp)(i)*of_row);
  });
  return {out};
}

// y (dy - sum(y dy)); for the logarithm: dy - exp(y) sum(dy).
ir::Exprs gradient(const SoftmaxAttrs& a, const Adjoint& of, bool logarithm) {
  const ir::Expr &y = of.output, &dy = of.gradient;
  auto sum = [&](ir::Expr t) {
    return grad::call("sum", {std::move(t)}, {{"axis", Ints{a.axis}}, {"keepdims", true}});
  };
  if (logarithm) return {grad::minus(dy, grad::times(grad::call("exp", {y}), sum(dy)))};
  return {grad::times(y, grad::minus(dy, sum(grad::times(y, dy))))};
}

OpDef softmax(const char* name, const char* doc, const char* oracle, bool logarithm) {
  return define<SoftmaxAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"data", "any shape with at least one axis"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = [logarithm](const SoftmaxAttrs& a, const te::Tensors& in,
                              const Type&) { return compute(a, in, logarithm); },
       .gradient = [logarithm](const SoftmaxAttrs& a, const Adjoint& of) { return gradient(a, of, logarithm); },
       .oracle = oracle,
       .examples = {{.inputs = {"(3, 10)"}, .symbolic = {"(n, m)"}, .low = -5, .high = 5},
                    {.inputs = {"(2, 5, 4)"}, .attrs = "axis=1", .symbolic = {"(n, c, 4)"}, .low = -5, .high = 5},
                    {.inputs = {"(7,)"}, .attrs = "axis=0", .low = 900, .high = 1000},
                    {.inputs = {"(12, 128, 128)"}, .bench = true},
                    {.inputs = {"(12, 197, 197)"}, .bench = true},
                    {.inputs = {"(1, 1000)"}, .bench = true},
                    {.inputs = {"(1, 21, 65, 65)"}, .attrs = "axis=1", .bench = true}},
       .rejects = {{{"(2, 3)"}, "axis=2", "C1"}, {{"(2, 3) int32"}, "", "C2"}}},
      "SoftmaxAttrs");
}

}  // namespace
}  // namespace softmax_cpp

OpDef nn_softmax() {
  using namespace softmax_cpp;
  return softmax("nn.softmax", "Softmax: exponentials, scaled to sum to one along an axis.", "F.softmax(data, axis)",
                 false);
}
OpDef nn_fast_softmax() {
  using namespace softmax_cpp;
  OpDef def = softmax("nn.fast_softmax", "nn.softmax under another name, with the same accuracy.",
                      "F.softmax(data, axis)", false);
  std::erase_if(def.examples, [](const Example& e) { return e.bench; });  // measured as nn.softmax
  return def;
}
OpDef nn_log_softmax() {
  using namespace softmax_cpp;
  return softmax("nn.log_softmax", "The logarithm of nn.softmax.", "F.log_softmax(data, axis)", true);
}

}  // namespace relay::ops
