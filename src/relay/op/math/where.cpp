// where: out[i] = condition[i] ? x[i] : y[i], with broadcasting. A numeric condition is true where it is not zero.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace where_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* condition, tensor_input(in, 0, "condition"));
  RELAY_ASSIGN(const TensorType* x, tensor_input(in, 1, "x"));
  RELAY_ASSIGN(const TensorType* y, tensor_input(in, 2, "y"));
  // (C1) x and y have one element type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", x, "x", y, "y"));
  // (C2) The three shapes broadcast.
  RELAY_ASSIGN(Dims values, broadcast_shape("C2", x->shape, y->shape));
  RELAY_ASSIGN(Dims shape, broadcast_shape("C2", condition->shape, values));
  return ir::tensor_type(std::move(shape), x->dtype);
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type& out) {
  return {te::compute("where", shape_of(out), [&](const Exprs& i) {
    Expr condition = (*in[0])(broadcast_indices(in[0], i));
    if (!condition->dtype.is_bool()) condition = ne(condition, imm(0, condition->dtype));
    return select(condition, (*in[1])(broadcast_indices(in[1], i)), (*in[2])(broadcast_indices(in[2], i)));
  })};
}

ir::Exprs gradient(const NoAttrs&, const Adjoint& of) {
  const ir::Expr &condition = of.inputs[0], &dy = of.gradient, none = grad::zeros_like(dy);
  return {nullptr, grad::summed_to(grad::call("where", {condition, dy, none}), of.inputs[1], of.output),
          grad::summed_to(grad::call("where", {condition, none, dy}), of.inputs[2], of.output)};
}

}  // namespace
}  // namespace where_cpp

OpDef where() {
  using namespace where_cpp;
  return define<NoAttrs>(
      {.name = "where",
       .doc = "Selects elements from two tensors by a condition.",
       .inputs = {{"condition", "bool, any shape"}, {"x", "a shape that broadcasts"}, {"y", "a shape that broadcasts"}},
       .fusion = Fusion::Broadcast,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "torch.where(condition != 0, x, y)",
       .examples =
           {{.inputs = {"(3, 5) bool", "(3, 5)", "(3, 5)"},
             .symbolic = {"(n, 5) bool", "(n, 5)", "(n, 5)"},
             .low = 0,
             .high = 1},
            {.inputs = {"(5,) bool", "(3, 1)", "()"}, .symbolic = {"(m,) bool", "(n, 1)", "()"}, .low = 0, .high = 1},
            {.inputs = {"(3, 5) int32", "(3, 5)", "(5,)"}, .low = -1, .high = 1}},
       .rejects = {{{"(2,) bool", "(2,)", "(2,) int32"}, "", "C1"}, {{"(2,) bool", "(3,)", "(3,)"}, "", "C2"}}});
}

}  // namespace relay::ops
