// Products on blocked arrays:
//
// nn.contrib_dense_pack:             out[.., o] = sum(k) data[.., k] * weight[o / b, k, o % b]
// nn.contrib_conv2d_NCHWc:           nn.conv2d of data (N, C / c, H, W, c) with weight (O / o, C / c, KH, KW, c, o)
// nn.contrib_depthwise_conv2d_NCHWc: nn.conv2d with as many groups as channels; the weight is (C / c, 1, KH, KW, 1, c)
//
// The attributes must name these layouts; the block sizes are those of the arrays.
#include "relay/op/nn/conv/conv.h"
#include "relay/op/nn/dense/contraction.h"

namespace relay::ops {
namespace packed_cpp {
namespace {

struct DenseAttrs {
  OptInt units;
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      field("units", &DenseAttrs::units, "Number of output features; None: that of the weight."),
      field("out_dtype", &DenseAttrs::out_dtype, "Element type of the sum and the result; None: that of data.")};
};

using ConvAttrs = nn::ConvOf<2>;

Result<Type> infer_dense(const DenseAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) Data has an axis, the weight three; they are of one type, unless out_dtype is set.
  if (data->shape.empty()) return constraint("C1", "data must have at least one axis");
  RELAY_RETURN_IF_ERROR(expect_rank("C1", weight, 3, "weight"));
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", data, "data", weight, "weight"));
  // (C2) The summed axes have the same size; units, if set, is that of the weight.
  Dims out = data->shape;
  if (!agree(out.back(), weight->shape[1]))
    return constraint("C2", "data has {} features, but weight expects {}", scalar::str(out.back()),
                      scalar::str(weight->shape[1]));
  out.back() = scalar::simplify(weight->shape[0] * weight->shape[2]);
  if (a.units && !agree(dim(*a.units), out.back()))
    return constraint("C2", "units is {}, but weight has {}", *a.units, scalar::str(out.back()));
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute_dense(const DenseAttrs&, const te::Tensors& in, const Type& out) {
  const Expr& block = in[1]->shape[2];
  auto data_at = [](Exprs i, const Expr& k) { return i.back() = k, i; };
  auto weight_at = [&](const Exprs& i, const Expr& k) {
    return Exprs{floordiv(i.back(), block), k, floormod(i.back(), block)};
  };
  return nn::contraction("dense", out, in[0], in[1], in[1]->shape[1], data_at, weight_at);
}

Result<Type> infer_conv(const ConvAttrs& a, const Types& in, bool depthwise) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) Data has five axes, the weight six; they are of one type, unless out_dtype is set.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, 5, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", weight, 6, "weight"));
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", data, "data", weight, "weight"));
  // (C2) Strides and dilation are positive, padding is not negative.
  RELAY_ASSIGN(Ints strides, per_axis("C2", "strides", a.strides, 2));
  RELAY_ASSIGN(Ints dilation, per_axis("C2", "dilation", a.dilation, 2));
  RELAY_ASSIGN(Ints padding, padding_sides("C2", a.padding, 2));
  // (C3) The channels and their blocks are those of the weight; blocks of groups are not supported.
  const bool fits = depthwise ? agree(Dims{data->shape[1], dim(1), dim(1), data->shape[4]},
                                      Dims{weight->shape[0], weight->shape[1], weight->shape[4], weight->shape[5]})
                              : agree(Dims{data->shape[1], data->shape[4]}, Dims{weight->shape[1], weight->shape[4]});
  if (!fits || (!depthwise && a.groups != 1))
    return constraint("C3", "data {} and weight {} do not have the same blocks of channels, or groups is {}",
                      text(data->shape), text(weight->shape), a.groups);
  Dims out = {data->shape[0], weight->shape[0], {}, {}, weight->shape[5]};
  for (size_t d = 0; d < 2; ++d) {
    out[2 + d] =
        window_extent(data->shape[2 + d], weight->shape[2 + d], strides[d], padding[d], padding[2 + d], dilation[d]);
    // (C4) The window fits into the padded data.
    if (!at_least(out[2 + d], dim(1)))
      return constraint("C4", "the window of weight {} is larger than the padded data {}", text(weight->shape),
                        text(data->shape));
  }
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute_conv(const ConvAttrs& a, const te::Tensors& in, const Type& out, bool depthwise) {
  const te::Tensor& weight = in[1];
  const Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2);
  te::Tensor data = padded(in[0], {0, 0, pad[0], pad[1], 0}, {0, 0, pad[2], pad[3], 0}, imm(0, in[0]->dtype));
  const DType wide = accumulator(dtype_of(out));
  Exprs reduce;
  if (!depthwise) reduce = {weight->shape[1], weight->shape[4]};
  reduce.push_back(weight->shape[2]), reduce.push_back(weight->shape[3]);
  te::Tensor sum = te::reduce("conv2d", shape_of(out), reduce, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    const Expr &ky = r[r.size() - 2], &kx = r[r.size() - 1];
    Expr y = i[2] * strides[0] + ky * dilation[0], x = i[3] * strides[1] + kx * dilation[1];
    Expr value = depthwise ? (*data)({i[0], i[1], y, x, i[4]}) : (*data)({i[0], r[0], y, x, r[1]});
    Expr factor =
        depthwise ? (*weight)({i[1], dim(0), ky, kx, dim(0), i[4]}) : (*weight)({i[1], r[0], ky, kx, r[1], i[4]});
    return cast(wide, value) * cast(wide, factor);
  });
  return {converted(sum, dtype_of(out))};
}

