// transposed_to_conv2d: a transposed convolution with a stride and constant weights becomes an ordinary one.
//
//   nn.conv2d_transpose(%x, W, strides=[s, s], ...)    becomes    nn.depth_to_space(nn.conv2d(%x, W', ...), block_size=s)
//
// Row y = s q + r of the result reads, of the data, rows q + j - (b - r) // s with weights' rows k = s j + (b - r) % s, where b is
// the number of rows that the kernel reaches before (extent - 1 - padding). So for each of the s phases r there is a convolution
// at stride 1; together they are one with s^2 times the channels, W', zero where a phase reads less than the others. That
// computes few products with zero or none (kernel 2 or 4 at stride 2), where spreading the data computes s^2 - 1 of s^2. Left
// as they are: groups, dilation, different strides, other layouts.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// One direction. Phase r reads data from row q + first(r) on, with weights k = tap(r) + s j.
struct Phases {
  int64_t stride, extent, before;
  int64_t low = 0;     // rows that the window of all phases begins before q
  int64_t window = 0;  // its rows
  int64_t high = 0;    // padding after
  int64_t first(int64_t r) const { return -floor_div(before - r, stride); }
  int64_t tap(int64_t r) const { return before - r + stride * first(r); }
};

// Nothing if the padding is not known, or the data would have to be cut.
std::optional<Phases> phases(int64_t stride, int64_t extent, int64_t pad, const Dim& rows, const Dim& results) {
  Phases p{stride, extent, extent - 1 - pad};
  p.low = -p.first(0);
  int64_t end = 0;
  for (int64_t r = 0; r < stride; ++r) {
    const int64_t taps = (extent - p.tap(r) + stride - 1) / stride;
    end = std::max(end, p.first(r) + taps);
  }
  p.window = end + p.low;
  Dim blocks = scalar::floordiv(results + (stride - 1), scalar::imm(stride));
  Dim high = scalar::simplify(blocks + (p.window - 1 - p.low) - rows);
  if (!scalar::is_int(high) || high->ivalue < 0 || p.low < 0 || p.window < 1) return std::nullopt;
  p.high = high->ivalue;
  return p;
}

// W'[(ry s + rx) O + o, c, ty, tx] = W[c, o, ky, kx] turned around, of the tap that a phase has there.
Tensor rearranged(const Tensor& w, const Phases& y, const Phases& x) {
  const int64_t in = w.shape()[0], out = w.shape()[1], s = y.stride;
  Tensor made = Tensor::full({s * s * out, in, y.window, x.window}, w.dtype(), 0);
  auto tap_at = [](const Phases& p, int64_t r, int64_t t) {
    const int64_t k = p.tap(r) + p.stride * (t - p.low - p.first(r));
    return k >= 0 && k < p.extent && t - p.low >= p.first(r) ? p.extent - 1 - k : -1;
  };
  for (int64_t ry = 0; ry < s; ++ry)
    for (int64_t rx = 0; rx < s; ++rx)
      for (int64_t ty = 0; ty < y.window; ++ty)
        for (int64_t tx = 0; tx < x.window; ++tx) {
          const int64_t ky = tap_at(y, ry, ty), kx = tap_at(x, rx, tx);
          if (ky < 0 || kx < 0) continue;
          for (int64_t o = 0; o < out; ++o)
            for (int64_t c = 0; c < in; ++c)
              made.set(((((ry * s + rx) * out + o) * in + c) * y.window + ty) * x.window + tx,
                       w.at(((c * out + o) * y.extent + ky) * x.extent + kx));
        }
  return made;
}

Ints pair(const Ints& values) { return values.size() == 1 ? Ints{values[0], values[0]} : values; }

Expr as_conv2d(const Expr& e, const Type& type) {
  const Call* call = call_of(e, "nn.conv2d_transpose");
  const TensorType* out = as<TensorType>(type);
  const Constant* weight = call ? as<Constant>(call->args[1]) : nullptr;
  const TensorType* data = weight && call->args[0]->type ? as<TensorType>(call->args[0]->type) : nullptr;
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
  std::optional<Phases> y = phases(strides[0], w.shape()[2], padding[0], data->shape[2], out->shape[2]),
                        x = phases(strides[1], w.shape()[3], padding[1], data->shape[3], out->shape[3]);
  if (!y || !x) return e;
  Expr conv = op::make("nn.conv2d", {call->args[0], constant(rearranged(w, *y, *x), call->args[1]->span)},
                       {{"padding", Ints{y->low, x->low, y->high, x->high}}}, e->span);
  Expr result = op::make("nn.depth_to_space", {conv}, {{"block_size", strides[0]}}, e->span);
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
    Expr result = rewrite(f, [](const Expr& before, const Expr& now) -> Expr { return as_conv2d(now, before->type); });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
