// Parts of object detectors: overlapping boxes are dropped, regions of images become tensors of one size.
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

// (.., 4) as four tensors, the smaller corner first.
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

// For each batch and class: boxes by descending score, keeping each that does not overlap a kept one. All batches and
// classes go through the boxes together, one box per step.
Values NonMaxSuppression(Convert& c) {
  Expr boxes = c.input(0), scores = c.input(1);
  if (!c.expect_rank(boxes, 3, 3, "boxes") || !c.expect_rank(scores, 3, 3, "scores")) return {};
  if (c.extent(boxes, 2).value_or(4) != 4) return c.bad("boxes is {}, not (N, boxes, 4)", ir::str(boxes->type));
  boxes = c.with_extent(boxes, 2, 4);
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
    auto here = [&](const Expr& e) { return c.expand(element_at(c, e, index, 2), 2); };
    Expr chosen = c.emit("logical_and", {here(state[0]), c.emit("less", {state[2], most})});
    auto shared = [&](const Expr& low, const Expr& high) {
      Expr length = c.subtract(c.emit("minimum", {high, here(high)}), c.emit("maximum", {low, here(low)}));
      return c.emit("maximum", {length, zero});
    };
    Expr both = c.multiply(shared(b.y1, b.y2), shared(b.x1, b.x2));
    Expr either = c.subtract(c.add(areas, here(areas)), both);
    // Boxes without area do not overlap.
    Expr ratio = c.emit("where", {c.emit("greater", {either, zero}), c.divide(both, either), zero});
    Expr covered = c.emit("logical_and", {chosen, c.emit("greater", {ratio, overlap})});
    Step step;
    step.state = {c.emit("logical_and", {state[0], c.emit("logical_not", {covered})}),
                  c.emit("logical_or", {state[1], c.emit("logical_and", {c.emit("equal", {places, index}), chosen})}),
                  c.add(state[2], c.cast(chosen, DType::int64()))};
    return std::optional(step);
  });
  if (!all) return {};
  // (K, 3): batch, class, and the box at the place among sorted scores. Kept boxes are found in all of them, in a row.
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
  const std::string how = c.text("coordinate_transformation_mode", c.opset < 16 ? "output_half_pixel" : "half_pixel");
  if (how != "half_pixel" && how != "output_half_pixel")
    return c.bad("coordinate_transformation_mode is '{}', not half_pixel or output_half_pixel", how);
  Expr all = c.concatenate({c.expand(c.cast(batch, c.dtype(rois)), 1), rois}, 1);
  return {c.emit("vision.roi_align", {x, all},
                 {{"pooled_size", ir::Ints{c.integer("output_height", 1), c.integer("output_width", 1)}},
                  {"spatial_scale", c.real("spatial_scale", 1)},
                  {"sample_ratio", c.integer("sampling_ratio", 0)},
                  {"mode", c.text("mode", "avg")},
                  {"aligned", how == "half_pixel"}})};
}

// The maxima of a grid in each region.
Values MaxRoiPool(Convert& c) {
  const ir::Ints size = c.ints("pooled_shape");
  if (size.size() != 2) return c.bad("pooled_shape is [{}], not a height and a width", join(size, ", "));
  return {c.emit("vision.roi_pool", {c.input(0), c.input(1)},
                 {{"pooled_size", size}, {"spatial_scale", c.real("spatial_scale", 1)}})};
}

namespace {

// For each channel, the reads of every tap of the window, times the tap's weight: (N, C * taps, H', W').
Expr masked_taps(Convert& c, const Expr& x, const Expr& mask, const EmitAttrs& geometry, int64_t channels, int64_t taps,
                 int64_t offset_groups, const ir::Ints& kernel) {
  Tensor ones = Tensor::full({channels * taps, 1, kernel[0], kernel[1]}, c.dtype(x), 0);
  for (int64_t i = 0; i < channels * taps; ++i) ones.set(i * taps + i % taps, 1);
  EmitAttrs attrs = geometry;
  attrs.push_back({"groups", channels});
  Expr all = c.emit("nn.deformable_conv2d", {x, c.input(2), c.constant(std::move(ones))}, attrs);
  if (!all || !mask) return all;
  const ir::Dims& shape = c.shape(all);
  const ir::Dim each = scalar::imm(channels / offset_groups), groups = scalar::imm(offset_groups),
                number = scalar::imm(taps);
  Expr counts = c.reshape(mask, {shape[0], groups, scalar::imm(1), number, shape[2], shape[3]});
  return c.reshape(c.multiply(c.reshape(all, {shape[0], groups, each, number, shape[2], shape[3]}), counts), shape);
}

}  // namespace

// Inputs: X, W, the offsets of the taps, a bias, and the weight of each tap.
Values DeformConv(Convert& c) {
  Expr x = c.input(0), weight = c.input(1);
  if (!c.expect_rank(x, 4, 4, "X") || !c.expect_rank(weight, 4, 4, "W")) return {};
  std::optional<int64_t> channels = c.extent(x, 1), height = c.extent(weight, 2), width = c.extent(weight, 3),
                         outputs = c.extent(weight, 0), inner = c.extent(weight, 1);
  const int64_t groups = c.integer("group", 1), offset_groups = c.integer("offset_group", 1);
  if (!channels || !height || !width || !outputs || !inner)
    return c.unsized("X is {} and W {}; channels and window must be fixed", ir::str(x->type), ir::str(weight->type));
  if (offset_groups < 1 || *channels % offset_groups != 0)
    return c.bad("{} channels do not split into {} groups of offsets", *channels, offset_groups);
  EmitAttrs geometry{{"strides", c.ints("strides", {1, 1})},
                     {"padding", c.ints("pads", {0, 0, 0, 0})},
                     {"dilation", c.ints("dilations", {1, 1})},
                     {"deformable_groups", offset_groups},
                     {"kernel_size", ir::Ints{*height, *width}}};
  Expr y;
  if (c.has(4)) {
    const int64_t taps = *height * *width;
    if (taps < 1 || taps > 4096 || *channels > 65536) return c.unsupported("W is {}", ir::str(weight->type));
    if (!c.may_make(*channels * taps * taps, c.dtype(x))) return {};
    Expr all = masked_taps(c, x, c.input(4), geometry, *channels, taps, offset_groups, {*height, *width});
    ir::Dims flat{scalar::imm(*outputs), scalar::imm(*inner * taps), scalar::imm(1), scalar::imm(1)};
    y = c.emit("nn.conv2d", {all, c.reshape(weight, flat)},
               {{"groups", groups}, {"kernel_size", ir::Ints{1, 1}}, {"channels", *outputs}});
  } else {
    geometry.push_back({"groups", groups});
    y = c.emit("nn.deformable_conv2d", {x, c.input(2), weight}, geometry);
  }
  return {c.has(3) ? c.emit("nn.bias_add", {y, c.input(3)}, {{"axis", int64_t{1}}}) : y};
}

}  // namespace relay::onnx::convert