// (O / b, .., b) as (O, ..): moves the last axis, a block, after axis `to`, and merges both.
ir::Expr without_blocks(const ir::Expr& e, int64_t rank, int64_t to) {
  Ints axes, merged;
  for (int64_t d = 0; d < rank - 1; ++d) {
    axes.push_back(d);
    if (d == to) axes.push_back(rank - 1);
    merged.push_back(d == to ? -3 : 0);
  }
  return grad::call("reshape", {grad::call("transpose", {e}, {{"axes", axes}})}, {{"newshape", merged}});
}

ir::Expr definition_of_dense(const DenseAttrs& a, const ir::Exprs& in) {
  const ir::Expr transposed = grad::call("transpose", {in[1]}, {{"axes", Ints{0, 2, 1}}});
  op::AttrValues attrs;
  if (a.out_dtype) attrs.push_back({"out_dtype", *a.out_dtype});
  return grad::call("nn.dense", {in[0], grad::call("reshape", {transposed}, {{"newshape", Ints{-3, 0}}})}, attrs);
}

// The sum over the taps of each tap's contribution to all channels.
ir::Expr depthwise_by_taps(const ConvAttrs& a, const ir::Exprs& in) {
  const Dims& weight = grad::tensor(in[1]).shape;
  if (!scalar::is_int(weight[2]) || !scalar::is_int(weight[3])) return nullptr;
  const Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2);
  ir::Expr sum;
  for (int64_t y = 0; y < weight[2]->ivalue; ++y)
    for (int64_t x = 0; x < weight[3]->ivalue; ++x) {
      IntLists around = {{0, 0}, {0, 0}, {}, {}, {0, 0}};  // the part that the tap reads
      for (size_t d = 0; d < 2; ++d) {
        const int64_t before = (d ? x : y) * dilation[d], all = (weight[2 + d]->ivalue - 1) * dilation[d];
        around[2 + d] = {pad[d] - before, pad[2 + d] - (all - before)};
      }
      ir::Expr read = grad::call("nn.pad", {in[0], grad::number(0, in[0])}, {{"pad_width", around}});
      for (size_t d = 0; d < 2; ++d)
        if (strides[d] > 1)
          read = grad::call("strided_slice", {read},
                            {{"begin", Ints{0}},
                             {"end", Ints{INT32_MAX}},
                             {"strides", Ints{strides[d]}},
                             {"axes", Ints{static_cast<int64_t>(2 + d)}}});
      const ir::Expr own = grad::call("strided_slice", {in[1]},
                                      {{"begin", Ints{y, x}}, {"end", Ints{y + 1, x + 1}}, {"axes", Ints{2, 3}}});
      const ir::Expr term = grad::times(read, grad::call("squeeze", {own}, {{"axis", Ints{1, 4}}}));
      sum = sum ? grad::plus(sum, term) : term;
    }
  return a.out_dtype ? grad::call("cast", {sum}, {{"dtype", *a.out_dtype}}) : sum;
}

// nn.conv2d without blocks; for a depthwise one with an unknown number of channels, by taps.
ir::Expr definition_of_conv(const ConvAttrs& a, const ir::Exprs& in, bool depthwise) {
  const Dims &data = grad::tensor(in[0]).shape, &weight = grad::tensor(in[1]).shape;
  if (depthwise && !(scalar::is_int(data[1]) && scalar::is_int(data[4]))) return depthwise_by_taps(a, in);
  if (scalar::is_any(weight[0]) && scalar::is_any(weight[5])) return nullptr;
  const ir::Expr outs = without_blocks(in[1], 6, 0);  // (O, C / c, KH, KW, c)
  const int64_t groups = depthwise ? data[1]->ivalue * data[4]->ivalue : 1;
  op::AttrValues attrs = {{"strides", a.strides}, {"padding", a.padding}, {"dilation", a.dilation}, {"groups", groups}};
  if (a.out_dtype) attrs.push_back({"out_dtype", *a.out_dtype});
  const ir::Expr out = grad::call("nn.conv2d", {without_blocks(in[0], 5, 1), without_blocks(outs, 5, 1)}, attrs);
  auto known = [](const Dim& d) { return scalar::is_any(d) ? dim(-1) : d; };
  const Dims split = {dim(0), dim(-4), known(weight[0]), known(weight[5]), dim(0), dim(0)};
  const ir::Expr blocks = grad::call("reshape", {out}, {{"newshape", split}});
  return grad::call("transpose", {blocks}, {{"axes", Ints{0, 1, 3, 4, 2}}});
}

