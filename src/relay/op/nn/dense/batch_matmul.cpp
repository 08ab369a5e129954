// nn.batch_matmul: out[b, m, n] = sum(k) tensor_a[b, m, k] * tensor_b[b, k, n], either optionally transposed; a batch
// of one is used for every b.
#include "relay/op/gradient.h"
#include "relay/op/nn/dense/contraction.h"

namespace relay::ops {
namespace batch_matmul_cpp {
namespace {

struct BatchMatmulAttrs {
  OptDType out_dtype;
  bool transpose_a = false;
  bool transpose_b = false;
  static constexpr auto fields =
      std::tuple{field("out_dtype", &BatchMatmulAttrs::out_dtype,
                       "Element type of the sum and the result; None: that of tensor_a."),
                 field("transpose_a", &BatchMatmulAttrs::transpose_a, "True if tensor_a is (b, k, m)."),
                 field("transpose_b", &BatchMatmulAttrs::transpose_b, "True if tensor_b is (b, n, k).")};
};

Result<Type> infer(const BatchMatmulAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* lhs, tensor_input(in, 0, "tensor_a"));
  RELAY_ASSIGN(const TensorType* rhs, tensor_input(in, 1, "tensor_b"));
  // (C1) Both have three axes.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", lhs, 3, "tensor_a"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", rhs, 3, "tensor_b"));
  // (C2) One element type, unless out_dtype is set.
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", lhs, "tensor_a", rhs, "tensor_b"));
  // (C3) The batches are equal, or one of them is 1.
  RELAY_ASSIGN(Dims batch, broadcast_shape("C3", {lhs->shape[0]}, {rhs->shape[0]}));
  // (C4) The summed axes have the same size.
  const Dim& lhs_k = lhs->shape[a.transpose_a ? 1 : 2];
  const Dim& rhs_k = rhs->shape[a.transpose_b ? 2 : 1];
  if (!agree(lhs_k, rhs_k))
    return constraint("C4", "tensor_a {} and tensor_b {} cannot be multiplied: {} against {}", text(lhs->shape),
                      text(rhs->shape), scalar::str(lhs_k), scalar::str(rhs_k));
  return ir::tensor_type({batch[0], lhs->shape[a.transpose_a ? 2 : 1], rhs->shape[a.transpose_b ? 1 : 2]},
                         a.out_dtype.value_or(lhs->dtype));
}

te::Tensors compute(const BatchMatmulAttrs& a, const te::Tensors& in, const Type& out) {
  auto batch = [](const te::Tensor& t, const Expr& b) { return scalar::is_int(t->shape[0], 1) ? dim(0) : b; };
  auto a_at = [&](const Exprs& i, const Expr& k) {
    return a.transpose_a ? Exprs{batch(in[0], i[0]), k, i[1]} : Exprs{batch(in[0], i[0]), i[1], k};
  };
  auto b_at = [&](const Exprs& i, const Expr& k) {
    return a.transpose_b ? Exprs{batch(in[1], i[0]), i[2], k} : Exprs{batch(in[1], i[0]), k, i[2]};
  };
  return nn::contraction("batch_matmul", out, in[0], in[1], in[0]->shape[a.transpose_a ? 1 : 2], a_at, b_at);
}

// For out = A B: dA = dy B', dB = A' dy; transposed for transposed operands. A batch of one gets the sum of all.
ir::Exprs gradient(const BatchMatmulAttrs& m, const Adjoint& of) {
  const ir::Expr &a = of.inputs[0], &b = of.inputs[1], dy = grad::converted_as(of.gradient, of.output, a);
  auto product = [](const ir::Expr& left, bool transpose_a, const ir::Expr& right, bool transpose_b) {
    return grad::call("nn.batch_matmul", {left, right}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  };
  const ir::Expr da = m.transpose_a ? product(b, m.transpose_b, dy, true) : product(dy, false, b, !m.transpose_b);
  const ir::Expr db = m.transpose_b ? product(dy, true, a, m.transpose_a) : product(a, !m.transpose_a, dy, false);
  auto one = [](const ir::Expr& t) { return scalar::is_int(grad::tensor(t).shape[0], 1); };
  auto summed = [&](const ir::Expr& gradient, const ir::Expr& t, const ir::Expr& other) {
    return one(t) && !one(other) ? grad::call("collapse_sum_like", {gradient, t}) : gradient;
  };
  return {summed(da, a, b), summed(db, b, a)};
}

}  // namespace
}  // namespace batch_matmul_cpp

OpDef nn_batch_matmul() {
  using namespace batch_matmul_cpp;
  return define<BatchMatmulAttrs>(
      {.name = "nn.batch_matmul",
       .doc = "The products of corresponding matrices of two batches.",
       .inputs = {{"tensor_a", "(B, M, K), or (B, K, M) when transpose_a"},
                  {"tensor_b", "(B, K, N), or (B, N, K) when transpose_b"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "torch.matmul(tensor_a.mT if transpose_a else tensor_a, tensor_b.mT if transpose_b else tensor_b)",
       .examples = {{.inputs = {"(2, 3, 5)", "(2, 5, 7)"}, .symbolic = {"(b, m, k)", "(b, k, n)"}},
                    {.inputs = {"(2, 3, 5)", "(1, 7, 5)"},
                     .attrs = "transpose_b=True",
                     .symbolic = {"(b, m, 5)", "(1, n, 5)"}},
                    {.inputs = {"(1, 5, 3)", "(4, 5, 2)"}, .attrs = "transpose_a=True"},
                    {.inputs = {"(12, 128, 64)", "(12, 128, 64)"}, .attrs = "transpose_b=True", .bench = true},
                    {.inputs = {"(12, 128, 128)", "(12, 128, 64)"}, .bench = true},
                    {.inputs = {"(12, 197, 64)", "(12, 197, 64)"}, .attrs = "transpose_b=True", .bench = true},
                    {.inputs = {"(12, 197, 197)", "(12, 197, 64)"}, .bench = true},
                    {.inputs = {"(12, 1, 64)", "(12, 512, 64)"}, .attrs = "transpose_b=True", .bench = true},
                    {.inputs = {"(64, 49, 32)", "(64, 49, 32)"}, .attrs = "transpose_b=True", .bench = true}},
       .rejects = {{{"(2, 3)", "(2, 3, 4)"}, "", "C1"},
                   {{"(2, 3, 4)", "(2, 4, 5) int32"}, "", "C2"},
                   {{"(2, 3, 4)", "(3, 4, 5)"}, "", "C3"},
                   {{"(2, 3, 4)", "(2, 5, 4)"}, "", "C4"}}},
      "BatchMatmulAttrs");
}

}  // namespace relay::ops
