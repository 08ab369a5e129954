// nn.max_pool2d: out[n, c, y, x] = max over the window of data[n, c, y * sy + i * dy - top, x * sx + j * dx - left]
// nn.avg_pool2d: the mean over the window, of the taps inside of the data, or with count_include_pad of the padded data
//
// With ceil_mode the last window may hang over the padded data, unless it would begin behind the data; what hangs over
// counts for nothing.
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct PoolAttrs {
  Ints pool_size;
  Ints strides{1, 1};
  Ints dilation{1, 1};
  Ints padding{0, 0};
  std::string layout = "NCHW";
  std::string out_layout;
  bool ceil_mode = false;
  bool count_include_pad = false;  // avg_pool2d only
};
struct MaxPool2DAttrs : PoolAttrs {
  static constexpr auto fields =
      std::tuple{required_field("pool_size", &MaxPool2DAttrs::pool_size, "Extents [H, W] of the window."),
                 field("strides", &MaxPool2DAttrs::strides, "Step of the window along H and W."),
                 field("dilation", &MaxPool2DAttrs::dilation, "Distance between two taps of the window along H and W."),
                 field("padding", &MaxPool2DAttrs::padding,
                       "Places around the data: one value, [H, W], or [top, left, bottom, right]."),
                 field("layout", &MaxPool2DAttrs::layout, "Order of the data's axes."),
                 field("out_layout", &MaxPool2DAttrs::out_layout, "Order of the result's axes; empty: layout."),
                 field("ceil_mode", &MaxPool2DAttrs::ceil_mode, "Whether a last incomplete window counts.")};
};
struct AvgPool2DAttrs : PoolAttrs {
  static constexpr auto fields =
      std::tuple{required_field("pool_size", &AvgPool2DAttrs::pool_size, "Extents [H, W] of the window."),
                 field("strides", &AvgPool2DAttrs::strides, "Step of the window along H and W."),
                 field("dilation", &AvgPool2DAttrs::dilation, "Distance between two taps of the window along H and W."),
                 field("padding", &AvgPool2DAttrs::padding,
                       "Zeros around the data: one value, [H, W], or [top, left, bottom, right]."),
                 field("layout", &AvgPool2DAttrs::layout, "Order of the data's axes."),
                 field("out_layout", &AvgPool2DAttrs::out_layout, "Order of the result's axes; empty: layout."),
                 field("ceil_mode", &AvgPool2DAttrs::ceil_mode, "Whether a last incomplete window counts."),
                 field("count_include_pad", &AvgPool2DAttrs::count_include_pad, "Whether padding counts in the mean.")};
};

// Where H and W, and the others, stand in the data and in the result.
struct Axes {
  size_t n, c, s[2], out_n, out_c, out_s[2];
  explicit Axes(const PoolAttrs& a) {
    const std::string& out = a.out_layout.empty() ? a.layout : a.out_layout;
    n = a.layout.find('N'), c = a.layout.find('C'), s[0] = a.layout.find('H'), s[1] = a.layout.find('W');
    out_n = out.find('N'), out_c = out.find('C'), out_s[0] = out.find('H'), out_s[1] = out.find('W');
  }
};

Result<Type> infer(const PoolAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The layouts are orders of NCHW.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NCHW"));
  if (!a.out_layout.empty()) RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, "NCHW"));
  // (C2) Data has four axes, of numbers.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data"));
  if (data->dtype.is_bool()) return constraint("C2", "pooling needs numbers, but data is bool");
  // (C3) Window, strides and dilation are positive, padding is not negative.
  RELAY_ASSIGN(Ints k, per_axis("C3", "pool_size", a.pool_size, 2));
  RELAY_ASSIGN(Ints strides, per_axis("C3", "strides", a.strides, 2));
  RELAY_ASSIGN(Ints dilation, per_axis("C3", "dilation", a.dilation, 2));
  RELAY_ASSIGN(Ints pad, padding_sides("C3", a.padding, 2));
  Axes at(a);
  Dims out(4);
  out[at.out_n] = data->shape[at.n];
  out[at.out_c] = data->shape[at.c];
  for (size_t d = 0; d < 2; ++d) {
    // (C4) Every window touches the data: the padding is less than the window reaches.
    if (pad[d] > dilation[d] * (k[d] - 1) || pad[d + 2] > dilation[d] * (k[d] - 1))
      return constraint("C4", "padding {} is not less than the window {}", text(a.padding), text(k));
    const Dim& extent = data->shape[at.s[d]];
    Dim places = window_extent(extent, dim(k[d]), strides[d], pad[d], pad[d + 2], dilation[d], a.ceil_mode);
    if (a.ceil_mode) places = scalar::simplify(min(places, floordiv(extent + (pad[d] - 1), strides[d]) + 1));
    out[at.out_s[d]] = places;
    // (C5) The window fits into the padded data.
    if (scalar::prove(le(places, dim(0))) == true)
      return constraint("C5", "the window {} is larger than the padded data {}", text(k), text(data->shape));
  }
  return ir::tensor_type(std::move(out), data->dtype);
}

