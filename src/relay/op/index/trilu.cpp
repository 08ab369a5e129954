// trilu: out[.., y, x] = data[.., y, x] where x - y >= k (upper) or x - y <= k (lower), else 0
#include "relay/op/gradient.h"

namespace relay::ops {
namespace trilu_cpp {
namespace {

struct TriluAttrs {
  bool upper = true;
  static constexpr auto fields =
      std::tuple{field("upper", &TriluAttrs::upper, "True to keep the upper triangle, false to keep the lower.")};
};

Result<Type> infer(const TriluAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* k, tensor_input(in, 1, "k"));
  // (C1) Data is a matrix, or several.
  if (rank(data) < 2) return constraint("C1", "trilu needs at least two axes, but data is {}", text(data->shape));
  // (C2) k is an integer.
  if (!k->shape.empty() || !k->dtype.is_int())
    return constraint("C2", "k must be one integer, but is {}", ir::str(in[1]));
  return in[0];
}

te::Tensors compute(const TriluAttrs& a, const te::Tensors& in, const Type&) {
  return {elementwise("trilu", in[0], [&](const Exprs& i) {
    Expr distance = i[i.size() - 1] - i[i.size() - 2], k = cast(DType::int64(), (*in[1])({}));
    return select(a.upper ? le(k, distance) : le(distance, k), (*in[0])(i), imm(0, in[0]->dtype));
  })};
}

ir::Exprs gradient(const TriluAttrs& a, const Adjoint& of) {
  return {grad::call("trilu", {of.gradient, of.inputs[1]}, {{"upper", a.upper}}), nullptr};
}

}  // namespace
}  // namespace trilu_cpp

OpDef trilu() {
  using namespace trilu_cpp;
  return define<TriluAttrs>(
      {.name = "trilu",
       .doc = "Keeps the upper or lower triangle of matrices, and sets the rest to zero.",
       .inputs = {{"data", "(.., M, N)"}, {"k", "the diagonal where the triangle ends; 0: the main diagonal"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "(torch.triu if upper else torch.tril)(data, int(k))",
       .examples = {{.inputs = {"(4, 5)", "() int64"}, .symbolic = {"(n, m)", "() int64"}},
                    {.inputs = {"(2, 5, 4)", "() int32"}, .attrs = "upper=False", .low = -2, .high = 2}},
       .rejects = {{{"(4,)", "() int64"}, "", "C1"}, {{"(4, 4)", "()"}, "", "C2"}}},
      "TriluAttrs");
}

}  // namespace relay::ops
