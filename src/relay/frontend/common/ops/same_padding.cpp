#include "relay/frontend/common/ops/same_padding.h"

#include <algorithm>

#include "relay/frontend/common/ops/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::frontend {

using ir::Expr;

std::optional<int64_t> same_padding(Conversion& c, const Expr& x, int64_t axis, int64_t taps, int64_t stride) {
  if (stride == 1) return taps - 1;
  const std::optional<int64_t> extent = c.extent(x, axis);
  if (!extent) return std::nullopt;
  return std::max<int64_t>(((*extent + stride - 1) / stride - 1) * stride + taps - *extent, 0);
}

Expr padded_to_same(Conversion& c, const Expr& x, int64_t axis, int64_t taps, int64_t stride, bool more_in_front,
                    double value) {
  const ir::Dim size = c.shape(x)[static_cast<size_t>(axis)];
  const ir::Dim wanted = scalar::simplify((floordiv(size + (stride - 1), stride) - 1) * stride + taps);
  ir::Dim total = scalar::max(scalar::simplify(wanted - size), scalar::imm(0));
  const ir::Dim front = scalar::simplify(floordiv(more_in_front ? total + 1 : total, 2));
  Expr places = c.broadcast_to(c.integer_scalar(1), {scalar::simplify(scalar::max(wanted, scalar::imm(0)))});
  places = c.emit("cumsum", {places}, {{"axis", int64_t{0}}, {"exclusive", true}});
  places = c.subtract(places, c.expression(Value(known_scalar(front, DType::int64()))));
  return filled(c, x, places, axis, c.scalar(value, c.dtype(x)));
}

}  // namespace relay::frontend
