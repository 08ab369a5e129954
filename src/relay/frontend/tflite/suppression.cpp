// Non-maximum suppression: boxes are taken in the order of their scores; each suppresses those that overlap it.
#include <cmath>

#include "relay/frontend/common/steps.h"
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Exprs;

namespace {

constexpr int64_t most_boxes = 1 << 16;  // that one operator may select: each is a step

// Corners of boxes, (n,), and their areas.
struct Boxes {
  Expr top, left, bottom, right, area;
};

Boxes corners(Convert& c, const Expr& boxes) {
  auto column = [&](int64_t i) { return c.squeeze(c.slice(boxes, 1, i, i + 1), 1); };
  auto sorted = [&](const char* op, int64_t i) { return c.emit(op, {column(i), column(i + 2)}); };
  Boxes b{sorted("minimum", 0), sorted("minimum", 1), sorted("maximum", 0), sorted("maximum", 1), {}};
  b.area = c.multiply(c.subtract(b.bottom, b.top), c.subtract(b.right, b.left));
  return b;
}

// The area that each box shares with the one at `place`, over the area of either; 0 if one is empty.
Expr overlap(Convert& c, const Boxes& b, const Expr& place) {
  auto one = [&](const Expr& e) { return c.emit("take", {e, place}, {{"axis", int64_t{0}}, {"mode", "clip"}}); };
  const Expr zero = c.scalar(0, DType::float32());
  auto length = [&](const Expr& from, const Expr& to) {
    return c.emit("maximum",
                  {c.subtract(c.emit("minimum", {to, one(to)}), c.emit("maximum", {from, one(from)})), zero});
  };
  const Expr common = c.multiply(length(b.top, b.bottom), length(b.left, b.right));
  const Expr either = c.subtract(c.add(b.area, one(b.area)), common);
  const Expr filled =
      c.emit("logical_and", {c.emit("greater", {b.area, zero}), c.emit("greater", {one(b.area), zero})});
  return c.emit("where",
                {filled, c.divide(common, c.emit("where", {filled, either, c.scalar(1, DType::float32())})), zero});
}

// Inputs: boxes (n, 4) by two opposite corners, scores (n,), the number of results, the overlap from which on a box is
// suppressed, the score that a box must exceed, and `sigma` of the factor exp(-overlap^2 / (2 sigma)) of scores, or
// null. The results are the places of boxes, their scores, and how many there are; the others are 0.
Values suppressed(Convert& c, const Expr& sigma) {
  const Expr boxes = c.input(0), scores = c.input(1);
  std::optional<ir::Ints> count = c.ints(2, "the largest number of results");
  if (!count || !c.expect_rank(boxes, 2, 2, "the boxes") || !c.expect_rank(scores, 1, 1, "the scores")) return {};
  if (c.extent(boxes, 1) != 4) return c.bad("the boxes are {}", ir::str(boxes->type));
  if (count->size() != 1 || (*count)[0] < 0) return c.bad("the number of results is [{}]", join(*count, ", "));
  const int64_t results = (*count)[0];
  if (results > most_boxes) return c.over_limit("{} results, but at most {} can be selected", results, most_boxes);
  const std::optional<int64_t> n = c.extent(scores, 0);
  if (!n) return c.unsized("scores of unknown size {}", ir::str(scores->type));
  auto as_scalar = [&](const Expr& e) { return e && c.rank(e) > 0 ? c.reshape(e, {}) : e; };
  if (results == 0 || *n == 0)
    return {c.constant(Tensor::full({results}, DType::int32(), 0)),
            c.constant(Tensor::full({results}, DType::float32(), 0)), c.constant(Tensor::full({}, DType::int32(), 0))};
  Captures outside(c);
  Boxes b = corners(c, boxes);
  for (Expr* e : {&b.top, &b.left, &b.bottom, &b.right, &b.area}) *e = outside.hold(*e);
  const Expr widest = outside.hold(as_scalar(c.input(3))), least = outside.hold(as_scalar(c.input(4)));
  const Expr none = c.scalar(-INFINITY, DType::float32());
  Expr decay;
  if (sigma) {
    const Expr s = as_scalar(sigma), zero = c.scalar(0, DType::float32());
    const Expr decays = c.emit("greater", {s, zero});
    const Expr divisor = c.emit("where", {decays, s, c.scalar(1, DType::float32())});
    decay = outside.hold(c.emit("where", {decays, c.divide(c.scalar(-0.5, DType::float32()), divisor), zero}));
  }
  const Expr first = c.emit("where", {c.emit("greater", {scores, least}), scores, none});
  Steps steps{.count = c.integer_scalar(results), .size = scalar::imm(results), .condition = {}, .state = {first}};
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr&, const Exprs& state) -> std::optional<Step> {
    const Expr left = state[0];
    const Expr place = c.emit("argmax", {left}, {{"axis", ir::Ints{0}}});
    const Expr score = c.emit("take", {left, place}, {{"axis", int64_t{0}}, {"mode", "clip"}});
    const Expr is_one = c.emit("greater", {score, least});
    const Expr shared = overlap(c, b, place);
    Expr next = decay ? c.multiply(left, c.emit("exp", {c.multiply(c.multiply(shared, shared), decay)})) : left;
    const Expr itself = c.emit("equal", {c.count_up(left, 0), c.cast(place, DType::int64())});
    const Expr out = c.emit("logical_or", {c.emit("greater_equal", {shared, widest}), itself});
    next = c.emit("where", {c.emit("logical_or", {out, c.emit("less_equal", {next, least})}), none, next});
    const Expr zero = c.scalar(0, DType::float32());
    return Step{.condition = {},
                .state = {next},
                .outputs = {c.multiply(c.cast(place, DType::int32()), c.cast(is_one, DType::int32())),
                            c.emit("where", {is_one, score, zero}), c.cast(is_one, DType::int32())}};
  });
  if (!all) return {};
  return {all->outputs[0], all->outputs[1], c.emit("sum", {all->outputs[2]})};
}

}  // namespace

Values NON_MAX_SUPPRESSION_V4(Convert& c) {
  Values all = suppressed(c, nullptr);
  return all.empty() ? all : Values{all[0], all[2]};
}
Values NON_MAX_SUPPRESSION_V5(Convert& c) { return suppressed(c, c.input(5)); }

}  // namespace relay::tflite::convert
