// nn.conv2d:
//
//   out[n, o, y, x] = sum(c, i, j) weight[o, c, i, j]
//                         * data[n, g(o) * C/groups + c, y * sy + i * dy - top, x * sx + j * dx - left]
//
// where data is 0 outside of its extents and g(o) = o // (O/groups) is the group of output channel o. The letters say
// which axis is which: any order of NCHW for the data and the result, any order of OIHW for the weight.
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct Conv2DAttrs {
  Ints strides{1, 1};
  Ints padding{0, 0};
  Ints dilation{1, 1};
  int64_t groups = 1;
  OptInt channels;
  OptInts kernel_size;
  std::string data_layout = "NCHW";
  std::string kernel_layout = "OIHW";
  std::string out_layout;
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      field("strides", &Conv2DAttrs::strides, "Step of the window along H and W."),
      field("padding", &Conv2DAttrs::padding,
            "Zeros around the data: one value, [H, W], or [top, left, bottom, right]."),
      field("dilation", &Conv2DAttrs::dilation, "Distance between two taps of the window along H and W."),
      field("groups", &Conv2DAttrs::groups, "Number of independent groups that the channels fall into."),
      field("channels", &Conv2DAttrs::channels, "Number of output channels; None: from the weight."),
      field("kernel_size", &Conv2DAttrs::kernel_size, "Extents [H, W] of the window; None: from the weight."),
      field("data_layout", &Conv2DAttrs::data_layout, "Order of the data's axes."),
      field("kernel_layout", &Conv2DAttrs::kernel_layout, "Order of the weight's axes."),
      field("out_layout", &Conv2DAttrs::out_layout, "Order of the result's axes; empty: data_layout."),
      field("out_dtype", &Conv2DAttrs::out_dtype, "Element type of the sum and the result; None: of the data.")};
};

// Which axis is which.
struct Axes {
  size_t n, c, h, w;                  // of the data
  size_t o, i, kh, kw;                // of the weight
  size_t out_n, out_c, out_h, out_w;  // of the result
  explicit Axes(const Conv2DAttrs& a) {
    const std::string& data = a.data_layout;
    const std::string& weight = a.kernel_layout;
    const std::string& out = a.out_layout.empty() ? data : a.out_layout;
    n = data.find('N'), c = data.find('C'), h = data.find('H'), w = data.find('W');
    o = weight.find('O'), i = weight.find('I'), kh = weight.find('H'), kw = weight.find('W');
    out_n = out.find('N'), out_c = out.find('C'), out_h = out.find('H'), out_w = out.find('W');
  }
};

