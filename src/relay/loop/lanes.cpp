#include "relay/loop/lanes.h"

namespace relay::loop {

using scalar::BinaryOp;
using scalar::Kind;

std::optional<Lanes> as_lanes(const scalar::Expr& e) {
  if (e->dtype.lanes == 1) return Lanes{e, 0};
  if (e->kind == Kind::Ramp) return Lanes{e->args[0], e->ivalue};
  if (e->kind == Kind::Broadcast) return Lanes{e->args[0], 0};
  if (e->kind != Kind::Binary || e->dtype.element() != DType::int64()) return std::nullopt;
  if (e->binary != BinaryOp::Add && e->binary != BinaryOp::Sub && e->binary != BinaryOp::Mul) return std::nullopt;
  std::optional<Lanes> a = as_lanes(e->args[0]), b = as_lanes(e->args[1]);
  if (!a || !b) return std::nullopt;
  if (e->binary == BinaryOp::Add) return Lanes{a->base + b->base, a->stride + b->stride};
  if (e->binary == BinaryOp::Sub) return Lanes{a->base - b->base, a->stride - b->stride};
  if (a->stride == 0 && b->stride == 0) return Lanes{a->base * b->base, 0};
  if (b->stride == 0 && scalar::is_int(b->base)) return Lanes{a->base * b->base, a->stride * b->base->ivalue};
  if (a->stride == 0 && scalar::is_int(a->base)) return Lanes{a->base * b->base, b->stride * a->base->ivalue};
  return std::nullopt;
}

scalar::Expr from_lanes(const scalar::Expr& base, int64_t stride, int lanes) {
  return stride == 0 ? scalar::broadcast(base, lanes) : scalar::ramp(base, stride, lanes);
}

}  // namespace relay::loop
