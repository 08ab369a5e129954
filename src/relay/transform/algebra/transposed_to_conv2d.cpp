// transposed_to_conv2d: turns a transposed convolution with a stride into ordinary convolutions.
//
//   nn.conv2d_transpose(%x, W, strides=[s, s], ...)    becomes    nn.depth_to_space(<s^2 phases>, block_size=s)
//
// Row y = s q + r of the result reads, of the data, rows q + j - (b - r) // s with weights' rows k = s j + (b - r) % s,
// where b is the number of rows that the kernel reaches before (extent - 1 - padding). So each of the s phases r is a
// convolution at stride 1 with some of the weights, where spreading the data would multiply s^2 - 1 of s^2 times by
// zero. Phases that read the same rows and columns (kernel 2 at stride 2) are one convolution with s^2 times the
// channels; others (kernel 4, padding 1) are separate convolutions, since one window for all would contain zeros, and
// zero times infinity is NaN. The same applies to nn.conv3d_transpose, and to different strides, with the phases
// interleaved by a transposition if all sizes are known. The gradient of a strided convolution with respect to its data
// is also such a convolution. Not converted are groups, dilation, a stride of 1, other layouts, weights of unknown
// sizes, phases without weights, and data that would have to be cropped.
#include <algorithm>
#include <limits>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// For one direction: a phase reads `taps` rows of data from row q + first on, with weights tap + stride * j.
struct Phase {
  int64_t first = 0, taps = 0, tap = 0;
  int64_t high = 0;  // rows of padding after the data; before it there are -first
  bool same_window(const Phase& other) const { return first == other.first && taps == other.taps; }
};

std::optional<std::vector<Phase>> phases(int64_t stride, int64_t extent, int64_t pad, const Dim& rows,
                                         const Dim& results) {
  const int64_t before = extent - 1 - pad;
  const Dim blocks = scalar::floordiv(results + (stride - 1), scalar::imm(stride));
  std::vector<Phase> out;
  for (int64_t r = 0; r < stride; ++r) {
    Phase p;
    p.first = -floor_div(before - r, stride), p.tap = before - r + stride * p.first;
    p.taps = (extent - p.tap + stride - 1) / stride;
    const Dim high = scalar::simplify(blocks + (p.taps - 1 + p.first) - rows);
    if (p.taps < 1 || p.first > 0 || !scalar::is_int(high) || high->ivalue < 0) return std::nullopt;
    p.high = high->ivalue;
    out.push_back(p);
  }
  return out;
}

using Window = std::vector<Phase>;  // a phase for each direction

// W'[o, c, j..] = W[c, o, extent - 1 - (tap + stride * j)..]
Expr weights_of(const Expr& weight, const Shape& shape, const Ints& strides, const Window& window) {
  Ints begin, end, back, along, order{1, 0};
  for (size_t d = 0; d < window.size(); ++d) {
    begin.push_back(shape[2 + d] - 1 - window[d].tap), end.push_back(std::numeric_limits<int32_t>::min());
    back.push_back(-strides[d]), along.push_back(static_cast<int64_t>(2 + d));
    order.push_back(along.back());
  }
  const Expr some = op::make("strided_slice", {weight},
                             {{"begin", begin}, {"end", end}, {"strides", back}, {"axes", along}}, weight->span);
  return op::make("transpose", {some}, {{"axes", order}}, weight->span);
}

// A value for each axis.
Ints for_each_axis(const Ints& values, size_t axes) { return values.size() == 1 ? Ints(axes, values[0]) : values; }

// Interleaves phases that are stored one after another, [N, S.. O, q..] with the last direction's phases changing
// fastest, to [N, O, q * S + phase..]. Null if that needs sizes that are unknown.
Expr in_one_another(const Expr& phases, const Ints& strides, int64_t channels, const Dims& out, const Dims& blocks) {
  const size_t axes = strides.size();
  if (axes == 2 && strides[0] == strides[1])
    return op::make("nn.depth_to_space", {phases}, {{"block_size", strides[0]}}, phases->span);
  if (!scalar::is_int(out[0])) return {};
  const int64_t n = out[0]->ivalue, after = static_cast<int64_t>(axes) + 1;
  Ints apart{n}, order{0, after}, together{n, channels};
  for (size_t d = 0; d < axes; ++d) {
    if (!scalar::is_int(blocks[d])) return {};
    apart.push_back(strides[d]), together.push_back(blocks[d]->ivalue);
    order.push_back(after + 1 + static_cast<int64_t>(d)), order.push_back(1 + static_cast<int64_t>(d));
  }
  apart.push_back(channels);
  for (size_t d = 0; d < axes; ++d) apart.push_back(blocks[d]->ivalue / strides[d]);
  const Expr split = op::make("reshape", {phases}, {{"newshape", apart}}, phases->span);
  const Expr transposed = op::make("transpose", {split}, {{"axes", order}}, phases->span);
  return op::make("reshape", {transposed}, {{"newshape", together}}, phases->span);
}