Result<Type> infer(const Conv2DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) Layouts are orders of NCHW and OIHW.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "data_layout", a.data_layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "kernel_layout", a.kernel_layout, "OIHW"));
  if (!a.out_layout.empty()) RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, "NCHW"));
  // (C2) Data and weight have four axes.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", weight, 4, "weight"));
  // (C3) Strides, dilation and groups are positive, padding is not negative; one value each or one for all.
  RELAY_ASSIGN(Ints strides, per_axis("C3", "strides", a.strides, 2));
  RELAY_ASSIGN(Ints dilation, per_axis("C3", "dilation", a.dilation, 2));
  RELAY_ASSIGN(Ints padding, padding_sides("C3", a.padding, 2));
  if (a.groups < 1) return constraint("C3", "groups must be positive, but is {}", a.groups);
  // (C4) Data and weight have one element type, unless out_dtype is given.
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C4", data, "data", weight, "weight"));

  Axes at(a);
  Dim channels = data->shape[at.c], out_channels = weight->shape[at.o], group_channels = weight->shape[at.i];
  // (C5) The weight has C / groups input channels. In a depthwise convolution (groups == C) it may also be written as C
  // output channels times a multiplier: (C, M) instead of (C * M, 1).
  if (scalar::is_int(channels) && channels->ivalue % a.groups != 0)
    return constraint("C5", "data has {} channels, which {} groups do not divide", channels->ivalue, a.groups);
  if (a.groups > 1 && scalar::is_int(channels, a.groups) && scalar::is_int(out_channels, a.groups)) {
    out_channels = scalar::simplify(out_channels * group_channels);
  } else if (!agree(channels, group_channels * a.groups)) {
    Diagnostic d =
        constraint("C5", "data has {} channels, but weight has {} input channels{}", scalar::str(channels),
                   scalar::str(group_channels), a.groups == 1 ? "" : format(" in each of {} groups", a.groups));
    d.help = format("check data_layout=\"{}\" and kernel_layout=\"{}\"", a.data_layout, a.kernel_layout);
    return d;
  }
  // (C6) The groups divide the output channels.
  if (scalar::is_int(out_channels) && out_channels->ivalue % a.groups != 0)
    return constraint("C6", "weight has {} output channels, which {} groups do not divide", out_channels->ivalue,
                      a.groups);
  // (C7) channels and kernel_size, where given, are those of the weight.
  if (a.channels && !agree(dim(*a.channels), out_channels))
    return constraint("C7", "channels is {}, but weight has {} output channels", *a.channels,
                      scalar::str(out_channels));
  if (a.kernel_size) {
    RELAY_ASSIGN(Ints k, per_axis("C7", "kernel_size", *a.kernel_size, 2));
    if (!agree(Dims{dim(k[0]), dim(k[1])}, {weight->shape[at.kh], weight->shape[at.kw]}))
      return constraint("C7", "kernel_size is {}, but weight is {} x {}", text(k), scalar::str(weight->shape[at.kh]),
                        scalar::str(weight->shape[at.kw]));
  }
  Dims out(4);
  out[at.out_n] = data->shape[at.n];
  out[at.out_c] = out_channels;
  out[at.out_h] =
      window_extent(data->shape[at.h], weight->shape[at.kh], strides[0], padding[0], padding[2], dilation[0]);
  out[at.out_w] =
      window_extent(data->shape[at.w], weight->shape[at.kw], strides[1], padding[1], padding[3], dilation[1]);
  // (C8) The window fits into the padded data.
  if (scalar::prove(le(out[at.out_h], dim(0))) == true || scalar::prove(le(out[at.out_w], dim(0))) == true)
    return constraint("C8", "the window of weight {} is larger than the padded data {}", text(weight->shape),
                      text(data->shape));
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

// Two stages: the padded data, and the sum. With one input channel a group (depthwise) there is no reduction over
// channels.
te::Tensors compute(const Conv2DAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& weight = in[1];
  Axes at(a);
  Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2);
  Ints before(4), after(4);
  before[at.h] = pad[0], before[at.w] = pad[1], after[at.h] = pad[2], after[at.w] = pad[3];
  te::Tensor data = padded(in[0], before, after, imm(0, in[0]->dtype));
  DType sum_dtype = accumulator(dtype_of(out));

  bool multiplied =
      a.groups > 1 && scalar::is_int(weight->shape[at.o], a.groups) && scalar::is_int(data->shape[at.c], a.groups);
  Dim out_channels = shape_of(out)[at.out_c];
  Dim group_in = multiplied ? dim(1) : weight->shape[at.i];            // input channels of a group
  Dim group_out = scalar::simplify(floordiv(out_channels, a.groups));  // output channels of a group
  bool one_channel = scalar::is_int(group_in, 1);

  Exprs reduce = {weight->shape[at.kh], weight->shape[at.kw]};
  if (!one_channel) reduce.insert(reduce.begin(), group_in);
  te::Tensor sum = te::reduce("conv2d", shape_of(out), reduce, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    const Expr& o = i[at.out_c];
    const Expr& ky = r[r.size() - 2];
    const Expr& kx = r[r.size() - 1];
    Exprs d(4), w(4);
    d[at.n] = i[at.out_n];
    d[at.c] = a.groups == 1 ? dim(0) : floordiv(o, group_out) * group_in;
    if (!one_channel) d[at.c] = d[at.c] + r[0];
    d[at.h] = i[at.out_h] * strides[0] + ky * dilation[0];
    d[at.w] = i[at.out_w] * strides[1] + kx * dilation[1];
    w[at.o] = multiplied ? floordiv(o, group_out) : o;
    w[at.i] = multiplied ? floormod(o, group_out) : one_channel ? dim(0) : r[0];
    w[at.kh] = ky;
    w[at.kw] = kx;
    return cast(sum_dtype, (*data)(d)) * cast(sum_dtype, (*weight)(w));
  });
  return {converted(sum, dtype_of(out))};
}

