// nn.conv1d:
//
//   out[n, o, x] = sum(c, j) data[n, g(o) * C/groups + c, x * stride + j * dilation - left] * weight[o, c, j]
//
// where data is 0 outside of its extents and g(o) = o // (O/groups). Layouts are orders of NCW and OIW.
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct Conv1DAttrs {
  Ints strides{1};
  Ints padding{0, 0};
  Ints dilation{1};
  int64_t groups = 1;
  OptInt channels;
  OptInts kernel_size;
  std::string data_layout = "NCW";
  std::string kernel_layout = "OIW";
  std::string out_layout;
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      field("strides", &Conv1DAttrs::strides, "Step of the window."),
      field("padding", &Conv1DAttrs::padding, "Zeros around the data: one value, or [left, right]."),
      field("dilation", &Conv1DAttrs::dilation, "Distance between two taps of the window."),
      field("groups", &Conv1DAttrs::groups, "Number of independent groups that the channels fall into."),
      field("channels", &Conv1DAttrs::channels, "Number of output channels; None: from the weight."),
      field("kernel_size", &Conv1DAttrs::kernel_size, "Extent of the window; None: from the weight."),
      field("data_layout", &Conv1DAttrs::data_layout, "Order of the data's axes."),
      field("kernel_layout", &Conv1DAttrs::kernel_layout, "Order of the weight's axes."),
      field("out_layout", &Conv1DAttrs::out_layout, "Order of the result's axes; empty: data_layout."),
      field("out_dtype", &Conv1DAttrs::out_dtype, "Element type of the sum and the result; None: of the data.")};
};

// Which axis is which.
struct Axes {
  size_t n, c, w, o, i, kw, out_n, out_c, out_w;
  explicit Axes(const Conv1DAttrs& a) {
    const std::string& out = a.out_layout.empty() ? a.data_layout : a.out_layout;
    n = a.data_layout.find('N'), c = a.data_layout.find('C'), w = a.data_layout.find('W');
    o = a.kernel_layout.find('O'), i = a.kernel_layout.find('I'), kw = a.kernel_layout.find('W');
    out_n = out.find('N'), out_c = out.find('C'), out_w = out.find('W');
  }
};

Result<Type> infer(const Conv1DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) Layouts are orders of NCW and OIW.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "data_layout", a.data_layout, "NCW"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "kernel_layout", a.kernel_layout, "OIW"));
  if (!a.out_layout.empty()) RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, "NCW"));
  // (C2) Data and weight have three axes.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 3, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", weight, 3, "weight"));
  // (C3) Stride, dilation and groups are positive, padding is not negative.
  RELAY_ASSIGN(Ints stride, per_axis("C3", "strides", a.strides, 1));
  RELAY_ASSIGN(Ints dilation, per_axis("C3", "dilation", a.dilation, 1));
  RELAY_ASSIGN(Ints padding, padding_sides("C3", a.padding, 1));
  if (a.groups < 1) return constraint("C3", "groups must be positive, but is {}", a.groups);
  // (C4) One element type, unless out_dtype is given.
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C4", data, "data", weight, "weight"));
  Axes at(a);
  // (C5) The weight has C / groups input channels.
  if (!agree(data->shape[at.c], weight->shape[at.i] * a.groups))
    return constraint("C5", "data has {} channels, but weight has {} input channels{}", scalar::str(data->shape[at.c]),
                      scalar::str(weight->shape[at.i]), a.groups == 1 ? "" : format(" in each of {} groups", a.groups));
  // (C6) The groups divide the output channels.
  const Dim& channels = weight->shape[at.o];
  if (scalar::is_int(channels) && channels->ivalue % a.groups != 0)
    return constraint("C6", "weight has {} output channels, which {} groups do not divide", channels->ivalue, a.groups);
  // (C7) channels and kernel_size, where given, are those of the weight.
  if (a.channels && !agree(dim(*a.channels), channels))
    return constraint("C7", "channels is {}, but weight has {} output channels", *a.channels, scalar::str(channels));
  if (a.kernel_size && (a.kernel_size->size() != 1 || !agree(dim(a.kernel_size->at(0)), weight->shape[at.kw])))
    return constraint("C7", "kernel_size is {}, but weight has {} taps", text(*a.kernel_size),
                      scalar::str(weight->shape[at.kw]));
  Dims out(3);
  out[at.out_n] = data->shape[at.n];
  out[at.out_c] = channels;
  out[at.out_w] =
      window_extent(data->shape[at.w], weight->shape[at.kw], stride[0], padding[0], padding[1], dilation[0]);
  // (C8) The window fits into the padded data.
  if (scalar::prove(le(out[at.out_w], dim(0))) == true)
    return constraint("C8", "the window of weight {} is larger than the padded data {}", text(weight->shape),
                      text(data->shape));
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute(const Conv1DAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& weight = in[1];
  Axes at(a);
  Ints pad = padding_sides(a.padding, 1), before(3), after(3);
  before[at.w] = pad[0], after[at.w] = pad[1];
  te::Tensor data = padded(in[0], before, after, imm(0, in[0]->dtype));
  DType sum_dtype = accumulator(dtype_of(out));
  Dim group_in = weight->shape[at.i], group_out = scalar::simplify(floordiv(shape_of(out)[at.out_c], a.groups));
  bool one_channel = scalar::is_int(group_in, 1);
  Exprs reduce = one_channel ? Exprs{weight->shape[at.kw]} : Exprs{group_in, weight->shape[at.kw]};
  te::Tensor sum = te::reduce("conv1d", shape_of(out), reduce, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    Exprs d(3), w(3);
    d[at.n] = i[at.out_n];
    d[at.c] = a.groups == 1 ? dim(0) : floordiv(i[at.out_c], group_out) * group_in;
    if (!one_channel) d[at.c] = d[at.c] + r[0];
    d[at.w] = i[at.out_w] * a.strides[0] + r.back() * a.dilation[0];
    w[at.o] = i[at.out_c], w[at.i] = one_channel ? dim(0) : r[0], w[at.kw] = r.back();
    return cast(sum_dtype, (*data)(d)) * cast(sum_dtype, (*weight)(w));
  });
  return {converted(sum, dtype_of(out))};
}

