// nn.dropout, in inference: (out, mask) = (data, ones)
#include "relay/op/gradient.h"

namespace relay::ops {
namespace dropout_cpp {
namespace {

struct DropoutAttrs {
  double rate = 0.5;
  static constexpr auto fields =
      std::tuple{field("rate", &DropoutAttrs::rate, "The share of elements that is dropped in training.")};
};

Result<Type> infer(const DropoutAttrs&, const Types& in) {
  RELAY_RETURN_IF_ERROR(tensor_input(in, 0, "data"));
  return ir::tuple_type({in[0], in[0]});
}

te::Tensors compute(const DropoutAttrs&, const te::Tensors& in, const Type&) {
  return {elementwise("dropout", in[0], [&](const Exprs& i) { return (*in[0])(i); }),
          elementwise("mask", in[0], [&](const Exprs&) { return imm(1, in[0]->dtype); })};
}

ir::Expr definition(const DropoutAttrs&, const ir::Exprs& in) {
  return ir::tuple({in[0], grad::call("ones_like", {in[0]})});
}

}  // namespace
}  // namespace dropout_cpp

OpDef nn_dropout() {
  using namespace dropout_cpp;
  return define<DropoutAttrs>(
      {.name = "nn.dropout",
       .doc = "Drops elements at random in training; the identity in inference. Returns (result, mask).",
       .inputs = {{"data", "any shape"}},
       // Fusion of nn.dropout: opaque in the reference; what it is in training has its mask from elsewhere
       // (training_forms).
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .oracle = "(data, torch.ones_like(data))",
       .examples = {{.inputs = {"(3, 5)"}, .attrs = "rate=0.1f", .symbolic = {"(n, m)"}}}},
      "DropoutAttrs");
}

}  // namespace relay::ops
