// Convolutions and pools of data with channels last.
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/window.h"

namespace relay::onnx {

namespace convert {
Values QLinearConv(Convert& c);
}

namespace microsoft {

using ir::Expr;
using ir::Ints;

Expr channels_first(Convert& c, const Expr& e) {
  const int64_t rank = c.rank(e);
  Ints axes{0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i) axes.push_back(i);
  return c.transpose(e, axes);
}

Expr channels_last(Convert& c, const Expr& e) {
  Ints axes{0};
  for (int64_t i = 2; i < c.rank(e); ++i) axes.push_back(i);
  axes.push_back(1);
  return c.transpose(e, axes);
}

// Applies ONNX's converter to the data with channels first.
static Values with_channels_first(Convert& c, Values (*converter)(Convert&)) {
  if (!c.expect_rank(c.input(0), 3, 5, "the data")) return {};
  Values inputs = c.all_values();
  inputs[0] = Value(channels_first(c, c.input(0)));
  Values y = c.as_onnx(converter, 22, inputs);
  return y.empty() ? y : Values{channels_last(c, c.expression(y[0]))};
}

Values NhwcMaxPool(Convert& c) { return with_channels_first(c, convert::MaxPool); }

// A bias per channel, data that is added and a curve, each optional.
Values NhwcFusedConv(Convert& c) {
  if (!c.expect_rank(c.input(0), 3, 5, "the data")) return {};
  Expr y = convolution(c, channels_first(c, c.input(0)), c.input(1), {});
  if (c.has(2)) y = c.emit("nn.bias_add", {y, c.input(2)}, {{"axis", int64_t{1}}});
  if (!y) return {};
  y = channels_last(c, y);
  return {activated(c, c.has(3) ? c.add(y, c.input(3)) : y)};
}

Values NhwcConv(Convert& c) { return NhwcFusedConv(c); }

Values QLinearConv(Convert& c) {
  if (c.integer("channels_last", 0)) return with_channels_first(c, convert::QLinearConv);
  return c.as_onnx(convert::QLinearConv, 10, c.all_values());
}

}  // namespace microsoft
}  // namespace relay::onnx