// The combination over the window, of `dtype`, of the data padded with the combiner's neutral value.
te::Tensor window(const char* name, const PoolAttrs& a, const te::Tensor& in, const Type& out, Combiner combiner,
                  DType dtype) {
  Axes at(a);
  Ints k = per_axis(a.pool_size, 2), strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2),
       pad = padding_sides(a.padding, 2);
  Ints before(4), after(4);
  for (size_t d = 0; d < 2; ++d)
    before[at.s[d]] = pad[d], after[at.s[d]] = pad[d + 2] + (a.ceil_mode ? strides[d] - 1 : 0);
  te::Tensor data = padded(in, before, after, te::identity(combiner, in->dtype));
  return te::reduce(name, shape_of(out), {dim(k[0]), dim(k[1])}, combiner, [&](const Exprs& i, const Exprs& r) {
    Exprs d(4);
    d[at.n] = i[at.out_n], d[at.c] = i[at.out_c];
    for (size_t s = 0; s < 2; ++s) d[at.s[s]] = i[at.out_s[s]] * strides[s] + r[s] * dilation[s];
    return cast(dtype, (*data)(d));
  });
}

te::Tensors compute_max(const MaxPool2DAttrs& a, const te::Tensors& in, const Type& out) {
  return {window("max_pool2d", a, in[0], out, Combiner::Max, in[0]->dtype)};
}

// How many taps of the window at `place` lie in [0, extent), or in the padded range.
Expr taps(const Expr& place, const Expr& extent, int64_t k, int64_t stride, int64_t dilation, int64_t before,
          int64_t after, bool include_pad, bool ceil) {
  if ((include_pad || before + after == 0) && !ceil) return dim(k);
  Expr start = place * stride - before;
  Expr low = dim(include_pad ? -before : 0), high = include_pad ? extent + after : extent;
  auto ceil_div = [&](const Expr& x) { return floordiv(x + (dilation - 1), dilation); };
  return scalar::simplify(min(dim(k), ceil_div(high - start)) - max(dim(0), ceil_div(low - start)));
}

te::Tensors compute_avg(const AvgPool2DAttrs& a, const te::Tensors& in, const Type& out) {
  Axes at(a);
  DType dtype = in[0]->dtype.is_float()  ? accumulator(in[0]->dtype)
                : in[0]->dtype.bits < 32 ? DType::int32()
                                         : in[0]->dtype;
  Ints k = per_axis(a.pool_size, 2), strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2),
       pad = padding_sides(a.padding, 2);
  te::Tensor sum = window("sum", a, in[0], out, Combiner::Sum, dtype);
  return {elementwise("avg_pool2d", sum, [&](const Exprs& i) {
    Expr count = dim(1);
    for (size_t d = 0; d < 2; ++d)
      count = count * taps(i[at.out_s[d]], in[0]->shape[at.s[d]], k[d], strides[d], dilation[d], pad[d], pad[d + 2],
                           a.count_include_pad, a.ceil_mode);
    Expr s = (*sum)(i);
    bool is_float = dtype.is_float();
    if (is_float && scalar::is_int(count))
      return cast(in[0]->dtype, s * number(1.0 / static_cast<double>(count->ivalue), dtype));
    return cast(in[0]->dtype, scalar::binary(is_float ? BinaryOp::Div : BinaryOp::TruncDiv, s, cast(dtype, count)));
  })};
}

