// nn.conv2d_transpose: the gradient of a convolution with respect to its data. Every element of data adds weight times
// itself to a window of the result:
//
//   out[n, o, y * sy + i * dy - top, x * sx + j * dx - left] += data[n, c, y, x] * weight[c, o, i, j]
//
// Computed as a convolution: data with sy - 1 zeros between its rows (and columns) and zeros around them, in a stage of
// its own, under the weight turned by half a circle.
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct Conv2DTransposeAttrs {
  OptInt channels;
  OptInts kernel_size;
  Ints strides{1, 1};
  Ints output_padding{0, 0};
  Ints padding{0, 0};
  Ints dilation{1, 1};
  int64_t groups = 1;
  std::string data_layout = "NCHW";
  std::string kernel_layout = "IOHW";
  std::string out_layout;
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      field("channels", &Conv2DTransposeAttrs::channels, "Number of output channels; None: from the weight."),
      field("kernel_size", &Conv2DTransposeAttrs::kernel_size, "Extents [H, W] of the window; None: from the weight."),
      field("strides", &Conv2DTransposeAttrs::strides, "Step of the window in the result along H and W."),
      field("output_padding", &Conv2DTransposeAttrs::output_padding,
            "Rows and columns added at the bottom and right of the result."),
      field("padding", &Conv2DTransposeAttrs::padding,
            "Cut off the result: one value, [H, W], or [top, left, bottom, right]."),
      field("dilation", &Conv2DTransposeAttrs::dilation, "Distance between two taps of the window along H and W."),
      field("groups", &Conv2DTransposeAttrs::groups, "Number of independent groups that the channels fall into."),
      field("data_layout", &Conv2DTransposeAttrs::data_layout, "Order of the data's axes."),
      field("kernel_layout", &Conv2DTransposeAttrs::kernel_layout,
            "Order of the weight's axes; I is the data's channels."),
      field("out_layout", &Conv2DTransposeAttrs::out_layout, "Order of the result's axes; empty: data_layout."),
      field("out_dtype", &Conv2DTransposeAttrs::out_dtype,
            "Element type of the sum and the result; None: of the data.")};
};

// Which axis is which; [0] is along H, [1] along W.
struct Axes {
  size_t n, c, s[2], o, i, k[2], out_n, out_c, out_s[2];
  explicit Axes(const Conv2DTransposeAttrs& a) {
    const std::string& data = a.data_layout;
    const std::string& weight = a.kernel_layout;
    const std::string& out = a.out_layout.empty() ? data : a.out_layout;
    n = data.find('N'), c = data.find('C'), s[0] = data.find('H'), s[1] = data.find('W');
    o = weight.find('O'), i = weight.find('I'), k[0] = weight.find('H'), k[1] = weight.find('W');
    out_n = out.find('N'), out_c = out.find('C'), out_s[0] = out.find('H'), out_s[1] = out.find('W');
  }
};

