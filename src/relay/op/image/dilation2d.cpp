// image.dilation2d: grey-scale dilation, the greatest sum of data and weight under a moving window
//   out[n, c, y, x] = max(ky, kx) data[n, c, y * stride + ky * dilation - before, ..] + weight[c, ky, kx]
// Elements outside of data are ignored.
#include <limits>

#include "relay/op/nn/conv/conv.h"

namespace relay::ops {
namespace dilation2d_cpp {
namespace {

struct Dilation2DAttrs {
  Ints strides = {1, 1}, padding = {0, 0}, dilations = {1, 1};
  std::string data_layout = "NCHW", kernel_layout = "IHW";
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      field("strides", &Dilation2DAttrs::strides, "Step of the window along each axis."),
      field("padding", &Dilation2DAttrs::padding,
            "Padding around the data: one value, one per axis, or the values before all axes followed by those after "
            "all axes."),
      field("dilations", &Dilation2DAttrs::dilations, "Distance between two taps of the window along each axis."),
      field("data_layout", &Dilation2DAttrs::data_layout, "Order of the axes of data and result."),
      field("kernel_layout", &Dilation2DAttrs::kernel_layout, "Order of the weight's axes."),
      field("out_dtype", &Dilation2DAttrs::out_dtype, "Element type of the result; None: that of data.")};
};

Result<Type> infer(const Dilation2DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) The layouts are orders of NCHW and IHW.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "data_layout", a.data_layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "kernel_layout", a.kernel_layout, "IHW"));
  // (C2) Data and weight have an axis for each letter, of numbers of one type.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", weight, 3, "weight"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", weight, "weight"));
  if (data->dtype.is_bool()) return constraint("C2", "image.dilation2d needs numbers, but data is bool");
  // (C3) Strides and dilations are positive, padding is not negative.
  RELAY_ASSIGN(Ints strides, per_axis("C3", "strides", a.strides, 2));
  RELAY_ASSIGN(Ints dilations, per_axis("C3", "dilations", a.dilations, 2));
  RELAY_ASSIGN(Ints pad, padding_sides("C3", a.padding, 2));
  // (C4) The weight has the data's channels.
  const Dim &channels = data->shape[a.data_layout.find('C')], &inputs = weight->shape[a.kernel_layout.find('I')];
  if (!agree(channels, inputs))
    return constraint("C4", "data has {} channels, but weight has {}", scalar::str(channels), scalar::str(inputs));
  Dims out = data->shape;
  for (size_t d = 0; d < 2; ++d) {
    Dim& extent = out[a.data_layout.find("HW"[d])];
    extent = window_extent(extent, weight->shape[a.kernel_layout.find("HW"[d])], strides[d], pad[d], pad[2 + d],
                           dilations[d]);
    // (C5) The window fits into the padded data.
    if (!at_least(extent, dim(1)))
      return constraint("C5", "weight {} is larger than the padded data {}", text(weight->shape), text(data->shape));
  }
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute(const Dilation2DAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& weight = in[1];
  const std::string &dl = a.data_layout, &kl = a.kernel_layout;
  const Ints strides = per_axis(a.strides, 2), dilations = per_axis(a.dilations, 2), pad = padding_sides(a.padding, 2);
  const DType wide = accumulator(in[0]->dtype);
  te::Tensor found = te::reduce(
      "dilation2d", shape_of(out), {weight->shape[kl.find('H')], weight->shape[kl.find('W')]}, Combiner::Max,
      [&](const Exprs& i, const Exprs& r) {
        Exprs d = i, w(3);
        w[kl.find('I')] = i[dl.find('C')];
        Expr inside = imm(1, DType::boolean());
        for (size_t s = 0; s < 2; ++s) {
          const size_t axis = dl.find("HW"[s]);
          d[axis] = i[axis] * strides[s] + r[s] * dilations[s] - pad[s], w[kl.find("HW"[s])] = r[s];
          if (pad[s]) inside = logical_and(inside, le(dim(0), d[axis]));
          if (pad[2 + s]) inside = logical_and(inside, lt(d[axis], in[0]->shape[axis]));
        }
        return select(inside, cast(wide, (*in[0])(d)) + cast(wide, (*weight)(w)), te::identity(Combiner::Max, wide));
      });
  return {converted(found, dtype_of(out))};
}

