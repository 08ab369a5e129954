// Non-maximum suppression: boxes are taken in the order of their scores; each suppresses those that overlap it.
#include <algorithm>
#include <cmath>

#include "relay/frontend/common/steps.h"
#include "relay/frontend/tflite/quantize.h"

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

// The choice of boxes by their scores. A chosen box suppresses those that share more than `widest` with it, or as much
// if `also_equal`. A score must exceed `least`, or equal it if not `also_equal`.
struct Choice {
  Expr widest, least;  // float32 scalars
  bool also_equal = true;
  Expr decay;  // of scores, by the squared overlap; null if there is none
  Expr kinds;  // (n,); boxes of different kinds do not suppress each other; null if there is one
};

// Chosen boxes, in order: places, int32, scores, and 1 for each box or 0 for none, int32.
struct Chosen {
  Expr places, scores, counts;
};

std::optional<Chosen> chosen(Convert& c, Captures& outside, const Boxes& b, const Expr& scores, const Choice& choice,
                             int64_t results) {
  auto passes = [&](const Expr& score) {
    return c.emit(choice.also_equal ? "greater" : "greater_equal", {score, choice.least});
  };
  const Expr none = c.scalar(-INFINITY, DType::float32()), zero = c.scalar(0, DType::float32());
  const Expr first = c.emit("where", {passes(scores), scores, none});
  Steps steps{.count = c.integer_scalar(results), .size = scalar::imm(results), .condition = {}, .state = {first}};
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr&, const Exprs& state) -> std::optional<Step> {
    const Expr left = state[0];
    auto one = [&](const Expr& e, const Expr& place) {
      return c.emit("take", {e, place}, {{"axis", int64_t{0}}, {"mode", "clip"}});
    };
    const Expr place = c.emit("argmax", {left}, {{"axis", ir::Ints{0}}});
    const Expr score = one(left, place);
    const Expr is_one = c.emit("logical_and", {passes(score), c.emit("greater", {score, none})});
    const Expr shared = overlap(c, b, place);
    Expr next = left;
    if (choice.decay) next = c.multiply(left, c.emit("exp", {c.multiply(c.multiply(shared, shared), choice.decay)}));
    const Expr itself = c.emit("equal", {c.count_up(left, 0), c.cast(place, DType::int64())});
    Expr near = c.emit(choice.also_equal ? "greater_equal" : "greater", {shared, choice.widest});
    if (choice.kinds) near = c.emit("logical_and", {near, c.emit("equal", {choice.kinds, one(choice.kinds, place)})});
    const Expr out = c.emit("logical_or", {near, itself});
    next = c.emit("where", {c.emit("logical_and", {c.emit("logical_not", {out}), passes(next)}), next, none});
    const Expr count = c.cast(is_one, DType::int32());
    return Step{
        .condition = {},
        .state = {next},
        .outputs = {c.multiply(c.cast(place, DType::int32()), count), c.emit("where", {is_one, score, zero}), count}};
  });
  if (!all) return std::nullopt;
  return Chosen{all->outputs[0], all->outputs[1], all->outputs[2]};
}

Boxes held(Captures& outside, Boxes b) {
  for (Expr* e : {&b.top, &b.left, &b.bottom, &b.right, &b.area}) *e = outside.hold(*e);
  return b;
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
  const Boxes b = held(outside, corners(c, boxes));
  Choice choice{.widest = outside.hold(as_scalar(c.input(3))),
                .least = outside.hold(as_scalar(c.input(4))),
                .decay = {},
                .kinds = {}};
  if (sigma) {
    const Expr s = as_scalar(sigma), zero = c.scalar(0, DType::float32());
    const Expr decays = c.emit("greater", {s, zero});
    const Expr divisor = c.emit("where", {decays, s, c.scalar(1, DType::float32())});
    choice.decay = outside.hold(c.emit("where", {decays, c.divide(c.scalar(-0.5, DType::float32()), divisor), zero}));
  }
  const std::optional<Chosen> all = chosen(c, outside, b, scores, choice, results);
  if (!all) return {};
  return {all->places, all->scores, c.emit("sum", {all->counts})};
}

}  // namespace

Values NON_MAX_SUPPRESSION_V4(Convert& c) {
  Values all = suppressed(c, nullptr);
  return all.empty() ? all : Values{all[0], all[2]};
}
Values NON_MAX_SUPPRESSION_V5(Convert& c) { return suppressed(c, c.input(5)); }

// --- detections ------------------------------------------------------------------------------------------------------

static double number_of(Convert& c, std::string_view name, double otherwise) {
  auto found = c.node.options.find(name);
  if (found == c.node.options.end()) return otherwise;
  if (const int64_t* i = std::get_if<int64_t>(&found->second)) return static_cast<double>(*i);
  const double* d = std::get_if<double>(&found->second);
  return d ? *d : otherwise;
}

// An input, (1, n, columns) or (n, columns), as reals (n, columns).
static Expr real_rows(Convert& c, size_t i, int64_t rank) {
  Expr e = c.input(i);
  if (c.is_quantized_input(i)) e = dequantized(c, e, c.input_entry(i));
  if (!c.expect_rank(e, rank, rank, "an input")) return {};
  if (rank == 3 && c.extent(e, 0) != 1) return c.unsupported("several images, {}", ir::str(e->type));
  return rank == 3 ? c.squeeze(e, 0) : e;
}

