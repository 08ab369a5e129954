// vision.regular_non_max_suppression: of the boxes of each class that overlap, the one with the best score
//
// For each image and class the boxes with a score of at least score_threshold are considered in the order of their
// scores. A box is left out if its intersection over union with one kept before it is above iou_threshold; at most
// max_detections_per_class are kept. The result is the best max_detections boxes of all classes, by score: (corners,
// classes, scores, count), followed by 0. Scores may begin with a class for the background, which is ignored: there is
// one if they have more classes than num_classes.
#include "relay/op/sort/order.h"
#include "relay/op/vision/suppression.h"

namespace relay::ops {
namespace regular_non_max_suppression_cpp {
namespace {

struct RegularNonMaximumSuppressionAttrs {
  int64_t max_detections_per_class = 0, max_detections = 0, num_classes = 0;
  double iou_threshold = 0, score_threshold = 0;
  using A = RegularNonMaximumSuppressionAttrs;
  static constexpr auto fields = std::tuple{
      required_field("max_detections_per_class", &A::max_detections_per_class, "Maximum number of boxes per class."),
      required_field("max_detections", &A::max_detections, "Maximum number of boxes per image."),
      required_field("num_classes", &A::num_classes, "Number of classes without the background."),
      required_field("iou_threshold", &A::iou_threshold, "The overlap above which the later box is dropped."),
      required_field("score_threshold", &A::score_threshold, "Minimum score.")};
};

Result<Type> infer(const RegularNonMaximumSuppressionAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* boxes, tensor_input(in, 0, "boxes"));
  RELAY_ASSIGN(const TensorType* scores, tensor_input(in, 1, "scores"));
  // (C1) Boxes are (batch, boxes, 4), scores (batch, boxes, classes), floats of one type.
  if (rank(boxes) != 3 || rank(scores) != 3 || !agree(boxes->shape, Dims{scores->shape[0], scores->shape[1], dim(4)}))
    return constraint("C1", "boxes {} and scores {} must be (batch, boxes, 4) and (batch, boxes, classes)",
                      text(boxes->shape), text(scores->shape));
  if (!scores->dtype.is_float() || scores->dtype != boxes->dtype)
    return constraint("C1", "boxes and scores must be floats of one type, but are {} and {}", boxes->dtype.str(),
                      scores->dtype.str());
  // (C2) The limits are positive, and there are scores for the classes.
  if (a.max_detections_per_class < 1 || a.max_detections < 1 || a.num_classes < 1)
    return constraint("C2", "max_detections_per_class {}, max_detections {} and num_classes {} must be positive",
                      a.max_detections_per_class, a.max_detections, a.num_classes);
  if (!at_least(scores->shape[2], dim(a.num_classes)))
    return constraint("C2", "scores {} are fewer than those of {} classes", text(scores->shape), a.num_classes);
  // (C3) There are boxes.
  if (scalar::is_int(boxes->shape[1], 0)) return constraint("C3", "boxes {} are empty", text(boxes->shape));
  const Dim &batch = boxes->shape[0], most = dim(a.max_detections);
  const Type row = ir::tensor_type({batch, most}, boxes->dtype);
  return ir::tuple_type(
      {ir::tensor_type({batch, most, dim(4)}, boxes->dtype), row, row, ir::tensor_type({batch}, DType::int32())});
}

te::Tensors compute(const RegularNonMaximumSuppressionAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& boxes = in[0];
  const Expr &batch = boxes->shape[0], &n = boxes->shape[1], classes = dim(a.num_classes);
  const DType type = boxes->dtype, wide = accumulator(type), i64 = DType::int64();
  te::Tensor scores = te::compute("scores", {batch, classes, n}, [&](const Exprs& i) {
    return (*in[1])({i[0], i[2], i[1] + (in[1]->shape[2] - a.num_classes)});
  });
  const Expr least = number(a.score_threshold, wide);
  const vision::ByClass found = vision::by_class(
      boxes, scores, [&](const Expr& score) { return le(least, score); }, number(a.iou_threshold, wide),
      dim(a.max_detections_per_class), true);
  // For all classes, with the suppressed boxes after the others.
  const Expr all = scalar::simplify(n * a.num_classes);
  te::Tensor kept = te::compute("kept_scores", {batch, all}, [&](const Exprs& i) {
    const Exprs line = {i[0], floordiv(i[1], n)};
    const Expr rank = vision::within(floormod(i[1], n), n);
    return select(found.kept.is_kept(line, rank), (*scores)({line[0], line[1], found.box(line, rank)}),
                  te::identity(Combiner::Max, type));
  });
  const Order order(kept, 1, false);
  te::Tensor count = te::reduce("count", {batch}, {classes}, Combiner::Sum,
                                [&](const Exprs& i, const Exprs& r) { return (*found.kept.count())({i[0], r[0]}); });
  auto is_box = [&](const Exprs& i) { return lt(i[1], (*count)({i[0]})); };
  // The class and box of the k-th result.
  struct Place {
    Expr line, box;
  };
  te::Tensor numbers = te::compute("numbers", {batch, dim(a.max_detections)}, [&](const Exprs& i) {
    return vision::within(order.place({i[0], vision::within(i[1], all)}), all);
  });
  auto place = [&](const Exprs& i) {
    const Expr m = (*numbers)({i[0], i[1]}), line = vision::within(floordiv(m, n), classes);
    return Place{line, found.box({i[0], line}, floormod(m, n))};
  };
  const Types& results = as<TupleType>(out)->fields;
  const Expr zero = number(0, type);
  return {te::compute("boxes", shape_of(results[0]),
                      [&](const Exprs& i) { return select(is_box(i), (*boxes)({i[0], place(i).box, i[2]}), zero); }),
          te::compute("classes", shape_of(results[1]),
                      [&](const Exprs& i) { return select(is_box(i), cast(type, place(i).line), zero); }),
          te::compute("best", shape_of(results[2]),
                      [&](const Exprs& i) {
                        const Place at = place(i);
                        return select(is_box(i), (*scores)({i[0], at.line, at.box}), zero);
                      }),
          te::compute("many", {batch}, [&](const Exprs& i) {
            return cast(DType::int32(), min((*count)({i[0]}), cast(i64, dim(a.max_detections))));
          })};
}

}  // namespace
}  // namespace regular_non_max_suppression_cpp

