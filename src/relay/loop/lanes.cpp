#include "relay/loop/lanes.h"

#include <algorithm>

namespace relay::loop {

using scalar::BinaryOp;
using scalar::Kind;

std::optional<Lanes> as_lanes(const scalar::Expr& e) {
  if (e->dtype.lanes == 1) return Lanes{e, 0};
  if (e->kind == Kind::Ramp) return Lanes{e->args[0], e->ivalue};
  if (e->kind == Kind::Broadcast) return Lanes{e->args[0], 0};
  if (e->kind != Kind::Binary || !e->index) return std::nullopt;
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

// The element of a vector in lane `lane`; null if the vector is not pure arithmetic.
static scalar::Expr in_lane(const scalar::Expr& e, const scalar::Expr& lane) {
  if (e->dtype.lanes == 1) return e;
  if (e->kind == Kind::Ramp) return e->args[0] + lane * e->ivalue;
  if (e->kind == Kind::Broadcast) return e->args[0];
  if (e->kind != Kind::Binary || !e->index) return {};
  const scalar::Expr a = in_lane(e->args[0], lane), b = in_lane(e->args[1], lane);
  return a && b ? scalar::binary(e->binary, a, b) : scalar::Expr();
}

// The address that each lane reads, over the variable `lane`; null if some index is not pure arithmetic.
static scalar::Expr joined_place(const scalar::Exprs& indices, const scalar::Exprs& steps, const scalar::Expr& lane,
                                 int lanes, const scalar::Bounds& bounds) {
  scalar::Expr flat = scalar::imm(0);
  for (size_t d = 0; d < indices.size(); ++d) {
    const scalar::Expr index = in_lane(indices[d], lane);
    if (!index) return {};
    flat = flat + index * steps[d];
  }
  scalar::Bounds inside = bounds;
  inside.set(lane, 0, lanes);
  return scalar::simplify(flat, inside);
}

std::optional<Lanes> joined_lanes(const scalar::Exprs& indices, const scalar::Exprs& steps, int lanes,
                                  const scalar::Bounds& bounds) {
  const scalar::Expr lane = scalar::var("lane"), simple = joined_place(indices, steps, lane, lanes, bounds);
  const std::optional<scalar::Affine> affine = simple ? scalar::as_affine(simple, {lane}) : std::nullopt;
  if (!affine) return std::nullopt;
  scalar::Bounds inside = bounds;
  inside.set(lane, 0, lanes);
  // as_affine assumes variables to be at least 0, but loaded values may be negative.
  const scalar::Expr base = scalar::simplify(scalar::substitute(simple, {{lane, scalar::imm(0)}}), bounds);
  if (scalar::prove_equal(simple, base + lane * affine->coefficients[0], inside) != true) return std::nullopt;
  return Lanes{base, affine->coefficients[0]};
}

std::optional<LaneTable> joined_table(const scalar::Exprs& indices, const scalar::Exprs& steps, int lanes,
                                      const scalar::Bounds& bounds) {
  const scalar::Expr lane = scalar::var("lane"), place = joined_place(indices, steps, lane, lanes, bounds);
  if (!place) return std::nullopt;
  LaneTable table{scalar::simplify(scalar::substitute(place, {{lane, scalar::imm(0)}}), bounds), {}};
  for (int64_t l = 0; l < lanes; ++l) {
    const scalar::Expr distance =
        scalar::simplify(scalar::substitute(place, {{lane, scalar::imm(l)}}) - table.base, bounds);
    if (!scalar::is_int(distance)) return std::nullopt;
    table.offsets.push_back(distance->ivalue);
  }
  return table;
}

// x - y in each lane, if it is known.
static std::optional<std::vector<int64_t>> known_difference(const LaneTable& x, const LaneTable& y,
                                                            const scalar::Bounds& bounds) {
  const scalar::Expr d = scalar::simplify(x.base - y.base, bounds);
  if (!scalar::is_int(d)) return std::nullopt;
  std::vector<int64_t> lanes;
  for (size_t l = 0; l < x.offsets.size(); ++l) lanes.push_back(d->ivalue + x.offsets[l] - y.offsets[l]);
  return lanes;
}

// x in the lanes that are set, y in the others, if their bases are a known distance apart, or x and y are equal.
static std::optional<LaneTable> chosen(const std::vector<bool>& first, LaneTable x, const LaneTable& y,
                                       const scalar::Bounds& bounds) {
  if (std::all_of(first.begin(), first.end(), [](bool f) { return f; })) return x;
  if (std::none_of(first.begin(), first.end(), [](bool f) { return f; })) return y;
  const std::optional<std::vector<int64_t>> more = known_difference(x, y, bounds);
  if (!more) return std::nullopt;
  for (size_t l = 0; l < first.size(); ++l)
    if (!first[l]) x.offsets[l] -= (*more)[l];
  return x;
}

std::optional<std::vector<bool>> known_lanes(const scalar::Expr& c, int lanes, const scalar::Bounds& bounds) {
  if (c->kind == Kind::Broadcast) return known_lanes(c->args[0], lanes, bounds);
  if (c->kind == Kind::Int) return std::vector<bool>(static_cast<size_t>(lanes), c->ivalue != 0);
  if (c->kind == Kind::Unary && c->unary == scalar::UnaryOp::Not) {
    std::optional<std::vector<bool>> a = known_lanes(c->args[0], lanes, bounds);
    if (a) a->flip();
    return a;
  }
  if (c->kind != Kind::Binary) return std::nullopt;
  if (c->binary == BinaryOp::And || c->binary == BinaryOp::Or) {
    std::optional<std::vector<bool>> a = known_lanes(c->args[0], lanes, bounds);
    const std::optional<std::vector<bool>> b = known_lanes(c->args[1], lanes, bounds);
    if (!a || !b) return std::nullopt;
    for (size_t l = 0; l < a->size(); ++l)
      (*a)[l] = c->binary == BinaryOp::And ? (*a)[l] && (*b)[l] : (*a)[l] || (*b)[l];
    return a;
  }
  if (!scalar::is_comparison(c->binary) || !c->args[0]->index || !c->args[1]->index) return std::nullopt;
  const std::optional<LaneTable> x = as_table(c->args[0], lanes, bounds), y = as_table(c->args[1], lanes, bounds);
  const std::optional<std::vector<int64_t>> d = x && y ? known_difference(*x, *y, bounds) : std::nullopt;
  if (!d) return std::nullopt;
  std::vector<bool> known;
  for (int64_t v : *d)
    known.push_back(c->binary == BinaryOp::Lt   ? v < 0
                    : c->binary == BinaryOp::Le ? v <= 0
                    : c->binary == BinaryOp::Eq ? v == 0
                                                : v != 0);
  return known;
}

std::optional<LaneTable> as_table(const scalar::Expr& e, int lanes, const scalar::Bounds& bounds) {
  if (std::optional<Lanes> regular = as_lanes(e)) {
    LaneTable table{regular->base, {}};
    for (int64_t l = 0; l < lanes; ++l) table.offsets.push_back(l * regular->stride);
    return table;
  }
  if (!e->index) return std::nullopt;
  if (e->kind == Kind::Select) {
    const std::optional<std::vector<bool>> first = known_lanes(e->args[0], lanes, bounds);
    if (!first) return std::nullopt;
    std::optional<LaneTable> x = as_table(e->args[1], lanes, bounds), y = as_table(e->args[2], lanes, bounds);
    return x && y ? chosen(*first, std::move(*x), *y, bounds) : std::nullopt;
  }
  if (e->kind != Kind::Binary) return std::nullopt;
  std::optional<LaneTable> a = as_table(e->args[0], lanes, bounds), b = as_table(e->args[1], lanes, bounds);
  if (!a || !b) return std::nullopt;
  const bool by_constant = scalar::is_int(b->base) && b->offsets == std::vector<int64_t>(b->offsets.size(), 0);
  const int64_t c = by_constant ? b->base->ivalue : 0;
  switch (e->binary) {
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      const int64_t sign = e->binary == BinaryOp::Add ? 1 : -1;
      for (size_t l = 0; l < a->offsets.size(); ++l) a->offsets[l] += sign * b->offsets[l];
      a->base = sign > 0 ? a->base + b->base : a->base - b->base;
      return a;
    }
    case BinaryOp::Mul:
      if (!by_constant) return std::nullopt;
      for (int64_t& offset : a->offsets) offset *= c;
      a->base = a->base * b->base;
      return a;
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod: {
      if (c <= 0) return std::nullopt;
      const scalar::Expr rest = scalar::simplify(scalar::floormod(a->base, c), bounds);
      if (!scalar::is_int(rest)) return std::nullopt;
      auto quotient = [&](int64_t x) { return (x - ((x % c) + c) % c) / c; };
      for (int64_t& offset : a->offsets) {
        const int64_t x = rest->ivalue + offset;
        offset = e->binary == BinaryOp::FloorDiv ? quotient(x) : x - quotient(x) * c;
      }
      a->base = e->binary == BinaryOp::FloorDiv ? scalar::floordiv(a->base, c) : scalar::imm(0);
      return a;
    }
    case BinaryOp::Min:
    case BinaryOp::Max: {
      const std::optional<std::vector<int64_t>> more = known_difference(*a, *b, bounds);
      if (!more) return std::nullopt;
      std::vector<bool> first;
      for (int64_t m : *more) first.push_back(e->binary == BinaryOp::Min ? m <= 0 : m >= 0);
      return chosen(first, std::move(*a), *b, bounds);
    }
    default: return std::nullopt;
  }
}

scalar::Expr from_lanes(const scalar::Expr& base, int64_t stride, int lanes) {
  return stride == 0 ? scalar::broadcast(base, lanes) : scalar::ramp(base, stride, lanes);
}

}  // namespace relay::loop