// `e` is `before` with its arguments rewritten, which are untyped.
Expr as_convolutions(const Expr& before, const Expr& e, size_t axes) {
  const Call* call = call_of(e, axes == 2 ? "nn.conv2d_transpose" : "nn.conv3d_transpose");
  const TensorType* out = as<TensorType>(before->type);
  const TensorType* data = call ? as<TensorType>(as<Call>(before)->args[0]->type) : nullptr;
  if (!data || !out || !data->dtype.is_float() || out->dtype != data->dtype) return e;
  const std::optional<Shape> weight = static_shape(as<Call>(before)->args[1]->type);
  if (!weight) return e;
  const Ints strides = for_each_axis(attribute<Ints>(*call, "strides", {1}), axes),
             dilation = for_each_axis(attribute<Ints>(*call, "dilation", {1}), axes),
             padding = for_each_axis(attribute<Ints>(*call, "padding", {0}), axes);
  const std::string letters = axes == 2 ? "HW" : "DHW", out_layout = attribute<std::string>(*call, "out_layout", "");
  if (*std::min_element(strides.begin(), strides.end()) < 2 || dilation != Ints(axes, 1) ||
      attribute<int64_t>(*call, "groups", 1) != 1 ||
      attribute<std::string>(*call, "data_layout", "NC" + letters) != "NC" + letters ||
      attribute<std::string>(*call, "kernel_layout", "IO" + letters) != "IO" + letters ||
      (out_layout != "" && out_layout != "NC" + letters))
    return e;
  std::vector<Window> all{{}};
  Dims blocks;  // including the excess of the last block of rows
  bool exact = true;
  for (size_t d = 0; d < axes; ++d) {
    const Dim& results = out->shape[2 + d];
    const std::optional<std::vector<Phase>> of_one =
        phases(strides[d], (*weight)[2 + d], padding[d], data->shape[2 + d], results);
    if (!of_one) return e;
    std::vector<Window> longer;
    for (const Window& window : all)
      for (const Phase& p : *of_one) {
        longer.push_back(window);
        longer.back().push_back(p);
      }
    all = std::move(longer);
    blocks.push_back(
        scalar::simplify(scalar::floordiv(results + (strides[d] - 1), scalar::imm(strides[d])) * strides[d]));
    exact &= scalar::equal(blocks[d], scalar::simplify(results));
  }
  bool same = true;
  for (const Window& window : all)
    for (size_t d = 0; d < axes; ++d) same &= window[d].same_window(all[0][d]);
  auto convolution = [&](const std::vector<Window>& of) {
    Ints pad(2 * axes);
    for (size_t d = 0; d < axes; ++d) pad[d] = -of[0][d].first, pad[axes + d] = of[0][d].high;
    Exprs weights;
    for (const Window& window : of) weights.push_back(weights_of(call->args[1], *weight, strides, window));
    if (weights.size() > 1) weights = {op::make("concatenate", {tuple(weights)}, {{"axis", int64_t{0}}}, e->span)};
    return op::make(axes == 2 ? "nn.conv2d" : "nn.conv3d", {call->args[0], weights[0]}, {{"padding", pad}}, e->span);
  };
  Expr joined;
  if (same) {
    joined = convolution(all);
  } else {
    Exprs parts;
    for (const Window& one : all) parts.push_back(convolution({one}));
    joined = op::make("concatenate", {tuple(parts)}, {{"axis", int64_t{1}}}, e->span);
  }
  const Expr result = in_one_another(joined, strides, (*weight)[1], out->shape, blocks);
  if (!result || exact) return result ? result : e;
  Ints end, along;
  for (size_t d = 0; d < axes; ++d) {
    if (!scalar::is_int(out->shape[2 + d])) return e;
    end.push_back(out->shape[2 + d]->ivalue), along.push_back(static_cast<int64_t>(2 + d));
  }
  return op::make("strided_slice", {result}, {{"begin", Ints(axes, 0)}, {"end", end}, {"axes", along}}, e->span);
}

}  // namespace

Result<Module> transposed_to_conv2d(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr& before, const Expr& now) -> Expr {
      return as_convolutions(before, as_convolutions(before, now, 2), 3);
    });
  });
}

}  // namespace relay::transform