// Boxes (n, 4) by two corners, from distances and sizes in units of anchors, (n, 4): y, x, height, width.
static Expr decoded(Convert& c, const Expr& codes, const Expr& anchors) {
  auto column = [&](const Expr& e, int64_t i) { return c.cast(c.slice(e, 1, i, i + 1), DType::float64()); };
  auto units = [&](const char* name) { return c.scalar(number_of(c, name, 0), DType::float64()); };
  auto pair = [&](int64_t i, const char* distance, const char* size) {
    const Expr length = column(anchors, i + 2);
    const Expr middle = c.add(c.multiply(c.divide(column(codes, i), units(distance)), length), column(anchors, i));
    Expr half = c.emit("exp", {c.divide(column(codes, i + 2), units(size))});
    half = c.multiply(c.multiply(half, c.scalar(0.5, DType::float64())), length);
    return std::pair(c.cast(middle, DType::float32()), c.cast(half, DType::float32()));
  };
  const auto [y, height] = pair(0, "y_scale", "h_scale");
  const auto [x, width] = pair(1, "x_scale", "w_scale");
  return c.concatenate({c.subtract(y, height), c.subtract(x, width), c.add(y, height), c.add(x, width)}, 1);
}

// Inputs: codes of boxes (1, n, 4 or more), scores of classes (1, n, classes), which may begin with a background, and
// anchors (n, 4). Results: boxes (1, m, 4), classes (1, m), scores (1, m), and their number (1,); the others are 0.
// Either each box counts with its best class, and returns its `max_classes_per_detection` best ones, or each class has
// boxes of its own (`use_regular_nms`).
Values TFLite_Detection_PostProcess(Convert& c) {
  const Expr codes = real_rows(c, 0, 3), anchors = real_rows(c, 2, 2);
  Expr scores = real_rows(c, 1, 3);
  if (!codes || !scores || !anchors) return {};
  const int64_t most = c.integer("max_detections", 0), classes = c.integer("num_classes", 0);
  const bool by_class = number_of(c, "use_regular_nms", 0) != 0;
  const int64_t of_each = by_class ? 1 : c.integer("max_classes_per_detection", 0);
  const std::optional<int64_t> n = c.extent(scores, 0), columns = c.extent(scores, 1);
  if (!n || !columns || c.extent(codes, 0) != n || c.extent(anchors, 0) != n)
    return c.bad("codes {}, scores {} and anchors {}", ir::str(codes->type), ir::str(scores->type),
                 ir::str(anchors->type));
  if (classes < 1 || (*columns != classes && *columns != classes + 1) || c.extent(anchors, 1) != 4 || *n < 1)
    return c.bad("{} classes, scores {} and anchors {}", classes, ir::str(scores->type), ir::str(anchors->type));
  if (most < 1 || most > most_boxes || of_each < 1 || of_each > most_boxes / most)
    return c.over_limit("{} detections of {} classes; at most {} can be selected", most, of_each, most_boxes);
  if (by_class && c.integer("detections_per_class", 100) < std::min(most, *n))
    return c.unsupported("fewer detections per class ({}) than in all ({})", c.integer("detections_per_class", 100),
                         most);
  scores = c.slice(scores, 1, *columns - classes, *columns);
  Captures outside(c);
  const Expr boxes = decoded(c, codes, anchors);
  Choice choice{.widest = c.scalar(number_of(c, "nms_iou_threshold", 0), DType::float32()),
                .least = c.scalar(number_of(c, "nms_score_threshold", 0), DType::float32()),
                .also_equal = false,
                .decay = {},
                .kinds = {}};
  Expr all_boxes = boxes, candidates = c.reduce("max", scores, {1}, false);
  if (by_class) {
    candidates = c.reshape(c.transpose(scores, {1, 0}), {scalar::imm(classes * *n)});
    all_boxes = c.emit("tile", {boxes}, {{"reps", ir::Ints{classes, 1}}});
    const Expr numbers = c.count_up(candidates, 0);
    choice.kinds = outside.hold(c.emit("floor_divide", {numbers, c.integer_scalar(*n)}));
  }
  const Boxes b = held(outside, corners(c, all_boxes));
  const std::optional<Chosen> found = chosen(c, outside, b, outside.hold(candidates), choice, most);
  if (!found) return {};
  auto rows = [&](const Expr& e, const Expr& places) {
    return c.emit("take", {e, places}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  };
  const Expr is_one = c.expand(c.cast(found->counts, DType::float32()), 1);  // (most, 1)
  Expr places = found->places, kinds, values;
  if (by_class) {
    const Expr count = c.scalar(static_cast<double>(*n), DType::int32());
    kinds = c.expand(c.cast(c.emit("floor_divide", {places, count}), DType::float32()), 1);
    values = c.expand(found->scores, 1);
    places = c.emit("floor_mod", {places, count});
  } else {
    const int64_t wanted = std::min(of_each, classes);
    const Expr best =
        c.emit("topk", {rows(scores, places)}, {{"k", wanted}, {"axis", int64_t{-1}}, {"dtype", DType::int32()}});
    auto padded = [&](const Expr& e) {
      return wanted == of_each ? e
                               : c.pad(e, {{0, 0}, {0, of_each - wanted}}, c.scalar(0, DType::float32()), "constant");
    };
    values = padded(c.multiply(c.get(best, 0), is_one));
    kinds = padded(c.cast(c.get(best, 1), DType::float32()));
  }
  kinds = c.multiply(kinds, is_one);
  const ir::Dims one_row = {scalar::imm(1), scalar::imm(most * of_each)};
  Expr corners_of = c.expand(c.multiply(rows(boxes, places), is_one), 1);  // (most, 1, 4)
  corners_of = c.broadcast_to(corners_of, {scalar::imm(most), scalar::imm(of_each), scalar::imm(4)});
  return {c.reshape(corners_of, {one_row[0], one_row[1], scalar::imm(4)}), c.reshape(kinds, one_row),
          c.reshape(values, one_row), c.reshape(c.reduce("sum", is_one, {0, 1}, false), {scalar::imm(1)})};
}

}  // namespace relay::tflite::convert