// The maximum of as many arrays as the window has taps, each data shifted by a tap plus its weight.
ir::Expr definition(const Dilation2DAttrs& a, const ir::Exprs& in) {
  const DType dtype = grad::tensor(in[0]).dtype;
  const ir::Expr weight = nn::in_order(in[1], a.kernel_layout, "IHW");
  const Dims& extents = grad::tensor(in[1]).shape;
  const Dim &rows = extents[a.kernel_layout.find('H')], &columns = extents[a.kernel_layout.find('W')];
  if (!scalar::is_int(rows) || !scalar::is_int(columns)) return nullptr;
  const Ints strides = per_axis(a.strides, 2), dilations = per_axis(a.dilations, 2), pad = padding_sides(a.padding, 2);
  const ir::Expr never = grad::number(-std::numeric_limits<double>::infinity(), in[0]);
  const ir::Expr data = grad::call("nn.pad", {nn::in_order(in[0], a.data_layout, "NCHW"), never},
                                   {{"pad_width", IntLists{{0, 0}, {0, 0}, {pad[0], pad[2]}, {pad[1], pad[3]}}}});
  const Ints k = {rows->ivalue, columns->ivalue};
  ir::Exprs all;
  for (int64_t y = 0; y < k[0]; ++y)
    for (int64_t x = 0; x < k[1]; ++x) {
      const Ints begin = {y * dilations[0], x * dilations[1]};
      // Counts from the end, where 0 must become "to the end".
      auto end_of = [](int64_t behind) { return behind == 0 ? INT32_MAX : -behind; };
      const Ints end = {end_of((k[0] - 1 - y) * dilations[0]), end_of((k[1] - 1 - x) * dilations[1])};
      const ir::Expr moved = grad::call("strided_slice", {data},
                                        {{"begin", begin}, {"end", end}, {"strides", strides}, {"axes", Ints{2, 3}}});
      const ir::Expr own = grad::call("strided_slice", {weight},
                                      {{"begin", Ints{y, x}}, {"end", Ints{y + 1, x + 1}}, {"axes", Ints{1, 2}}});
      all.push_back(grad::plus(moved, own));
    }
  const ir::Expr most =
      grad::call("max", {grad::call("stack", {ir::tuple(all)}, {{"axis", int64_t{0}}})}, {{"axis", Ints{0}}});
  const ir::Expr out = nn::in_order(most, "NCHW", a.data_layout);
  return a.out_dtype && *a.out_dtype != dtype ? grad::call("cast", {out}, {{"dtype", *a.out_dtype}}) : out;
}

}  // namespace
}  // namespace dilation2d_cpp

OpDef image_dilation2d() {
  using namespace dilation2d_cpp;
  return define<Dilation2DAttrs>(
      {.name = "image.dilation2d",
       .doc = "The maximum of data plus weight in a moving window.",
       .inputs = {{"data", "(N, C, H, W), in the order of data_layout"}, {"weight", "(C, KH, KW)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .oracle = "order(dilation2d(order(data, data_layout, 'NCHW'), order(weight, kernel_layout, 'IHW'), strides, "
                 "padding, dilations), 'NCHW', data_layout)",
       .examples = {{.inputs = {"(2, 3, 6, 7)", "(3, 3, 2)"}, .symbolic = {"(n, 3, h, w)", "(3, 3, 2)"}},
                    {.inputs = {"(1, 7, 6, 2)", "(3, 3, 2)"},
                     .attrs = "strides=[2, 1], padding=[1, 2], dilations=[2, 1], data_layout=\"NHWC\", "
                              "kernel_layout=\"HWI\""}},
       .rejects = {{{"(1, 3, 6, 7)", "(3, 3, 3)"}, "data_layout=\"NHW\"", "C1"},
                   {{"(1, 3, 6)", "(3, 3, 3)"}, "", "C2"},
                   {{"(1, 3, 6, 7)", "(3, 3, 3)"}, "dilations=[0]", "C3"},
                   {{"(1, 2, 6, 7)", "(3, 3, 3)"}, "", "C4"},
                   {{"(1, 3, 2, 7)", "(3, 3, 3)"}, "", "C5"}}},
      "Dilation2DAttrs");
}

}  // namespace relay::ops
