// nn.swiglu: out = gate * sigmoid(gate) * up
//
// The activation of gated feed-forward layers (Shazeer, GLU variants improve transformer, 2020), after their products.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace swiglu_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* gate, tensor_input(in, 0, "gate"));
  RELAY_ASSIGN(const TensorType* up, tensor_input(in, 1, "up"));
  // (C1) Both are floats of one type.
  if (!gate->dtype.is_float()) return constraint("C1", "nn.swiglu needs floats, but gate is {}", gate->dtype.str());
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", gate, "gate", up, "up"));
  // (C2) Both have one shape.
  if (!agree(gate->shape, up->shape))
    return constraint("C2", "gate {} and up {} should have one shape", text(gate->shape), text(up->shape));
  return in[0];
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type&) {
  const DType wide = accumulator(in[0]->dtype);
  return {elementwise("swiglu", in[0], [&](const Exprs& i) {
    const Expr gate = cast(wide, (*in[0])(i)), up = cast(wide, (*in[1])(i));
    return cast(in[0]->dtype, gate * sigmoid(gate) * up);
  })};
}

ir::Expr definition(const NoAttrs&, const ir::Exprs& in) {
  return grad::times(grad::times(in[0], grad::call("sigmoid", {in[0]})), in[1]);
}

}  // namespace
}  // namespace swiglu_cpp

OpDef nn_swiglu() {
  using namespace swiglu_cpp;
  return define<NoAttrs>({.name = "nn.swiglu",
                          .doc = "gate * sigmoid(gate) * up.",
                          .inputs = {{"gate", "any shape"}, {"up", "the same shape"}},
                          .fusion = Fusion::Elementwise,
                          .infer = infer,
                          .compute = compute,
                          .definition = definition,
                          .is_extension = true,
                          .oracle = "F.silu(gate) * up",
                          .examples = {{.inputs = {"(3, 10)", "(3, 10)"}, .symbolic = {"(n, m)", "(n, m)"}, .low = -5},
                                       {.inputs = {"(128, 1024)", "(128, 1024)"}, .bench = true}},
                          .rejects = {{{"(2,) int32", "(2,) int32"}, "", "C1"},
                                      {{"(2,)", "(2,) float64"}, "", "C1"},
                                      {{"(2, 3)", "(3,)"}, "", "C2"}}});
}

}  // namespace relay::ops