std::vector<Example> examples(const std::string& more) {
  std::vector<Example> out = {
      {.inputs = {"(1, 3, 8, 8)"}, .attrs = "pool_size=[2, 2], strides=[2, 2]", .symbolic = {"(n, 3, h, w)"}},
      {.inputs = {"(2, 3, 9, 7)"},
       .attrs = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]",
       .symbolic = {"(n, c, h, w)"}},
      {.inputs = {"(1, 2, 7, 8)"}, .attrs = "pool_size=[3, 2], strides=[2, 3], padding=[1, 0, 2, 1]"},
      {.inputs = {"(1, 2, 7, 8)"},
       .attrs = "pool_size=[3, 3], strides=[2, 2], ceil_mode=True",
       .symbolic = {"(1, 2, h, w)"}},
      {.inputs = {"(1, 2, 6, 6)"}, .attrs = "pool_size=[2, 2], strides=[3, 3], padding=[1, 1], ceil_mode=True"},
      {.inputs = {"(1, 8, 7, 3)"},
       .attrs = "pool_size=[3, 3], layout=\"NHWC\", padding=[1, 1]",
       .symbolic = {"(n, h, w, 3)"}},
      {.inputs = {"(1, 64, 112, 112)"}, .attrs = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]", .bench = true},
      {.inputs = {"(1, 112, 112, 64)"},
       .attrs = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1], layout=\"NHWC\"",
       .bench = true},
      {.inputs = {"(1, 35, 35, 192)"}, .attrs = "pool_size=[3, 3], padding=[1, 1], layout=\"NHWC\"", .bench = true},
      {.inputs = {"(1, 128, 56, 56)"}, .attrs = "pool_size=[2, 2], strides=[2, 2]", .bench = true}};
  if (!more.empty()) {
    std::vector<Example> base(out.begin() + 1, out.begin() + 6);
    for (Example& e : base) e.attrs += more, out.push_back(e);
  } else {
    out.push_back({.inputs = {"(1, 2, 9, 9)"}, .attrs = "pool_size=[3, 2], dilation=[2, 3], padding=[2, 1]"});
  }
  return out;
}

std::vector<Reject> rejects() {
  return {{{"(1, 3, 8, 8)"}, "pool_size=[2, 2], layout=\"NCW\"", "C1"},
          {{"(3, 8, 8)"}, "pool_size=[2, 2]", "C2"},
          {{"(1, 3, 8, 8)"}, "pool_size=[2, 2], strides=[0, 0]", "C3"},
          {{"(1, 3, 8, 8)"}, "pool_size=[2, 2], padding=[2, 2]", "C4"},
          {{"(1, 3, 2, 8)"}, "pool_size=[3, 3]", "C5"}};
}

}  // namespace

OpDef nn_max_pool2d() {
  return define<MaxPool2DAttrs>({.name = "nn.max_pool2d",
                                 .doc = "The maximum over a moving window.",
                                 .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
                                 .fusion = Fusion::OutputFusable,
                                 .infer = infer,
                                 .compute = compute_max,
                                 .oracle = "order(pool(order(data, layout, 'NCHW'), 'max', pool_size, strides, "
                                           "dilation, padding, ceil_mode), 'NCHW', out_layout or layout)",
                                 .examples = examples(""),
                                 .rejects = rejects()},
                                "MaxPool2DAttrs");
}

OpDef nn_avg_pool2d() {
  return define<AvgPool2DAttrs>({.name = "nn.avg_pool2d",
                                 .doc = "The mean over a moving window.",
                                 .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
                                 .fusion = Fusion::OutputFusable,
                                 .infer = infer,
                                 .compute = compute_avg,
                                 .oracle = "order(pool(order(data, layout, 'NCHW'), 'avg', pool_size, strides, "
                                           "dilation, padding, ceil_mode, count_include_pad),"
                                           " 'NCHW', out_layout or layout)",
                                 .examples = examples(", count_include_pad=True"),
                                 .rejects = rejects()},
                                "AvgPool2DAttrs");
}

}  // namespace relay::ops