Result<Type> infer(const Conv2DTransposeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) Layouts are orders of NCHW and IOHW.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "data_layout", a.data_layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "kernel_layout", a.kernel_layout, "IOHW"));
  if (!a.out_layout.empty()) RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, "NCHW"));
  // (C2) Data and weight have four axes.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", weight, 4, "weight"));
  // (C3) Strides, dilation and groups are positive, padding is not negative; output padding is less than stride or
  // dilation.
  RELAY_ASSIGN(Ints strides, per_axis("C3", "strides", a.strides, 2));
  RELAY_ASSIGN(Ints dilation, per_axis("C3", "dilation", a.dilation, 2));
  RELAY_ASSIGN(Ints padding, padding_sides("C3", a.padding, 2));
  if (a.groups < 1) return constraint("C3", "groups must be positive, but is {}", a.groups);
  Ints extra = per_axis(a.output_padding, 2);
  if (extra.size() != 2) return constraint("C3", "output_padding must have 1 or 2 values, but is {}", text(extra));
  for (size_t d = 0; d < 2; ++d)
    if (extra[d] < 0 || extra[d] >= std::max(strides[d], dilation[d]))
      return constraint("C3", "output_padding {} must be less than strides {} or dilation {}", text(extra),
                        text(strides), text(dilation));
  // (C4) One element type, unless out_dtype is given.
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C4", data, "data", weight, "weight"));
  Axes at(a);
  // (C5) The weight has the data's channels, which the groups divide.
  if (!agree(data->shape[at.c], weight->shape[at.i]))
    return constraint("C5", "data has {} channels, but weight has {} input channels", scalar::str(data->shape[at.c]),
                      scalar::str(weight->shape[at.i]));
  if (scalar::is_int(weight->shape[at.i]) && weight->shape[at.i]->ivalue % a.groups != 0)
    return constraint("C5", "data has {} channels, which {} groups do not divide", scalar::str(data->shape[at.c]),
                      a.groups);
  // (C6) channels and kernel_size, where given, are those of the weight.
  Dim channels = scalar::simplify(weight->shape[at.o] * a.groups);
  if (a.channels && !agree(dim(*a.channels), channels))
    return constraint("C6", "channels is {}, but weight has {} output channels", *a.channels, scalar::str(channels));
  if (a.kernel_size) {
    RELAY_ASSIGN(Ints k, per_axis("C6", "kernel_size", *a.kernel_size, 2));
    if (!agree(Dims{dim(k[0]), dim(k[1])}, {weight->shape[at.k[0]], weight->shape[at.k[1]]}))
      return constraint("C6", "kernel_size is {}, but weight is {}", text(k), text(weight->shape));
  }
  Dims out(4);
  out[at.out_n] = data->shape[at.n];
  out[at.out_c] = channels;
  for (size_t d = 0; d < 2; ++d) {
    Dim span = (data->shape[at.s[d]] - 1) * strides[d] + (weight->shape[at.k[d]] - 1) * dilation[d];
    out[at.out_s[d]] = scalar::simplify(span + (1 + extra[d] - padding[d] - padding[d + 2]));
    // (C7) Something is left after cutting the padding off.
    if (scalar::prove(le(out[at.out_s[d]], dim(0))) == true)
      return constraint("C7", "padding {} cuts off the whole result", text(a.padding));
  }
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute(const Conv2DTransposeAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &weight = in[1];
  Axes at(a);
  Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2);
  DType sum_dtype = accumulator(dtype_of(out));

  // Row y of the spread data is row (y - before) / stride of data, where that is one.
  Exprs spread_shape = data->shape, before(2);
  for (size_t d = 0; d < 2; ++d) {
    Expr reach = scalar::simplify((weight->shape[at.k[d]] - 1) * dilation[d]);
    before[d] = reach - pad[d];
    spread_shape[at.s[d]] = scalar::simplify(shape_of(out)[at.out_s[d]] + reach);
  }
  te::Tensor spread = te::compute("spread", spread_shape, [&](const Exprs& axes) {
    Exprs i = axes;
    Expr inside = imm(1, DType::boolean());
    for (size_t d = 0; d < 2; ++d) {
      Expr y = axes[at.s[d]] - before[d];
      i[at.s[d]] = floordiv(y, strides[d]);
      inside = logical_and(inside, logical_and(le(dim(0), y), lt(i[at.s[d]], data->shape[at.s[d]])));
      if (strides[d] > 1) inside = logical_and(inside, eq(floormod(y, strides[d]), dim(0)));
    }
    return select(inside, (*data)(i), imm(0, data->dtype));
  });

  Dim group_in = scalar::simplify(floordiv(weight->shape[at.i], a.groups)), group_out = weight->shape[at.o];
  bool one_channel = scalar::is_int(group_in, 1);
  Exprs reduce = {weight->shape[at.k[0]], weight->shape[at.k[1]]};
  if (!one_channel) reduce.insert(reduce.begin(), group_in);
  te::Tensor sum =
      te::reduce("conv2d_transpose", shape_of(out), reduce, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        const Expr& o = i[at.out_c];
        Exprs s(4), w(4);
        Expr c = a.groups == 1 ? dim(0) : floordiv(o, group_out) * group_in;
        if (!one_channel) c = c + r[0];
        s[at.n] = i[at.out_n], s[at.c] = c;
        w[at.i] = c, w[at.o] = a.groups == 1 ? o : floormod(o, group_out);
        for (size_t d = 0; d < 2; ++d) {
          const Expr& tap = r[r.size() - 2 + d];
          s[at.s[d]] = i[at.out_s[d]] + tap * dilation[d];
          w[at.k[d]] = weight->shape[at.k[d]] - 1 - tap;
        }
        return cast(sum_dtype, (*spread)(s)) * cast(sum_dtype, (*weight)(w));
      });
  return {converted(sum, dtype_of(out))};
}

