// Convolutions: Conv, ConvTranspose, and the geometry of windows.
#include <algorithm>

#include "relay/frontend/common/ops/quantise.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/window.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx {

using ir::Expr;
using ir::Ints;

// A list with one value per axis, checked.
static std::optional<Ints> per_axis(Convert& c, const char* attribute, size_t axes, int64_t otherwise, int64_t least) {
  Ints values = c.ints(attribute, Ints(axes, otherwise));
  if (values.empty()) values.assign(axes, otherwise);
  if (values.size() != axes)
    return c.bad("{} is [{}], but the window has {}", attribute, join(values, ", "),
                 plural(static_cast<int64_t>(axes), "axis", "axes"));
  for (int64_t v : values)
    if (v < least || v > INT32_MAX) return c.bad("{} is [{}], which is out of range", attribute, join(values, ", "));
  return values;
}

std::optional<Window> read_window(Convert& c, const Expr& x, Ints kernel, Expr* padded, double value) {
  size_t axes = kernel.size();
  if (!c.expect_rank(x, static_cast<int64_t>(axes) + 2, static_cast<int64_t>(axes) + 2, "the data"))
    return std::nullopt;
  for (int64_t k : kernel)
    if (k < 1 || k > INT32_MAX) return c.bad("the window's extents [{}] are out of range", join(kernel, ", "));
  Window w;
  std::optional<Ints> strides = per_axis(c, "strides", axes, 1, 1), dilations = per_axis(c, "dilations", axes, 1, 1);
  std::optional<Ints> pads = per_axis(c, "pads", 2 * axes, 0, INT32_MIN);
  if (!strides || !dilations || !pads) return std::nullopt;
  w.kernel = std::move(kernel), w.strides = *strides, w.dilations = *dilations, w.pads = *pads;
  std::string mode = c.text("auto_pad", "NOTSET");
  if (mode == "VALID") {
    w.pads.assign(2 * axes, 0);
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    if (!pad_to_same(c, x, 2, mode == "SAME_LOWER", w, padded, value)) return std::nullopt;
  } else if (mode != "NOTSET" && !mode.empty()) {
    return c.bad("auto_pad is '{}'", mode);
  }
  return w;
}