const char* const oracle = R"(
    order(F.conv1d(F.pad(order(data, data_layout, 'NCW'), sides(padding, 1)), order(weight, kernel_layout, 'OIW'),
                   stride=strides[0], dilation=dilation[0], groups=groups),
          'NCW', out_layout or data_layout))";

}  // namespace

OpDef nn_conv1d() {
  return define<Conv1DAttrs>(
      {.name = "nn.conv1d",
       .doc = "One-dimensional convolution of data with weight.",
       .inputs = {{"data", "(N, C, W), in the order of data_layout"},
                  {"weight", "(O, C / groups, KW), in the order of kernel_layout"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete =
           [](const Conv1DAttrs& a, Types in) {
             return with_weight(std::move(in), a.data_layout, a.kernel_layout, a.channels, a.kernel_size, a.groups);
           },
       .compute = compute,
       .oracle = oracle,
       .examples = {{.inputs = {"(2, 3, 12)", "(4, 3, 3)"},
                     .attrs = "padding=[1]",
                     .symbolic = {"(n, 3, w)", "(4, 3, 3)"}},
                    {.inputs = {"(1, 4, 13)", "(6, 2, 3)"},
                     .attrs = "groups=2, strides=[2], padding=[2, 1], dilation=[2]",
                     .symbolic = {"(1, 4, w)", "(6, 2, 3)"}},
                    {.inputs = {"(1, 5, 9)", "(5, 1, 4)"}, .attrs = "groups=5"},
                    {.inputs = {"(1, 9, 3)", "(3, 3, 4)"}, .attrs = "data_layout=\"NWC\", kernel_layout=\"WIO\""},
                    {.inputs = {"(1, 80, 3000)", "(384, 80, 3)"}, .attrs = "padding=[1]", .bench = true},
                    {.inputs = {"(1, 384, 3000)", "(384, 384, 3)"}, .attrs = "strides=[2], padding=[1]", .bench = true},
                    {.inputs = {"(1, 256, 501)", "(256, 1, 31)"}, .attrs = "padding=[15], groups=256", .bench = true}},
       .rejects = {{{"(1, 3, 8)", "(4, 3, 3)"}, "data_layout=\"NCH\"", "C1"},
                   {{"(1, 3, 8, 1)", "(4, 3, 3)"}, "", "C2"},
                   {{"(1, 3, 8)", "(4, 3, 3)"}, "strides=[1, 1]", "C3"},
                   {{"(1, 3, 8)", "(4, 3, 3) int8"}, "", "C4"},
                   {{"(1, 4, 8)", "(4, 3, 3)"}, "", "C5"},
                   {{"(1, 4, 8)", "(5, 2, 3)"}, "groups=2", "C6"},
                   {{"(1, 3, 8)", "(4, 3, 3)"}, "kernel_size=[4]", "C7"},
                   {{"(1, 3, 2)", "(4, 3, 3)"}, "", "C8"}}},
      "Conv1DAttrs");
}

}  // namespace relay::ops
