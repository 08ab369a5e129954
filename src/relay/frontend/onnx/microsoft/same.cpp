// Operators that ONNX adopted later, and those that differ from an operator of ONNX only in their inputs.
#include "relay/frontend/common/ops/unique.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Ints;

Values FusedMatMul(Convert& c);

Values GatherND(Convert& c) { return c.as_onnx(convert::GatherND, 13, c.all_values()); }
Values GridSample(Convert& c) { return c.as_onnx(convert::GridSample, 16, c.all_values()); }
Values Trilu(Convert& c) { return c.as_onnx(convert::Trilu, 14, c.all_values()); }

Values TorchEmbedding(Convert& c) {
  return {c.emit("take", {c.input(0), c.input(1)}, {{"axis", int64_t{0}}, {"mode", "checked"}})};
}

// Returns its input.
Values SampleOp(Convert& c) { return {c.input(0)}; }

// Sparse tensors are already dense here.
Values SparseToDenseMatMul(Convert& c) { return FusedMatMul(c); }

// Crops the pads from a transposed convolution without them.
Values ConvTransposeWithDynamicPads(Convert& c) {
  if (c.has(2) && c.text("auto_pad", "NOTSET") != "NOTSET")
    return c.bad("it has Pads and auto_pad '{}'", c.text("auto_pad", ""));
  Values inputs{c.value(0), c.value(1)};
  if (c.has(3)) inputs.push_back(c.value(3));
  Values whole = c.as_onnx(convert::ConvTranspose, 11, inputs);
  if (whole.empty() || !c.has(2)) return whole;
  Expr y = c.expression(whole[0]);
  std::optional<Ints> pads = c.ints(2, "Pads");
  if (!pads || !y) return {};
  const int64_t axes = c.rank(y) - 2;
  if (static_cast<int64_t>(pads->size()) != 2 * axes) return c.bad("Pads is [{}]", join(*pads, ", "));
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t before = (*pads)[static_cast<size_t>(i)], after = (*pads)[static_cast<size_t>(axes + i)];
    std::optional<int64_t> size = c.extent(y, i + 2);
    if (before < 0 || after < 0 || (size && before + after > *size))
      return c.bad("Pads is [{}] for {}", join(*pads, ", "), ir::str(y->type));
    if (before > 0 || after > 0) y = c.slice(y, i + 2, before, size ? *size - after : after > 0 ? -after : INT32_MAX);
  }
  return {y};
}

Values CausalConvWithState(Convert& c) {
  if (c.integer("ndim", 1) != 1) return c.unsupported("ndim is {}", c.integer("ndim", 1));
  for (const char* name : {"channels_last", "state_window"})
    if (c.integer(name, 0)) return c.unsupported("{} is {}", name, c.integer(name, 0));
  if (c.integer("dilation", 1) != 1) return c.unsupported("dilation is {}", c.integer("dilation", 1));
  return c.as_onnx(convert::CausalConvWithState, 27, c.all_values());
}

Values LinearAttention(Convert& c) {
  if (c.integer("state_window", 0)) return c.unsupported("state_window is {}", c.integer("state_window", 0));
  return c.as_onnx(convert::LinearAttention, 27, c.all_values());
}

// The amounts may be a row (1, n).
Values Pad(Convert& c) {
  Values inputs = c.all_values();
  if (c.rank(c.input(1)) == 2) {
    KnownRef pads = c.known(1);
    if (pads)
      inputs[1] = Value(reshaped(*pads, {static_cast<int64_t>(pads->values.size())}));
    else
      inputs[1] = Value(c.reshape(c.input(1), {c.shape(c.input(1))[1]}));
  }
  return c.as_onnx(convert::Pad, 13, inputs);
}

Values Range(Convert& c) {
  Values inputs = c.all_values();
  inputs.resize(3);
  if (!c.has(2)) {
    const DType dtype = c.dtype(c.input(0));
    inputs[2] = Value(known_scalar(dtype.is_float() ? scalar::fimm(1, DType::float64()) : scalar::imm(1), dtype));
  }
  return c.as_onnx(convert::Range, 11, inputs);
}

// Elements in the order of their first places, the index of each element among them, and their counts.
Values Unique(Convert& c) {
  if (!c.expect_rank(c.input(0), 1, 1, "x")) return {};
  Values all = unique_elements(c, c.input(0), false);
  return all.empty() ? all : Values{all[0], all[2], all[3]};
}

// All windows along an axis, each as a new last axis.
Values UnfoldTensor(Convert& c) {
  Expr x = c.input(0);
  const int64_t size = c.integer("size", 0), step = c.integer("step", 1);
  std::optional<int64_t> axis = c.axis(c.integer("dim", -1), c.rank(x));
  if (!axis) return {};
  if (size < 1 || step < 1 || size > INT32_MAX || step > INT32_MAX) return c.bad("size is {}, step {}", size, step);
  Ints order;
  for (int64_t i = 0; i < c.rank(x); ++i)
    if (i != *axis) order.push_back(i);
  order.push_back(*axis);
  Expr windows = c.emit("sliding_window", {c.transpose(x, order)},
                        {{"axis", c.rank(x) - 1}, {"window_shape", Ints{size}}, {"strides", Ints{step}}});
  // (.., places, size): the places return to the axis.
  Ints back;
  for (int64_t i = 0; i < c.rank(x) - 1; ++i) back.push_back(i);
  back.insert(back.begin() + *axis, c.rank(x) - 1);
  back.push_back(c.rank(x));
  return {c.transpose(windows, back)};
}

Values CropAndResize(Convert& c) {
  std::optional<Ints> size = c.ints(3, "crop_size");
  const std::string mode = c.text("mode", "bilinear");
  if (!size) return {};
  if (size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1) return c.bad("crop_size is [{}]", join(*size, ", "));
  if (mode != "bilinear" && mode != "nearest") return c.bad("mode is '{}', not bilinear or nearest", mode);
  return {c.emit("image.crop_and_resize", {c.input(0), c.input(1), c.input(2)},
                 {{"crop_size", *size},
                  {"layout", "NCHW"},
                  {"method", mode == "nearest" ? "nearest_neighbor" : "bilinear"},
                  {"extrapolation_value", c.real("extrapolation_value", 0)}})};
}

}  // namespace relay::onnx::microsoft