namespace convert {

// The weight's window: kernel_shape, else the weight's own axes, which must match it.
static std::optional<Ints> kernel_of(Convert& c, const Expr& weight) {
  if (!c.expect_rank(weight, 3, 5, "the weight")) return std::nullopt;
  Ints kernel;
  for (int64_t i = 2; i < c.rank(weight); ++i) {
    std::optional<int64_t> extent = c.extent(weight, i);
    if (!extent) return c.unsized("the weight's window has no fixed size: {}", ir::str(weight->type));
    kernel.push_back(*extent);
  }
  Ints said = c.ints("kernel_shape", kernel);
  if (!said.empty() && said != kernel)
    return c.bad("kernel_shape is [{}], but the weight is {}", join(said, ", "), ir::str(weight->type));
  return kernel;
}

static Expr with_bias(Convert& c, const Expr& result) {
  return c.has(2) ? c.emit("nn.bias_add", {result, c.input(2)}, {{"axis", int64_t{1}}}) : result;
}

// Padding in Relay's operators is not negative; a negative one (rare) crops the data.
// `parameters`: scales and zero points if both are quantised images.
static Expr product(Convert& c, const Expr& x, const Expr& weight, const EmitAttrs& more,
                    const ir::Exprs& parameters = {}) {
  std::optional<Ints> kernel = kernel_of(c, weight);
  Expr data = x;
  std::optional<Window> w = kernel ? read_window(c, x, *kernel, &data) : std::nullopt;
  if (!w) return {};
  const char* const names[] = {"nn.conv1d", "nn.conv2d", "nn.conv3d"};
  EmitAttrs attrs{{"strides", w->strides},
                  {"padding", w->pads},
                  {"dilation", w->dilations},
                  {"groups", c.integer("group", 1)},
                  {"kernel_size", w->kernel}};
  if (std::optional<int64_t> channels = c.extent(weight, 0)) attrs.push_back({"channels", *channels});
  attrs.insert(attrs.end(), more.begin(), more.end());
  ir::Exprs operands{data, weight};
  operands.insert(operands.end(), parameters.begin(), parameters.end());
  return c.emit(parameters.empty() ? names[kernel->size() - 1] : "qnn.conv2d", operands, attrs);
}

Values Conv(Convert& c) { return {with_bias(c, product(c, c.input(0), c.input(1), {}))}; }

Values ConvInteger(Convert& c) {
  auto zero = [&](size_t i) { return c.has(i) ? c.input(i) : Expr(); };
  return {integer_convolution(c, c.input(0), zero(2), c.input(1), zero(3))};
}

Values ConvTranspose(Convert& c) {
  Expr x = c.input(0), weight = c.input(1);
  std::optional<Ints> kernel = kernel_of(c, weight);
  if (!kernel) return {};
  size_t axes = kernel->size();
  if (!c.expect_rank(x, static_cast<int64_t>(axes) + 2, static_cast<int64_t>(axes) + 2, "the data")) return {};
  std::optional<Ints> strides = per_axis(c, "strides", axes, 1, 1), dilations = per_axis(c, "dilations", axes, 1, 1);
  std::optional<Ints> pads = per_axis(c, "pads", 2 * axes, 0, 0), extra = per_axis(c, "output_padding", axes, 0, 0);
  if (!strides || !dilations || !pads || !extra) return {};
  std::string mode = c.text("auto_pad", "NOTSET");
  Ints shape = c.ints("output_shape");
  if (mode == "VALID") pads->assign(2 * axes, 0);
  if (!shape.empty() || mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    // The output's size is specified, as such or as input * stride: the padding follows from it.
    if (!shape.empty() && shape.size() < axes)
      return c.bad("output_shape is [{}], but the window has {} axes", join(shape, ", "), axes);
    for (size_t i = 0; i < axes; ++i) {
      int64_t taps = ((*kernel)[i] - 1) * (*dilations)[i] + 1, total = taps - (*strides)[i] + (*extra)[i];
      if (!shape.empty()) {
        std::optional<int64_t> extent = c.extent(x, static_cast<int64_t>(i) + 2);
        if (!extent) return c.unsized("output_shape needs data of a fixed size, but it is {}", ir::str(x->type));
        total = (*extent - 1) * (*strides)[i] + (*extra)[i] + taps - shape[shape.size() - axes + i];
      }
      if (total < 0) (*extra)[i] -= total, total = 0;  // larger than the kernel reaches: zeros after it
      (*pads)[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      (*pads)[axes + i] = total - (*pads)[i];
    }
  }
  // A single axis is an image of one line.
  const bool line = axes == 1;
  if (line) {
    auto flat = [&](const Expr& e) {
      return c.reshape(e, {c.shape(e)[0], c.shape(e)[1], scalar::imm(1), c.shape(e)[2]}, one_row);
    };
    x = flat(x), weight = flat(weight);
    for (Ints* list : {&*strides, &*dilations, &*kernel}) list->insert(list->begin(), 1);
    extra->insert(extra->begin(), 0);
    *pads = {0, (*pads)[0], 0, (*pads)[1]};
  }
  EmitAttrs attrs{{"strides", *strides},
                  {"padding", *pads},
                  {"dilation", *dilations},
                  {"output_padding", *extra},
                  {"groups", c.integer("group", 1)},
                  {"kernel_size", *kernel}};
  if (std::optional<int64_t> channels = c.extent(weight, 1);
      channels && c.integer("group", 1) > 0 && c.integer("group", 1) < INT32_MAX && *channels < INT32_MAX)
    attrs.push_back({"channels", *channels * c.integer("group", 1)});
  Expr result = c.emit(axes == 3 ? "nn.conv3d_transpose" : "nn.conv2d_transpose", {x, weight}, attrs);
  if (line && result) result = c.reshape(result, {c.shape(result)[0], c.shape(result)[1], c.shape(result)[3]}, no_row);
  return {with_bias(c, result)};
}

}  // namespace convert

ir::Expr convolution(Convert& c, const ir::Expr& x, const ir::Expr& weight, const EmitAttrs& more) {
  return convert::product(c, x, weight, more);
}

// A zero point of 0 for every channel as a single one, which kernels need not read.
static ir::Expr one_if_zero(Convert& c, const ir::Expr& zero_point) {
  const ir::Constant* constant = zero_point ? ir::as<ir::Constant>(zero_point) : nullptr;
  if (!constant || constant->value.rank() == 0) return zero_point;
  for (int64_t i = 0; i < constant->value.elements(); ++i)
    if (constant->value.at(i) != 0) return zero_point;
  return c.scalar(0, constant->value.dtype());
}

ir::Expr integer_convolution(Convert& c, const ir::Expr& x, const ir::Expr& x_zero, const ir::Expr& weight,
                             const ir::Expr& weight_zero) {
  const ir::Expr zero = zero_of(c, x_zero), of_weight = one_if_zero(c, zero_of(c, weight_zero));
  if (!x || !weight || !zero || !of_weight) return {};
  // The padding is the zero point, which an image of a size that is known only at run time would have around it.
  const std::string mode = c.text("auto_pad", "NOTSET");
  const bool has_size = mode == "NOTSET" || mode == "VALID" || (c.extent(x, 2) && c.extent(x, 3));
  if (c.rank(x) == 4 && c.rank(weight) == 4 && has_size && c.rank(zero) == 0 && c.rank(of_weight) <= 1) {
    const ir::Expr scale = c.scalar(1, DType::float32());
    return convert::product(c, x, weight, {}, {scale, zero, scale, of_weight});
  }
  return convolution(c, centred(c, x, x_zero, 1), centred(c, weight, weight_zero, 0), {});
}

}  // namespace relay::onnx