const char* const oracle = R"(
    order(F.conv2d(F.pad(order(data, data_layout, 'NCHW'), sides(padding)),
                   order(weight, kernel_layout, 'OIHW').flatten(0, 1)
                       .unflatten(0, (-1, data.shape[data_layout.index('C')] // groups)),
                   stride=pair(strides), dilation=pair(dilation), groups=groups),
          'NCHW', out_layout or data_layout))";

}  // namespace

OpDef nn_conv2d() {
  return define<Conv2DAttrs>(
      {.name = "nn.conv2d",
       .doc = "Two-dimensional convolution of data with weight.",
       .inputs = {{"data", "(N, C, H, W), in the order of data_layout"},
                  {"weight", "(O, C / groups, KH, KW), in the order of kernel_layout"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete =
           [](const Conv2DAttrs& a, Types in) {
             return with_weight(std::move(in), a.data_layout, a.kernel_layout, a.channels, a.kernel_size, a.groups);
           },
       .compute = compute,
       .oracle = oracle,
       .examples =
           {{.inputs = {"(1, 3, 8, 8)", "(4, 3, 3, 3)"},
             .attrs = "padding=[1, 1]",
             .symbolic = {"(n, 3, h, w)", "(4, 3, 3, 3)"}},
            {.inputs = {"(2, 5, 9, 7)", "(6, 5, 1, 1)"}, .symbolic = {"(n, c, 9, 7)", "(6, c, 1, 1)"}},
            {.inputs = {"(1, 3, 11, 13)", "(8, 3, 5, 3)"},
             .attrs = "strides=[2, 3], padding=[1, 0, 2, 1], channels=8, kernel_size=[5, 3]",
             .symbolic = {"(n, 3, h, w)", "(8, 3, 5, 3)"}},
            {.inputs = {"(1, 2, 12, 12)", "(3, 2, 3, 3)"}, .attrs = "dilation=[2, 3], padding=[2]"},
            {.inputs = {"(1, 6, 7, 7)", "(4, 3, 3, 3)"},
             .attrs = "groups=2, padding=[1, 1]",
             .symbolic = {"(n, 6, h, w)", "(4, 3, 3, 3)"}},
            {.inputs = {"(1, 6, 9, 9)", "(6, 1, 3, 3)"},
             .attrs = "groups=6, padding=[1, 1], strides=[2, 2]",
             .symbolic = {"(n, 6, h, w)", "(6, 1, 3, 3)"}},
            {.inputs = {"(1, 3, 6, 6)", "(6, 1, 3, 3)"}, .attrs = "groups=3"},
            {.inputs = {"(1, 3, 6, 6)", "(3, 2, 3, 3)"}, .attrs = "groups=3, channels=6"},
            {.inputs = {"(1, 8, 10, 3)", "(3, 3, 3, 4)"},
             .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", padding=[1, 1]",
             .symbolic = {"(n, h, w, 3)", "(3, 3, 3, 4)"}},
            {.inputs = {"(1, 8, 8, 6)", "(3, 3, 1, 6)"},
             .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", groups=6"},
            {.inputs = {"(1, 8, 8, 3)", "(3, 3, 3, 4)"},
             .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", out_layout=\"NCHW\""},
            {.inputs = {"(1, 4, 6, 6) int8", "(2, 4, 3, 3) int8"},
             .attrs = "out_dtype=\"int32\"",
             .low = -128,
             .high = 127,
             .ulps = 0},
            {.inputs = {"(1, 64, 56, 56)", "(64, 64, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
            {.inputs = {"(1, 64, 56, 56)", "(64, 1, 3, 3)"}, .attrs = "padding=[1, 1], groups=64", .bench = true},
            {.inputs = {"(1, 3, 224, 224)", "(64, 3, 7, 7)"}, .attrs = "strides=[2, 2], padding=[3, 3]", .bench = true},
            {.inputs = {"(1, 3, 299, 299)", "(32, 3, 3, 3)"}, .attrs = "strides=[2, 2]", .bench = true},
            {.inputs = {"(1, 128, 56, 56)", "(128, 128, 3, 3)"},
             .attrs = "strides=[2, 2], padding=[1, 1]",
             .bench = true},
            {.inputs = {"(1, 256, 14, 14)", "(256, 256, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
            {.inputs = {"(1, 512, 7, 7)", "(512, 512, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
            {.inputs = {"(8, 128, 28, 28)", "(128, 128, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
            {.inputs = {"(1, 37, 19, 23)", "(53, 37, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
            {.inputs = {"(1, 64, 56, 56)", "(256, 64, 1, 1)"}, .bench = true},
            {.inputs = {"(1, 256, 56, 56)", "(512, 256, 1, 1)"}, .attrs = "strides=[2, 2]", .bench = true},
            {.inputs = {"(1, 1024, 14, 14)", "(256, 1024, 1, 1)"}, .bench = true},
            {.inputs = {"(1, 320, 7, 7)", "(1280, 320, 1, 1)"}, .bench = true},
            {.inputs = {"(1, 14, 14, 256)", "(1, 1, 256, 256)"},
             .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\"",
             .bench = true},
            {.inputs = {"(1, 192, 17, 17)", "(192, 192, 1, 7)"}, .attrs = "padding=[0, 3]", .bench = true},
            {.inputs = {"(1, 48, 35, 35)", "(64, 48, 5, 5)"}, .attrs = "padding=[2, 2]", .bench = true},
            {.inputs = {"(1, 256, 28, 28)", "(256, 256, 3, 3)"},
             .attrs = "padding=[2, 2], dilation=[2, 2]",
             .bench = true},
            {.inputs = {"(1, 96, 112, 112)", "(96, 1, 3, 3)"},
             .attrs = "padding=[1, 1], strides=[2, 2], groups=96",
             .bench = true},
            {.inputs = {"(1, 384, 14, 14)", "(384, 1, 3, 3)"}, .attrs = "padding=[1, 1], groups=384", .bench = true},
            {.inputs = {"(1, 240, 14, 14)", "(240, 1, 5, 5)"}, .attrs = "padding=[2, 2], groups=240", .bench = true},
            {.inputs = {"(1, 960, 7, 7)", "(960, 1, 3, 3)"}, .attrs = "padding=[1, 1], groups=960", .bench = true},
            {.inputs = {"(1, 50, 33, 35)", "(50, 1, 3, 3)"}, .attrs = "padding=[1, 1], groups=50", .bench = true},
            {.inputs = {"(1, 56, 56, 144)", "(3, 3, 1, 144)"},
             .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", padding=[1, 1], groups=144",
             .bench = true},
            {.inputs = {"(1, 128, 28, 28)", "(128, 32, 3, 3)"}, .attrs = "padding=[1, 1], groups=4", .bench = true},
            {.inputs = {"(1, 256, 28, 28)", "(256, 8, 3, 3)"}, .attrs = "padding=[1, 1], groups=32", .bench = true},
            {.inputs = {"(1, 116, 28, 28)", "(116, 29, 1, 1)"}, .attrs = "groups=4", .bench = true}},
       .rejects = {{{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "data_layout=\"NCHWc\"", "C1"},
                   {{"(3, 8, 8)", "(4, 3, 3, 3)"}, "", "C2"},
                   {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "strides=[0, 1]", "C3"},
                   {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "padding=[1, 2, 3]", "C3"},
                   {{"(1, 3, 8, 8)", "(4, 3, 3, 3) float16"}, "", "C4"},
                   {{"(1, 4, 8, 8)", "(4, 3, 3, 3)"}, "", "C5"},
                   {{"(1, 4, 8, 8)", "(4, 2, 3, 3)"}, "groups=3", "C5"},
                   {{"(1, 4, 8, 8)", "(5, 2, 3, 3)"}, "groups=2", "C6"},
                   {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "channels=5", "C7"},
                   {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "kernel_size=[5, 5]", "C7"},
                   {{"(1, 3, 2, 8)", "(4, 3, 3, 3)"}, "", "C8"}}},
      "Conv2DAttrs");
}

}  // namespace relay::ops