OpDef vision_regular_non_max_suppression() {
  using namespace regular_non_max_suppression_cpp;
  const std::string limits = "max_detections_per_class=3, max_detections=6, num_classes=3, ";
  const std::string thresholds = "iou_threshold=0.2f, score_threshold=0.3f";
  return define<RegularNonMaximumSuppressionAttrs>(
      {.name = "vision.regular_non_max_suppression",
       .doc = "The best boxes over all classes, without boxes that overlap a better one of their class.",
       .inputs = {{"boxes", "(batch, boxes, 4): two opposite corners"}, {"scores", "(batch, boxes, classes)"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "regular_non_max_suppression(boxes, scores, max_detections_per_class, max_detections, num_classes, "
                 "iou_threshold, score_threshold)",
       .examples = {{.inputs = {"(2, 9, 4)", "(2, 9, 4)"},
                     .attrs = limits + thresholds,
                     .symbolic = {"(b, n, 4)", "(b, n, 4)"},
                     .low = 0,
                     .high = 1},
                    {.inputs = {"(1, 5, 4)", "(1, 5, 2)"},
                     .attrs = "max_detections_per_class=2, max_detections=9, num_classes=2, " + thresholds,
                     .low = 0,
                     .high = 1}},
       .rejects = {{{"(2, 0, 4)", "(2, 0, 4)"}, limits + thresholds, "C3"},
                   {{"(2, 8, 4)", "(2, 9, 4)"}, limits + thresholds, "C1"},
                   {{"(2, 9, 4)", "(2, 9, 4) float64"}, limits + thresholds, "C1"},
                   {{"(2, 9, 4)", "(2, 9, 2)"}, limits + thresholds, "C2"},
                   {{"(2, 9, 4)", "(2, 9, 4)"},
                    "max_detections_per_class=0, max_detections=6, num_classes=3, " + thresholds,
                    "C2"}}},
      "RegularNonMaximumSuppressionAttrs");
}

}  // namespace relay::ops
