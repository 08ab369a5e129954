// Convolutions and pools over images in the order (N, H, W, C).
#include <algorithm>
#include <cmath>

#include "relay/frontend/common/ops/same_padding.h"
#include "relay/frontend/tflite/quantize.h"
#include "relay/frontend/tflite/window.h"

namespace relay::tflite {

using ir::Expr;
using ir::Ints;

constexpr int64_t same = 0, valid = 1;  // the schema's Padding

// SAME: ceil(size / stride) windows; an odd element of padding comes after the data.
std::optional<Window> read_window(Convert& c, Expr& x, Ints kernel, double value) {
  Window w{std::move(kernel),
           {c.integer("stride_h", 1), c.integer("stride_w", 1)},
           {c.integer("dilation_h_factor", 1), c.integer("dilation_w_factor", 1)},
           {0, 0, 0, 0}};
  for (const Ints* list : {&w.kernel, &w.strides, &w.dilations})
    for (int64_t one : *list)
      if (one < 1 || one > INT32_MAX)
        return c.bad("kernel [{}], strides [{}] and dilations [{}] must be at least 1", join(w.kernel, ", "),
                     join(w.strides, ", "), join(w.dilations, ", "));
  const int64_t padding = c.integer("padding", 0);
  if (padding != same && padding != valid) return c.bad("padding is number {}, not SAME or VALID", padding);
  for (size_t i = 0; i < 2 && padding == same; ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 1, taps = (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (std::optional<int64_t> total = same_padding(c, x, axis, taps, w.strides[i])) {
      w.padding[i] = *total / 2, w.padding[i + 2] = *total - *total / 2;
      continue;
    }
    if (is_any(c.shape(x)[i + 1]))
      return c.unsupported("padding SAME of data whose size is known only at run time, {}; give its shape (--shape)",
                           ir::str(x->type));
    x = padded_to_same(c, x, axis, taps, w.strides[i], false, value);
    if (!x) return std::nullopt;
  }
  return w;
}

namespace {

EmitAttrs attributes(const Window& w, const char* kernel_layout) {
  return {{"strides", w.strides},    {"padding", w.padding},  {"dilation", w.dilations},
          {"kernel_size", w.kernel}, {"data_layout", "NHWC"}, {"kernel_layout", kernel_layout}};
}

std::optional<Ints> kernel_of(Convert& c, const Expr& weight) {
  Ints kernel;
  for (int64_t axis : {1, 2}) {
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
  if (c.has(2)) sum = c.emit("nn.bias_add", {sum, c.input(2)}, {{"axis", int64_t{3}}});
  return {c.activated(sum)};
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
  std::optional<Ints> shape = c.ints(0, "the shape of the result");
  Expr weight = c.input(1), x = c.input(2);
  if (!shape || !c.expect_rank(x, 4, 4, "the data") || !c.expect_rank(weight, 4, 4, "the weight")) return {};
  if (c.is_quantized_input(1)) return c.unsupported("a quantised weight");
  if (shape->size() != 4) return c.bad("the shape of the result is [{}]", join(*shape, ", "));
  std::optional<Ints> kernel = kernel_of(c, weight);
  if (!kernel) return {};
  const Ints strides{c.integer("stride_h", 1), c.integer("stride_w", 1)};
  const int64_t padding = c.integer("padding", 0);
  if (strides[0] < 1 || strides[1] < 1) return c.bad("the strides are [{}]", join(strides, ", "));
  Ints pads(4), extra(2), begin, end;
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<int64_t> extent = c.extent(x, static_cast<int64_t>(i) + 1);
    if (!extent) return c.unsupported("data of unknown size {}; give its shape (--shape)", ir::str(x->type));
    const int64_t size = (*shape)[i + 1];
    if (size < 1 || size > INT32_MAX) return c.bad("the shape of the result is [{}]", join(*shape, ", "));
    // The padding of the convolution that leads from the result's shape to the data's.
    const int64_t back = padding == same ? std::max<int64_t>((*extent - 1) * strides[i] + (*kernel)[i] - size, 0) : 0;
    pads[i] = back / 2;
    const int64_t reach = (*extent - 1) * strides[i] + (*kernel)[i] - pads[i];
    if (reach >= size)
      pads[i + 2] = reach - size;
    else
      extra[i] = size - reach;
  }
  // Zeros after the elements that a window reaches, which output_padding below the stride can also express.
  Expr sum = c.emit("nn.conv2d_transpose", {x, weight},
                    {{"strides", strides},
                     {"padding", pads},
                     {"kernel_size", *kernel},
                     {"data_layout", "NHWC"},
                     {"kernel_layout", "OHWI"}});
  sum = c.pad(sum, {{0, 0}, {0, extra[0]}, {0, extra[1]}, {0, 0}}, c.scalar(0, c.dtype(sum)), "constant");
  if (c.has(3)) sum = c.emit("nn.bias_add", {sum, c.input(3)}, {{"axis", int64_t{3}}});
  return {c.activated(sum)};
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
                   {"padding", w->padding},
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
