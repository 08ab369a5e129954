// nn.matmul: out[.., m, n] = sum(k) tensor_a[.., m, k] * tensor_b[k, n], either optionally transposed.
#include "relay/op/gradient.h"
#include "relay/op/nn/dense/contraction.h"

namespace relay::ops {
namespace matmul_cpp {
namespace {

struct MatmulAttrs {
  OptInt units;
  OptDType out_dtype;
  bool transpose_a = false;
  bool transpose_b = false;
  static constexpr auto fields = std::tuple{
      field("units", &MatmulAttrs::units, "Number of columns of the result; None: that of tensor_b."),
      field("out_dtype", &MatmulAttrs::out_dtype, "Element type of the sum and the result; None: that of tensor_a."),
      field("transpose_a", &MatmulAttrs::transpose_a, "True if tensor_a is (.., k, m)."),
      field("transpose_b", &MatmulAttrs::transpose_b, "True if tensor_b is (n, k).")};
};

Result<Type> infer(const MatmulAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* lhs, tensor_input(in, 0, "tensor_a"));
  RELAY_ASSIGN(const TensorType* rhs, tensor_input(in, 1, "tensor_b"));
  // (C1) tensor_a has an axis (two to be transposed), tensor_b two.
  if (lhs->shape.size() < (a.transpose_a ? 2u : 1u))
    return constraint("C1", "tensor_a has too few axes: its shape is {}", text(lhs->shape));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", rhs, 2, "tensor_b"));
  // (C2) One element type, unless out_dtype is set.
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", lhs, "tensor_a", rhs, "tensor_b"));
  Dims out = lhs->shape;
  if (a.transpose_a) std::swap(out[out.size() - 1], out[out.size() - 2]);
  // (C3) The summed axes have the same size.
  const Dim& k = rhs->shape[a.transpose_b ? 1 : 0];
  if (!agree(out.back(), k))
    return constraint("C3", "tensor_a {} and tensor_b {} cannot be multiplied: {} against {}", text(lhs->shape),
                      text(rhs->shape), scalar::str(out.back()), scalar::str(k));
  out.back() = rhs->shape[a.transpose_b ? 0 : 1];
  // (C4) units, if set, is the number of columns.
  if (a.units && !agree(dim(*a.units), out.back()))
    return constraint("C4", "units is {}, but tensor_b has {} columns", *a.units, scalar::str(out.back()));
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(lhs->dtype));
}

Types complete(const MatmulAttrs& a, Types in) {
  const TensorType* lhs = as<TensorType>(in[0]);
  if (in[1] || !lhs || !a.units || lhs->shape.size() < (a.transpose_a ? 2u : 1u)) return in;
  const Dim& k = lhs->shape[lhs->shape.size() - (a.transpose_a ? 2 : 1)];
  in[1] = ir::tensor_type(a.transpose_b ? Dims{dim(*a.units), k} : Dims{k, dim(*a.units)}, lhs->dtype);
  return in;
}

te::Tensors compute(const MatmulAttrs& a, const te::Tensors& in, const Type& out) {
  auto a_at = [&](Exprs i, const Expr& k) {
    i.back() = k;
    if (a.transpose_a) std::swap(i[i.size() - 1], i[i.size() - 2]);
    return i;
  };
  auto b_at = [&](const Exprs& i, const Expr& k) { return a.transpose_b ? Exprs{i.back(), k} : Exprs{k, i.back()}; };
  return nn::contraction("matmul", out, in[0], in[1], in[1]->shape[a.transpose_b ? 1 : 0], a_at, b_at);
}

// For out = A B: dA = dy B', dB = A' dy; transposed for transposed operands.
ir::Exprs gradient(const MatmulAttrs& m, const Adjoint& of) {
  const ir::Expr &a = of.inputs[0], &b = of.inputs[1], dy = grad::converted_as(of.gradient, of.output, a);
  const int64_t rank = grad::rank(a);
  auto matrix = [&](ir::Expr t, const Dim& columns) {
    return rank == 2 ? t : grad::call("reshape", {std::move(t)}, {{"newshape", Dims{dim(-1), columns}}});
  };
  const ir::Expr da = grad::call("nn.matmul", {dy, b}, {{"transpose_b", !m.transpose_b}});
  const Dims& shape = grad::tensor(b).shape;
  const ir::Expr rows = matrix(m.transpose_a ? grad::transposed(a, rank) : a, shape[m.transpose_b ? 1 : 0]),
                 dy_rows = matrix(dy, shape[m.transpose_b ? 0 : 1]);
  const ir::Expr db = m.transpose_b ? grad::call("nn.matmul", {dy_rows, rows}, {{"transpose_a", true}})
                                    : grad::call("nn.matmul", {rows, dy_rows}, {{"transpose_a", true}});
  return {m.transpose_a ? grad::transposed(da, rank) : da, db};
}

}  // namespace
}  // namespace matmul_cpp

OpDef nn_matmul() {
  using namespace matmul_cpp;
  return define<MatmulAttrs>(
      {.name = "nn.matmul",
       .doc = "The product of one or several matrices with a matrix.",
       .inputs = {{"tensor_a", "(.., M, K), or (.., K, M) when transpose_a"},
                  {"tensor_b", "(K, N), or (N, K) when transpose_b"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete = complete,
       .compute = compute,
       .gradient = gradient,
       .oracle = "(tensor_a.mT if transpose_a else tensor_a) @ (tensor_b.T if transpose_b else tensor_b)",
       .examples = {{.inputs = {"(3, 5)", "(5, 7)"}, .symbolic = {"(m, k)", "(k, n)"}},
                    {.inputs = {"(5, 3)", "(7, 5)"},
                     .attrs = "units=7, transpose_a=True, transpose_b=True",
                     .symbolic = {"(k, m)", "(7, k)"}},
                    {.inputs = {"(2, 3, 5)", "(5, 7)"}, .symbolic = {"(b, m, 5)", "(5, 7)"}},
                    {.inputs = {"(2, 5, 3)", "(7, 5)"}, .attrs = "transpose_a=True, transpose_b=True"},
                    {.inputs = {"(128, 768)", "(768, 768)"}, .bench = true},
                    {.inputs = {"(1, 768)", "(768, 2304)"}, .bench = true},
                    {.inputs = {"(300, 200)", "(150, 300)"},
                     .attrs = "transpose_a=True, transpose_b=True",
                     .bench = true}},
       .rejects = {{{"(3,)", "(3, 4)"}, "transpose_a=True", "C1"},
                   {{"(2, 3)", "(3, 4) int32"}, "", "C2"},
                   {{"(2, 3)", "(4, 3)"}, "", "C3"},
                   {{"(2, 3)", "(3, 4)"}, "units=3", "C4"}}},
      "MatmulAttrs");
}

}  // namespace relay::ops
