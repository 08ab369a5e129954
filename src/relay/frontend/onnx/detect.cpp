// What detectors of objects need: boxes that overlap are dropped, regions of images become tensors of one size.
#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/convert.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::convert {

using ir::Expr;
using ir::Exprs;

namespace {

struct Corners {
  Expr y1, x1, y2, x2;
};

// (.., 4) as four tensors, the lesser corner first.
Corners corners(Convert& c, const Expr& boxes, int64_t axis) {
  auto side = [&](int64_t i) { return c.squeeze(c.slice(boxes, axis, i, i + 1), axis); };
  Expr a = side(0), b = side(1), d = side(2), e = side(3);
  if (c.integer("center_point_box", 0)) {  // x, y of the centre, width, height
    Expr half_w = c.multiply(d, 0.5), half_h = c.multiply(e, 0.5);
    return {c.subtract(b, half_h), c.subtract(a, half_w), c.add(b, half_h), c.add(a, half_w)};
  }
  auto low = [&](const Expr& x, const Expr& y) { return c.emit("minimum", {x, y}); };
  auto high = [&](const Expr& x, const Expr& y) { return c.emit("maximum", {x, y}); };
  return {low(a, d), low(b, e), high(a, d), high(b, e)};
}

Expr area(Convert& c, const Corners& b) { return c.multiply(c.subtract(b.y2, b.y1), c.subtract(b.x2, b.x1)); }

}  // namespace

// For each batch and class: boxes by falling score, each kept that overlaps with none kept before. All batches and
// classes go through the boxes together, one box a step.
Values NonMaxSuppression(Convert& c) {
  Expr boxes = c.input(0), scores = c.input(1);
  if (!c.expect_rank(boxes, 3, 3, "boxes") || !c.expect_rank(scores, 3, 3, "scores")) return {};
  auto number = [&](size_t i, DType dtype) {
    Expr e = c.has(i) ? c.cast(c.input(i), dtype) : c.scalar(0, dtype);
    return e && c.rank(e) > 0 ? c.reshape(e, {}) : e;
  };
  Expr most = number(2, DType::int64()), overlap = number(3, c.dtype(boxes));
  Expr order = c.emit("argsort", {scores}, {{"axis", int64_t{2}}, {"is_ascend", false}, {"dtype", DType::int64()}});
  Expr sorted = c.emit("gather", {scores, order}, {{"axis", int64_t{2}}});
  // (N, C, M) boxes, in the order of their scores.
  Corners by_place = corners(c, boxes, 2), b;
  auto ordered = [&](const Expr& side) {
    return c.emit("gather", {c.emit("broadcast_to_like", {c.expand(side, 1), scores}), order}, {{"axis", int64_t{2}}});
  };
  b = {ordered(by_place.y1), ordered(by_place.x1), ordered(by_place.y2), ordered(by_place.x2)};
  Expr alive = c.has(4) ? c.emit("greater", {sorted, number(4, c.dtype(scores))}) : c.emit("equal", {order, order});
  Expr none = c.emit("not_equal", {order, order}), zero = c.scalar(0, c.dtype(boxes));
  if (!alive || !none || c.failed()) return {};
  Captures outside(c);
  Expr areas = outside.hold(area(c, b)), places = outside.hold(c.count_up(scores, 2));
  most = outside.hold(most), overlap = outside.hold(overlap);
  b = {outside.hold(b.y1), outside.hold(b.x1), outside.hold(b.y2), outside.hold(b.x2)};
  Expr counts = c.multiply(c.reduce("sum", c.cast(none, DType::int64()), {2}, true), 0.0);
  Steps steps;
  steps.count = c.size_of(scores, 2), steps.size = c.shape(scores)[2], steps.state = {alive, none, counts};
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr& index, const Exprs& state) {
    auto here = [&](const Expr& e) { return c.expand(c.emit("take", {e, index}, {{"axis", int64_t{2}}}), 2); };
    Expr chosen = c.emit("logical_and", {here(state[0]), c.emit("less", {state[2], most})});
    auto shared = [&](const Expr& low, const Expr& high) {
      Expr length = c.subtract(c.emit("minimum", {high, here(high)}), c.emit("maximum", {low, here(low)}));
      return c.emit("maximum", {length, zero});
    };
    Expr both = c.multiply(shared(b.y1, b.y2), shared(b.x1, b.x2));
    Expr either = c.subtract(c.add(areas, here(areas)), both);
    // Boxes without area overlap with nothing.
    Expr ratio = c.emit("where", {c.emit("greater", {either, zero}), c.divide(both, either), zero});
    Expr covered = c.emit("logical_and", {chosen, c.emit("greater", {ratio, overlap})});
    Step step;
    step.state = {c.emit("logical_and", {state[0], c.emit("logical_not", {covered})}),
                  c.emit("logical_or", {state[1], c.emit("logical_and", {c.emit("equal", {places, index}), chosen})}),
                  c.add(state[2], c.cast(chosen, DType::int64()))};
    return std::optional(step);
  });
  if (!all) return {};
  // (K, 3): batch, class, and the box at the place among scores in order. What is kept is found in all of them, in a
  // row.
  auto in_a_row = [&](const Expr& e) {
    const ir::Dims& s = c.shape(e);
    return c.reshape(e, {scalar::simplify(s[0] * s[1] * s[2])});
  };
  Expr found = c.cast(c.emit("argwhere", {in_a_row(all->state[1])}), DType::int64());
  Expr box = c.emit("take", {in_a_row(order), found}, {{"mode", "clip"}});
  Expr line = c.emit("floor_divide", {found, c.size_of(scores, 2)}), classes = c.size_of(scores, 1);
  return {c.concatenate({c.emit("floor_divide", {line, classes}), c.emit("floor_mod", {line, classes}), box}, 1)};
}

Values RoiAlign(Convert& c) {
  Expr x = c.input(0), rois = c.input(1), batch = c.input(2);
  if (!c.expect_rank(x, 4, 4, "the data") || !c.expect_rank(rois, 2, 2, "rois") ||
      !c.expect_rank(batch, 1, 1, "batch_indices"))
    return {};
  const int64_t samples = c.integer("sampling_ratio", 0);
  if (samples < 1)
    return c.unsupported("sampling_ratio is {}: as many samples as a region has pixels; export it with a number",
                         samples);
  const std::string how = c.text("coordinate_transformation_mode", c.opset < 16 ? "output_half_pixel" : "half_pixel");
  if (how != "half_pixel" && how != "output_half_pixel")
    return c.bad("coordinate_transformation_mode is '{}', not half_pixel or output_half_pixel", how);
  Expr all = c.concatenate({c.expand(c.cast(batch, c.dtype(rois)), 1), rois}, 1);
  return {c.emit("vision.roi_align", {x, all},
                 {{"pooled_size", ir::Ints{c.integer("output_height", 1), c.integer("output_width", 1)}},
                  {"spatial_scale", c.real("spatial_scale", 1)},
                  {"sample_ratio", samples},
                  {"mode", c.text("mode", "avg")},
                  {"aligned", how == "half_pixel"}})};
}

}  // namespace relay::onnx::convert
