#include "relay/frontend/common/ops/window.h"

#include "relay/frontend/common/ops/same_padding.h"

namespace relay::frontend {

using ir::Expr;
using ir::Ints;

bool expect_window(Conversion& c, const Window& w) {
  for (const Ints* list : {&w.kernel, &w.strides, &w.dilations})
    for (int64_t one : *list)
      if (one < 1 || one > INT32_MAX) {
        c.bad("kernel [{}], strides [{}] and dilations [{}] must be from 1 to 2^31 - 1", join(w.kernel, ", "),
              join(w.strides, ", "), join(w.dilations, ", "));
        return false;
      }
  return true;
}

bool pad_to_same(Conversion& c, const Expr& x, int64_t first, bool more_in_front, Window& w, Expr* padded,
                 double value) {
  const size_t axes = w.kernel.size();
  w.pads.assign(2 * axes, 0);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t axis = static_cast<int64_t>(i) + first, taps = (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (std::optional<int64_t> total = same_padding(c, x, axis, taps, w.strides[i])) {
      w.pads[i] = more_in_front ? *total - *total / 2 : *total / 2;
      w.pads[axes + i] = *total - w.pads[i];
      continue;
    }
    if (!padded || is_any(c.shape(x)[static_cast<size_t>(axis)])) {
      c.unsized("\"same\" padding with stride {} needs a fixed size, but the data is {}", w.strides[i],
                ir::str(x->type));
      return false;
    }
    *padded = padded_to_same(c, *padded ? *padded : x, axis, taps, w.strides[i], more_in_front, value);
    if (!*padded) return false;
  }
  return true;
}

}  // namespace relay::frontend
