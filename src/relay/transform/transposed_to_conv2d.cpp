// transposed_to_conv2d: a transposed convolution with a stride and constant weights becomes ordinary ones.
//
//   nn.conv2d_transpose(%x, W, strides=[s, s], ...)    becomes    nn.depth_to_space(<s^2 phases>, block_size=s)
//
// Row y = s q + r of the result reads, of the data, rows q + j - (b - r) // s with weights' rows k = s j + (b - r) % s, where b is
// the number of rows that the kernel reaches before (extent - 1 - padding). So each of the s phases r is a convolution at stride 1
// with some of the weights, where spreading the data would multiply s^2 - 1 of s^2 times by zero. Phases that read the same rows
// and columns (kernel 2 at stride 2) are one convolution with s^2 times the channels; others (kernel 4, padding 1) are side by side,
// since one window for all would hold zeros, and zero times infinity is NaN. Left as they are: groups, dilation, different
// strides, other layouts, phases without weights, data that would have to be cut.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// Of one direction: a phase reads `taps` rows of data from row q + first on, with weights tap + stride * j.
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

// W'[n O + o, c, j, i] = W[c, o, ky, kx] turned around, for phases n that have windows of one size.
Tensor weights_of(const Tensor& w, int64_t stride, const std::vector<std::pair<Phase, Phase>>& of) {
  const int64_t in = w.shape()[0], out = w.shape()[1], rows = w.shape()[2], columns = w.shape()[3];
  const auto [y0, x0] = of[0];
  Tensor made = Tensor::empty({static_cast<int64_t>(of.size()) * out, in, y0.taps, x0.taps}, w.dtype());
  int64_t at = 0;
  for (const auto& [y, x] : of)
    for (int64_t o = 0; o < out; ++o)
      for (int64_t c = 0; c < in; ++c)
        for (int64_t j = 0; j < y.taps; ++j)
          for (int64_t i = 0; i < x.taps; ++i) {
            const int64_t ky = rows - 1 - (y.tap + stride * j), kx = columns - 1 - (x.tap + stride * i);
            made.set(at++, w.at(((c * out + o) * rows + ky) * columns + kx));
          }
  return made;
}

Ints pair(const Ints& values) { return values.size() == 1 ? Ints{values[0], values[0]} : values; }

// `e` is `before` with its arguments rewritten, which have no types.
Expr as_conv2d(const Expr& before, const Expr& e) {
  const Call* call = call_of(e, "nn.conv2d_transpose");
  const TensorType* out = as<TensorType>(before->type);
  const Constant* weight = call ? as<Constant>(call->args[1]) : nullptr;
  const TensorType* data = weight ? as<TensorType>(as<Call>(before)->args[0]->type) : nullptr;
  if (!data || !out || !data->dtype.is_float() || out->dtype != data->dtype) return e;
  const Ints strides = pair(attribute<Ints>(*call, "strides", {1})),
             dilation = pair(attribute<Ints>(*call, "dilation", {1}));
  Ints padding = attribute<Ints>(*call, "padding", {0});
  if (padding.size() == 1) padding = Ints(4, padding[0]);
  if (padding.size() == 2) padding = {padding[0], padding[1], padding[0], padding[1]};
  const std::string out_layout = attribute<std::string>(*call, "out_layout", "");
  if (strides[0] < 2 || strides[0] != strides[1] || dilation != Ints{1, 1} ||
      attribute<int64_t>(*call, "groups", 1) != 1 || attribute<std::string>(*call, "data_layout", "NCHW") != "NCHW" ||
      attribute<std::string>(*call, "kernel_layout", "IOHW") != "IOHW" || (out_layout != "" && out_layout != "NCHW"))
    return e;
  const Tensor& w = weight->value;
  const std::optional<std::vector<Phase>> y = phases(strides[0], w.shape()[2], padding[0], data->shape[2],
                                                     out->shape[2]),
                                          x = phases(strides[1], w.shape()[3], padding[1], data->shape[3],
                                                     out->shape[3]);
  if (!y || !x) return e;
  auto convolution = [&](const std::vector<std::pair<Phase, Phase>>& of) {
    const auto [py, px] = of[0];
    return op::make("nn.conv2d", {call->args[0], constant(weights_of(w, strides[0], of), call->args[1]->span)},
                    {{"padding", Ints{-py.first, -px.first, py.high, px.high}}}, e->span);
  };
  std::vector<std::pair<Phase, Phase>> all;
  bool same = true;
  for (const Phase& py : *y)
    for (const Phase& px : *x) {
      all.emplace_back(py, px);
      same &= py.same_window(all[0].first) && px.same_window(all[0].second);
    }
  Expr joined;
  if (same) {
    joined = convolution(all);
  } else {
    Exprs parts;
    for (const std::pair<Phase, Phase>& one : all) parts.push_back(convolution({one}));
    joined = op::make("concatenate", {tuple(parts)}, {{"axis", int64_t{1}}}, e->span);
  }
  Expr result = op::make("nn.depth_to_space", {joined}, {{"block_size", strides[0]}}, e->span);
  // What the last block of rows has too many.
  Dims blocks;
  for (size_t d = 2; d < 4; ++d)
    blocks.push_back(
        scalar::simplify(scalar::floordiv(out->shape[d] + (strides[0] - 1), scalar::imm(strides[0])) * strides[0]));
  if (scalar::equal(blocks[0], scalar::simplify(out->shape[2])) &&
      scalar::equal(blocks[1], scalar::simplify(out->shape[3])))
    return result;
  if (!scalar::is_int(out->shape[2]) || !scalar::is_int(out->shape[3])) return e;
  return op::make(
      "strided_slice", {result},
      {{"begin", Ints{0, 0}}, {"end", Ints{out->shape[2]->ivalue, out->shape[3]->ivalue}}, {"axes", Ints{2, 3}}},
      e->span);
}

}  // namespace

Result<Module> transposed_to_conv2d(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    Expr result = rewrite(f, [](const Expr& before, const Expr& now) -> Expr { return as_conv2d(before, now); });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