// torch cuts both sides alike, so nothing is cut there.
const char* const oracle = R"(
    order((lambda full, left, right, top, bottom: full[:, :, top:full.shape[2] - bottom, left:full.shape[3] - right])(
              F.pad(F.conv_transpose2d(order(data, data_layout, 'NCHW'), order(weight, kernel_layout, 'IOHW'),
                                       stride=pair(strides), dilation=pair(dilation), groups=groups),
                    [0, pair(output_padding)[1], 0, pair(output_padding)[0]]),
              *sides(padding)),
          'NCHW', out_layout or data_layout))";

}  // namespace

OpDef nn_conv2d_transpose() {
  return define<Conv2DTransposeAttrs>(
      {.name = "nn.conv2d_transpose",
       .doc = "Two-dimensional transposed convolution of data with weight.",
       .inputs = {{"data", "(N, C, H, W), in the order of data_layout"},
                  {"weight", "(C, O / groups, KH, KW), in the order of kernel_layout"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete =
           [](const Conv2DTransposeAttrs& a, Types in) {
             return with_weight(std::move(in), a.data_layout, a.kernel_layout, a.channels, a.kernel_size, a.groups,
                                true);
           },
       .compute = compute,
       .oracle = oracle,
       .examples = {{.inputs = {"(1, 3, 5, 6)", "(3, 4, 3, 3)"}, .symbolic = {"(n, 3, h, w)", "(3, 4, 3, 3)"}},
                    {.inputs = {"(1, 3, 5, 6)", "(3, 4, 4, 4)"},
                     .attrs = "strides=[2, 2], padding=[1, 1]",
                     .symbolic = {"(n, 3, h, w)", "(3, 4, 4, 4)"}},
                    {.inputs = {"(1, 2, 4, 5)", "(2, 3, 3, 2)"},
                     .attrs = "strides=[3, 2], padding=[1, 0, 2, 1], output_padding=[2, 1], dilation=[2, 1]"},
                    {.inputs = {"(1, 4, 4, 4)", "(4, 3, 3, 3)"}, .attrs = "groups=2, strides=[2, 2]"},
                    {.inputs = {"(1, 4, 5, 5)", "(4, 1, 3, 3)"}, .attrs = "groups=4, padding=[2, 2]"},
                    {.inputs = {"(1, 4, 5, 3)", "(3, 3, 3, 4)"},
                     .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", strides=[2, 2]"},
                    {.inputs = {"(1, 256, 16, 16)", "(256, 128, 4, 4)"},
                     .attrs = "strides=[2, 2], padding=[1, 1]",
                     .bench = true},
                    {.inputs = {"(1, 64, 64, 64)", "(64, 32, 2, 2)"}, .attrs = "strides=[2, 2]", .bench = true},
                    {.inputs = {"(1, 100, 1, 1)", "(100, 512, 4, 4)"}, .bench = true},
                    {.inputs = {"(1, 64, 28, 28)", "(64, 64, 3, 3)"},
                     .attrs = "strides=[2, 2], padding=[1, 1], output_padding=[1, 1]",
                     .bench = true}},
       .rejects = {{{"(1, 3, 8, 8)", "(3, 4, 3, 3)"}, "data_layout=\"NCDHW\"", "C1"},
                   {{"(1, 3, 8)", "(3, 4, 3, 3)"}, "", "C2"},
                   {{"(1, 3, 8, 8)", "(3, 4, 3, 3)"}, "output_padding=[1, 0]", "C3"},
                   {{"(1, 3, 8, 8)", "(3, 4, 3, 3) float64"}, "", "C4"},
                   {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "", "C5"},
                   {{"(1, 3, 8, 8)", "(3, 4, 3, 3)"}, "groups=2", "C5"},
                   {{"(1, 3, 8, 8)", "(3, 4, 3, 3)"}, "channels=3", "C6"},
                   {{"(1, 3, 2, 2)", "(3, 4, 3, 3)"}, "padding=[3]", "C7"}}},
      "Conv2DTransposeAttrs");
}

}  // namespace relay::ops
