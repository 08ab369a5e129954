// nn.dense: out[.., o] = sum(k) data[.., k] * weight[o, k]
#include "relay/op/gradient.h"
#include "relay/op/nn/dense/contraction.h"

namespace relay::ops {
namespace dense_cpp {
namespace {

struct DenseAttrs {
  OptInt units;
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      field("units", &DenseAttrs::units, "Number of output features; None: that of the weight."),
      field("out_dtype", &DenseAttrs::out_dtype, "Element type of the sum and the result; None: that of the data.")};
};

Result<Type> infer(const DenseAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) Data has an axis, the weight two.
  if (data->shape.empty()) return constraint("C1", "data must have at least one axis");
  RELAY_RETURN_IF_ERROR(expect_rank("C1", weight, 2, "weight"));
  // (C2) One element type, unless out_dtype is set.
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", weight, "weight"));
  // (C3) The last axes have the same size.
  if (!agree(data->shape.back(), weight->shape[1])) {
    Diagnostic d = constraint("C3", "data has {} features, but weight expects {}", scalar::str(data->shape.back()),
                              scalar::str(weight->shape[1]));
    if (agree(data->shape.back(), weight->shape[0]))
      d.help = "the weight is (units, features): transpose it, or use nn.matmul";
    return d;
  }
  // (C4) units, if set, is that of the weight.
  if (a.units && !agree(dim(*a.units), weight->shape[0]))
    return constraint("C4", "units is {}, but weight has {} rows", *a.units, scalar::str(weight->shape[0]));
  Dims out = data->shape;
  out.back() = weight->shape[0];
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

Types complete(const DenseAttrs& a, Types in) {
  const TensorType* data = as<TensorType>(in[0]);
  if (!in[1] && data && a.units && !data->shape.empty())
    in[1] = ir::tensor_type({dim(*a.units), data->shape.back()}, data->dtype);
  return in;
}

te::Tensors compute(const DenseAttrs&, const te::Tensors& in, const Type& out) {
  auto data_at = [](Exprs i, const Expr& k) { return i.back() = k, i; };
  auto weight_at = [](const Exprs& i, const Expr& k) { return Exprs{i.back(), k}; };
  return nn::contraction("dense", out, in[0], in[1], in[1]->shape[1], data_at, weight_at);
}

// dy times the weight, and the transposed dy times data, both as matrices.
ir::Exprs gradient(const DenseAttrs&, const Adjoint& of) {
  const ir::Expr &x = of.inputs[0], &w = of.inputs[1], dy = grad::converted_as(of.gradient, of.output, x);
  auto matrix = [&](const ir::Expr& t, const Dim& columns) {
    return grad::rank(x) == 2 ? t : grad::call("reshape", {t}, {{"newshape", Dims{dim(-1), columns}}});
  };
  const Dims& shape = grad::tensor(w).shape;
  return {grad::call("nn.matmul", {dy, w}),
          grad::call("nn.matmul", {matrix(dy, shape[0]), matrix(x, shape[1])}, {{"transpose_a", true}})};
}

}  // namespace
}  // namespace dense_cpp

OpDef nn_dense() {
  using namespace dense_cpp;
  return define<DenseAttrs>(
      {.name = "nn.dense",
       .doc = "A fully connected layer without bias: data times the transposed weight.",
       .inputs = {{"data", "(.., features)"}, {"weight", "(units, features)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete = complete,
       .compute = compute,
       .gradient = gradient,
       .oracle = "data @ weight.T",
       .examples = {{.inputs = {"(3, 5)", "(7, 5)"}, .symbolic = {"(n, k)", "(7, k)"}},
                    {.inputs = {"(2, 3, 8)", "(4, 8)"}, .attrs = "units=4", .symbolic = {"(n, m, 8)", "(4, 8)"}},
                    {.inputs = {"(16,)", "(4, 16)"}},
                    {.inputs = {"(4, 16) int8", "(8, 16) int8"},
                     .attrs = "out_dtype=\"int32\"",
                     .low = -128,
                     .high = 127,
                     .ulps = 0},
                    {.inputs = {"(256, 512)", "(512, 512)"}, .bench = true},
                    {.inputs = {"(1, 2048)", "(1000, 2048)"}, .bench = true},
                    {.inputs = {"(1, 4096)", "(4096, 4096)"}, .bench = true},
                    {.inputs = {"(8, 768)", "(3072, 768)"}, .bench = true},
                    {.inputs = {"(17, 300)", "(111, 300)"}, .bench = true},
                    {.inputs = {"(128, 768)", "(768, 768)"}, .bench = true},
                    {.inputs = {"(128, 768)", "(3072, 768)"}, .bench = true},
                    {.inputs = {"(197, 192)", "(576, 192)"}, .bench = true},
                    {.inputs = {"(1024, 64)", "(64, 64)"}, .bench = true},
                    {.inputs = {"(1, 2048) int8", "(1000, 2048) int8"},
                     .attrs = "out_dtype=\"int32\"",
                     .low = -128,
                     .high = 127,
                     .ulps = 0,
                     .bench = true},
                    {.inputs = {"(128, 768) int8", "(768, 768) int8"},
                     .attrs = "out_dtype=\"int32\"",
                     .low = -128,
                     .high = 127,
                     .ulps = 0,
                     .bench = true},
                    {.inputs = {"(128, 768) bfloat16", "(768, 768) bfloat16"},
                     .attrs = "out_dtype=\"float32\"",
                     .bench = true}},
       .rejects = {{{"(2, 3)", "(4, 3, 1)"}, "", "C1"},
                   {{"(2, 3)", "(4, 3) float16"}, "", "C2"},
                   {{"(2, 3)", "(3, 4)"}, "", "C3"},
                   {{"(n, k)", "(4, m)"}, "", "C3"},
                   {{"(2, 3)", "(4, 3)"}, "units=5", "C4"}}},
      "DenseAttrs");
}

}  // namespace relay::ops