OpDef blocked_conv(const char* name, const char* doc, bool depthwise, const char* weight_doc, const char* oracle,
                   std::vector<Example> examples, const char* wrong_weight) {
  return define<ConvAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"data", "(N, C / c, H, W, c)"}, {"weight", weight_doc}},
       .fusion = Fusion::OutputFusable,
       .infer = [=](const ConvAttrs& a, const Types& in) { return infer_conv(a, in, depthwise); },
       .compute = [=](const ConvAttrs& a, const te::Tensors& in,
                      const Type& out) { return compute_conv(a, in, out, depthwise); },
       .definition = [=](const ConvAttrs& a, const ir::Exprs& in) { return definition_of_conv(a, in, depthwise); },
       .oracle = oracle,
       .examples = std::move(examples),
       .rejects = {{{"(1, 8, 5, 6)", wrong_weight}, "", "C1"},
                   {{"(1, 2, 5, 6, 4)", wrong_weight}, "strides=[0, 1]", "C2"},
                   {{"(1, 2, 5, 6, 4)", wrong_weight}, "", "C3"},
                   {{"(1, 3, 2, 2, 4)", wrong_weight}, "", "C4"}}},
      "Conv2DAttrs");
}

}  // namespace
}  // namespace packed_cpp

OpDef nn_contrib_dense_pack() {
  using namespace packed_cpp;
  return define<DenseAttrs>({.name = "nn.contrib_dense_pack",
                             .doc = "nn.dense whose weight has its units in blocks.",
                             .inputs = {{"data", "(.., features)"}, {"weight", "(units / b, features, b)"}},
                             .fusion = Fusion::OutputFusable,
                             .infer = infer_dense,
                             .compute = compute_dense,
                             .definition = definition_of_dense,
                             .oracle = "data @ layout_transform(weight, f'NK{weight.shape[2]}n', 'NK').T",
                             .examples = {{.inputs = {"(3, 5)", "(2, 5, 4)"}, .symbolic = {"(n, k)", "(2, k, 4)"}}},
                             .rejects = {{{"(3, 5)", "(8, 5)"}, "", "C1"},
                                         {{"(3, 5)", "(2, 5, 4) float64"}, "", "C1"},
                                         {{"(3, 5)", "(2, 6, 4)"}, "", "C2"},
                                         {{"(3, 5)", "(2, 5, 4)"}, "units=4", "C2"}}},
                            "DenseAttrs");
}

OpDef nn_contrib_conv2d_NCHWc() {
  using namespace packed_cpp;
  return blocked_conv("nn.contrib_conv2d_NCHWc", "Two-dimensional convolution with channels in blocks.", false,
                      "(O / o, C / c, KH, KW, c, o)", "blocked_conv2d(data, weight, strides, padding, dilation, 1)",
                      {{.inputs = {"(1, 2, 5, 6, 4)", "(3, 2, 3, 3, 4, 8)"},
                        .attrs = "padding=[1, 1]",
                        .symbolic = {"(n, 2, h, w, 4)", "(3, 2, 3, 3, 4, 8)"}},
                       {.inputs = {"(2, 1, 5, 6, 3)", "(2, 1, 1, 2, 3, 4)"}, .attrs = "strides=[2, 1]"}},
                      "(3, 3, 3, 3, 4, 8)");
}

OpDef nn_contrib_depthwise_conv2d_NCHWc() {
  using namespace packed_cpp;
  return blocked_conv("nn.contrib_depthwise_conv2d_NCHWc",
                      "Two-dimensional depthwise convolution with channels in blocks.", true,
                      "(C / c, 1, KH, KW, 1, c)",
                      "blocked_conv2d(data, weight, strides, padding, dilation, data.shape[1] * data.shape[4])",
                      {{.inputs = {"(1, 2, 5, 6, 4)", "(2, 1, 3, 3, 1, 4)"},
                        .attrs = "padding=[1, 1], groups=8",
                        .symbolic = {"(n, 2, h, w, 4)", "(2, 1, 3, 3, 1, 4)"}},
                       {.inputs = {"(1, 3, 5, 7, 2)", "(3, 1, 2, 4, 1, 2)"},
                        .attrs = "strides=[2, 1], groups=6",
                        .symbolic = {"(n, o, h, w, c)", "(o, 1, 2, 4, 1, c)"}}},
                      "(3, 1, 3, 3, 1, 4)");
}

}  // namespace relay::ops
