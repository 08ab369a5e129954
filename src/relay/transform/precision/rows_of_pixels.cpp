// rows_of_pixels: convolves an image of few channels in bfloat16 as an image of one channel, whose rows are the numbers
// of one pixel after another.
//
//   nn.conv2d(%x, W, strides=[2, 2], padding=[3, 3, 3, 3])          %x: (1, 3, 224, 224), W: (64, 3, 7, 7)
//   becomes
//   nn.conv2d(reshape(transpose(nn.pad(%x, ..), axes=[0, 2, 3, 1]), newshape=[0, 1, 224, 896]), W',
//             strides=[2, 8], padding=[3, 12, 3, 12])               W': (64, 1, 7, 28)
//
// Instructions multiply pairs of neighbours in memory, and tiles up to 32 of them: a pixel of three channels has too
// few, a window's row of seven such pixels has 28. The number of channels is made even with zeros in both factors, so
// that pairs begin where pixels do; no other product is added, and infinities stay where they were.
#include "relay/transform/precision/rows_of_pixels.h"

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

int64_t even_channels(const Shape& image) { return (image[1] + 1) / 2 * 2; }

// The value of an axis, of one for both axes or of one for each.
int64_t of_axis(const Ints& values, size_t axis) { return values.size() == 1 ? values[0] : values[axis]; }

// A constant, or one that to_mixed_precision has converted.
bool is_known(const Expr& e) {
  const Call* cast = call_of(e, "cast");
  return (cast ? cast->args[0] : e)->kind == ExprKind::Constant;
}

// [N, C, H, W] with more channels, which are zeros.
Expr with_channels(const Expr& e, int64_t more) {
  if (more == 0) return e;
  const IntLists width{{0, 0}, {0, more}, {0, 0}, {0, 0}};
  return typed_call("nn.pad", {e, typed_scalar(0, as<TensorType>(e->type)->dtype)}, {{"pad_width", width}}, e->span);
}

// [N, C, H, W] as [N, 1, H, W * C].
Expr in_rows(const Expr& e, const Shape& shape, int64_t channels) {
  const Expr even = with_channels(e, channels - shape[1]);
  const Expr pixels = typed_call("transpose", {even}, {{"axes", Ints{0, 2, 3, 1}}}, e->span);
  return typed_call("reshape", {pixels}, {{"newshape", Ints{shape[0], 1, shape[2], shape[3] * channels}}}, e->span);
}

Expr as_rows(const Call& before, const Expr& now) {
  const Call& call = *as<Call>(now);
  const Shape data = *static_shape(before.args[0]->type), weight = *static_shape(before.args[1]->type);
  const int64_t channels = even_channels(data);
  const Ints strides = attribute<Ints>(call, "strides", {1}), padding = attribute<Ints>(call, "padding", {0});
  const size_t right = padding.size() == 4 ? 3 : 1, below = padding.size() == 4 ? 2 : 0;
  Ints around{of_axis(padding, 0), of_axis(padding, 1) * channels, of_axis(padding, below),
              of_axis(padding, right) * channels};
  const Changes changes{{"strides", Ints{of_axis(strides, 0), of_axis(strides, 1) * channels}},
                        {"padding", around},
                        {"kernel_size", Ints{weight[2], weight[3] * channels}}};
  Exprs args = call.args;
  for (size_t i = 0; i < 2; ++i) {
    args[i]->type = before.args[i]->type;
    args[i] = in_rows(args[i], i == 0 ? data : weight, channels);
  }
  return ir::call(call.callee, std::move(args), with_attributes(call, changes), now->span);
}

}  // namespace

bool can_be_rows(const Call& call, int64_t most_channels) {
  // Three pixels of four numbers still gain: MobileNetV2's first layer takes 64 us and 30 for the image, not 115.
  constexpr int64_t least_numbers = 12;
  constexpr int64_t least_results = 16;  // as many columns as a tile
  if (!call_of(Expr(&call), "nn.conv2d")) return false;
  const std::optional<Shape> data = static_shape(call.args[0]->type), weight = static_shape(call.args[1]->type);
  const std::string out = attribute<std::string>(call, "out_layout", "");
  return data && weight && data->size() == 4 && weight->size() == 4 && (*data)[1] <= most_channels &&
         (*weight)[0] >= least_results && (*weight)[1] == (*data)[1] &&
         (*weight)[3] * even_channels(*data) >= least_numbers && is_known(call.args[1]) &&
         attribute<int64_t>(call, "groups", 1) == 1 && of_axis(attribute<Ints>(call, "dilation", {1}), 1) == 1 &&
         attribute<std::string>(call, "data_layout", "NCHW") == "NCHW" &&
         attribute<std::string>(call, "kernel_layout", "OIHW") == "OIHW" && (out.empty() || out == "NCHW");
}

Result<Module> rows_of_pixels(const Module& module, PassContext& context) {
  const int64_t most_channels = context.count("rows_of_pixels.most_channels");
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [&](const Expr& before, const Expr& now) -> Expr {
      const Call* call = call_of(before, "nn.conv2d");
      const TensorType* data = call ? as<TensorType>(call->args[0]->type) : nullptr;
      if (!data || data->dtype != DType::bfloat16() || !can_be_rows(*call, most_channels)) return now;
      return as_rows(*call, now);
    });
  });
}

}  // namespace relay::transform
