// Convolutions and pools over images in the order (N, H, W, C).
#include <algorithm>
#include <cmath>

#include "relay/frontend/tflite/quantize.h"
#include "relay/frontend/tflite/window.h"

namespace relay::tflite {

using ir::Expr;
using ir::Ints;

constexpr int64_t same = 0, valid = 1;  // the schema's Padding

// SAME: ceil(size / stride) windows; an odd element of padding comes after the data.
std::optional<Window> read_window(Convert& c, Expr& x, Ints kernel, double value, std::string_view axes) {
  Window w{std::move(kernel), {}, {}, Ints(2 * axes.size(), 0)};
  for (char axis : axes) {
    w.strides.push_back(c.integer(format("stride_{}", axis), 1));
    w.dilations.push_back(c.integer(format("dilation_{}_factor", axis), 1));
  }
  const int64_t padding = c.integer("padding", 0);
  if (padding != same && padding != valid) return c.bad("padding is number {}, not SAME or VALID", padding);
  if (!expect_window(c, w)) return std::nullopt;
  if (padding == same) {
    Expr padded = x;
    if (!pad_to_same(c, x, 1, false, w, &padded, value)) return std::nullopt;
    x = padded;
  }
  return w;
}

namespace {

EmitAttrs attributes(const Window& w, const char* kernel_layout, const char* data_layout = "NHWC") {
  return {{"strides", w.strides},    {"padding", w.pads},          {"dilation", w.dilations},
          {"kernel_size", w.kernel}, {"data_layout", data_layout}, {"kernel_layout", kernel_layout}};
}

// The extents of a weight's axes [first, last).
std::optional<Ints> kernel_of(Convert& c, const Expr& weight, int64_t first = 1, int64_t last = 3) {
  Ints kernel;
  for (int64_t axis = first; axis < last; ++axis) {
    std::optional<int64_t> extent = c.extent(weight, axis);
    if (!extent) return c.unsupported("the weight's window has no fixed size: {}", ir::str(weight->type));
    kernel.push_back(*extent);
  }
  return kernel;
}

// The number that padding stands for: 0, which is the zero point of quantised data.
double zero_of(Convert& c) {
  return c.is_quantized_input(0) ? static_cast<double>(c.input_entry(0).quantization->zero_points[0]) : 0;
}

// A convolution, in integers if the data are quantised. `channel_axis`: of the weight's output channels in the file.
Values convolution(Convert& c, const Expr& x, Expr weight, EmitAttrs attrs, int64_t channel_axis) {
  if (c.is_quantized_input(0)) return quantized_product(c, "qnn.conv2d", x, weight, attrs, channel_axis);
  Expr sum = c.emit("nn.conv2d", {x, weight}, attrs);
  return {c.activated(c.has(2) ? c.emit("nn.bias_add", {sum, c.input(2)}, {{"axis", int64_t{3}}}) : sum)};
}

std::string str(const ir::Dims& shape) {
  std::vector<std::string> extents;
  for (const ir::Dim& d : shape) extents.push_back(scalar::str(d));
  return format("[{}]", join(extents, ", "));
}

// The geometry of a transposed convolution with a result of this shape, whose batch may be open.
struct Backwards {
  Ints strides, pads;
  ir::IntLists behind;  // zeros before and after the axes of the result, beyond the reach of the windows
};

std::optional<Backwards> read_backwards(Convert& c, const Expr& x, const ir::Dims& shape, const Ints& kernel,
                                        std::string_view axes) {
  const size_t n = axes.size();
  Backwards b{{}, Ints(2 * n), ir::IntLists(n + 2, Ints{0, 0})};
  const int64_t padding = c.integer("padding", 0);
  if (shape.size() != n + 2) return c.bad("the shape of the result is {}", str(shape));
  for (size_t i = 0; i < n; ++i) {
    const int64_t stride = c.integer(format("stride_{}", axes[i]), 1);
    const std::optional<int64_t> extent = c.extent(x, static_cast<int64_t>(i) + 1);
    if (!extent || !is_int(shape[i + 1]))
      return c.unsupported("data of unknown size {}; give its shape (--shape)", ir::str(x->type));
    const int64_t size = shape[i + 1]->ivalue;
    if (stride < 1 || stride > INT32_MAX || size < 1 || size > INT32_MAX)
      return c.bad("the shape of the result is {}, a stride {}", str(shape), stride);
    if (c.integer(format("dilation_{}_factor", axes[i]), 1) != 1) return c.unsupported("a dilation");
    // The padding of the convolution that leads from the result's shape to the data's.
    const int64_t back = padding == same ? std::max<int64_t>((*extent - 1) * stride + kernel[i] - size, 0) : 0;
    b.strides.push_back(stride), b.pads[i] = back / 2;
    const int64_t reach = (*extent - 1) * stride + kernel[i] - b.pads[i];
    if (reach >= size)
      b.pads[n + i] = reach - size;
    else
      b.behind[i + 1][1] = size - reach;
  }
  return b;
}

Expr with_bias(Convert& c, const Expr& sum, size_t bias) {
  return c.has(bias) ? c.emit("nn.bias_add", {sum, c.input(bias)}, {{"axis", c.rank(sum) - 1}}) : sum;
}

}  // namespace

namespace convert {

// A weight (O, H, W, I). Groups stand nowhere: the data has as many times more channels.
Values CONV_2D(Convert& c) {
  Expr x = c.input(0), weight = real_weight(c, 1, 0);
  if (!c.expect_rank(x, 4, 4, "the data") || !c.expect_rank(weight, 4, 4, "the weight")) return {};
  std::optional<Ints> kernel = kernel_of(c, weight);
  std::optional<Window> w = kernel ? read_window(c, x, *kernel, zero_of(c)) : std::nullopt;
  if (!w) return {};
  EmitAttrs attrs = attributes(*w, "OHWI");
  const std::optional<int64_t> channels = c.extent(x, 3), per_group = c.extent(weight, 3),
                               outputs = c.extent(weight, 0);
  if (!channels || !per_group || !outputs || *per_group == 0 || *channels % *per_group)
    return c.bad("the data is {}, whose channels are not a multiple of those of the weight {}", ir::str(x->type),
                 ir::str(weight->type));
  attrs.push_back({"groups", *channels / *per_group});
  attrs.push_back({"channels", *outputs});
  return convolution(c, x, weight, std::move(attrs), 0);
}

// A weight (1, H, W, channels * multiplier), in which the results of one channel are neighbours.
Values DEPTHWISE_CONV_2D(Convert& c) {
  Expr x = c.input(0), weight = real_weight(c, 1, 3);
  if (!c.expect_rank(x, 4, 4, "the data") || !c.expect_rank(weight, 4, 4, "the weight")) return {};
  std::optional<Ints> kernel = kernel_of(c, weight);
  std::optional<Window> w = kernel ? read_window(c, x, *kernel, zero_of(c)) : std::nullopt;
  if (!w) return {};
  const std::optional<int64_t> channels = c.extent(x, 3), outputs = c.extent(weight, 3);
  if (!channels || !outputs || c.extent(weight, 0) != 1 || *channels == 0 || *outputs % *channels)
    return c.bad("the weight {} has no multiple of the channels of the data {}", ir::str(weight->type),
                 ir::str(x->type));
  EmitAttrs attrs = attributes(*w, "HWIO");
  attrs.push_back({"groups", *channels});
  attrs.push_back({"channels", *outputs});
  const Expr filter =
      c.reshape(weight, {scalar::imm((*kernel)[0]), scalar::imm((*kernel)[1]), scalar::imm(1), scalar::imm(*outputs)});
  return convolution(c, x, filter, std::move(attrs), 3);
}

// Inputs: the shape of the result, a weight (O, H, W, I), the data, a bias. Elements that the window reaches outside of
// that shape are cut off.
Values TRANSPOSE_CONV(Convert& c) {
  std::optional<ir::Dims> shape = c.dims(0, "the shape of the result");
  Expr weight = c.input(1), x = c.input(2);
  if (!shape || !c.expect_rank(x, 4, 4, "the data") || !c.expect_rank(weight, 4, 4, "the weight")) return {};
  std::optional<Ints> kernel = kernel_of(c, weight);
  if (!kernel) return {};
  std::optional<Backwards> w = read_backwards(c, x, *shape, *kernel, "hw");
  if (!w) return {};
  const bool in_integers = c.is_quantized_input(2);
  if (!in_integers && c.is_quantized_input(1)) return c.unsupported("a quantised weight with real data");
  const EmitAttrs attrs{{"strides", w->strides},
                        {"padding", w->pads},
                        {"kernel_size", *kernel},
                        {"data_layout", "NHWC"},
                        {"kernel_layout", "OHWI"}};
  const Factors of{2, 1, 3};
  Expr sum = in_integers ? quantized_sum(c, "qnn.conv2d_transpose", x, weight, attrs, 0, of)
                         : c.emit("nn.conv2d_transpose", {x, weight}, attrs);
  // Zeros after the elements that a window reaches, which output_padding below the stride can also express.
  if (sum) sum = c.pad(sum, w->behind, c.scalar(0, c.dtype(sum)), "constant");
  return in_integers ? quantized_result(c, sum, of) : Values{c.activated(with_bias(c, sum, 3))};
}

// A weight (D, H, W, I, O).
Values CONV_3D(Convert& c) {
  Expr x = c.input(0);
  const Expr weight = c.input(1);
  if (!c.expect_rank(x, 5, 5, "the data") || !c.expect_rank(weight, 5, 5, "the weight")) return {};
  std::optional<Ints> kernel = kernel_of(c, weight, 0, 3);
  std::optional<Window> w = kernel ? read_window(c, x, *kernel, 0, "dhw") : std::nullopt;
  if (!w) return {};
  const std::optional<int64_t> channels = c.extent(x, 4), per_group = c.extent(weight, 3);
  if (!channels || !per_group || *per_group == 0 || *channels % *per_group)
    return c.bad("the data is {}, whose channels are not a multiple of those of the weight {}", ir::str(x->type),
                 ir::str(weight->type));
  EmitAttrs attrs = attributes(*w, "DHWIO", "NDHWC");
  attrs.push_back({"groups", *channels / *per_group});
  return {c.activated(with_bias(c, c.emit("nn.conv3d", {x, weight}, attrs), 2))};
}

// Inputs: the shape of the result, a weight (D, H, W, O, I), the data, a bias.
Values CONV_3D_TRANSPOSE(Convert& c) {
  std::optional<ir::Dims> shape = c.dims(0, "the shape of the result");
  const Expr weight = c.input(1), x = c.input(2);
  if (!shape || !c.expect_rank(x, 5, 5, "the data") || !c.expect_rank(weight, 5, 5, "the weight")) return {};
  std::optional<Ints> kernel = kernel_of(c, weight, 0, 3);
  std::optional<Backwards> w = kernel ? read_backwards(c, x, *shape, *kernel, "dhw") : std::nullopt;
  if (!w) return {};
  Expr sum = c.emit("nn.conv3d_transpose", {x, weight},
                    {{"strides", w->strides},
                     {"padding", w->pads},
                     {"kernel_size", *kernel},
                     {"data_layout", "NDHWC"},
                     {"kernel_layout", "DHWOI"}});
  sum = c.pad(sum, w->behind, c.scalar(0, c.dtype(sum)), "constant");
  return {c.activated(with_bias(c, sum, 3))};
}

// --- pools -----------------------------------------------------------------------------------------------------------

// Padding of an average is not data, and cannot be added to an axis of open size.
static std::optional<EmitAttrs> pool_attributes(Convert& c, Expr& x, std::optional<double> value) {
  if (!c.expect_rank(x, 4, 4, "the data")) return std::nullopt;
  const Expr before = x;
  std::optional<Window> w =
      read_window(c, x, {c.integer("filter_height", 0), c.integer("filter_width", 0)}, value.value_or(0));
  if (!w) return std::nullopt;
  if (x != before && !value)
    return c.unsupported("padding SAME of data of open size {}; give its shape (--shape)", ir::str(before->type));
  return EmitAttrs{{"pool_size", w->kernel},
                   {"strides", w->strides},
                   {"dilation", w->dilations},
                   {"padding", w->pads},
                   {"layout", "NHWC"}};
}

Values MAX_POOL_2D(Convert& c) {
  Expr x = c.input(0);
  const bool is_real = c.dtype(x).is_float();
  std::optional<EmitAttrs> attrs = pool_attributes(c, x, is_real ? std::optional<double>(-INFINITY) : std::nullopt);
  if (!attrs) return {};
  Expr largest = c.emit("nn.max_pool2d", {x}, *attrs);
  return {c.is_quantized_input(0) ? quantized_activation(c, largest) : c.activated(largest)};
}

// Padding does not count.
Values AVERAGE_POOL_2D(Convert& c) {
  Expr x = c.input(0);
  std::optional<EmitAttrs> attrs = pool_attributes(c, x, std::nullopt);
  if (!attrs) return {};
  if (c.is_quantized_input(0)) return {quantized_mean_pool(c, x, *attrs)};
  return {c.activated(c.emit("nn.avg_pool2d", {x}, *attrs))};
}

Values L2_POOL_2D(Convert& c) {
  Expr x = c.input(0);
  std::optional<EmitAttrs> attrs = pool_attributes(c, x, std::nullopt);
  if (!attrs) return {};
  return {c.activated(c.emit("sqrt", {c.emit("nn.avg_pool2d", {c.multiply(x, x)}, *attrs)}))};
}

}  // namespace convert
}  // namespace relay::tflite
