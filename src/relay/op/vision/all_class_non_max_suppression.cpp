// vision.all_class_non_max_suppression: of the boxes of each class that overlap, the one with the best score
//
// For each image and class the boxes with a score above score_threshold are considered in the order of their scores. A
// box is left out if its intersection over union with one kept before it is at least iou_threshold. At most
// max_output_boxes_per_class are kept; no limit if negative. Results are ordered by image, by class, by score:
//
//   output_format "onnx":       (image, class, box) of each kept box, (1,): their number
//   output_format "tensorflow": per image, (class, box) of each kept box, their scores, their number
//
// After the kept boxes all elements are 0.
#include "relay/op/vision/suppression.h"

namespace relay::ops {
namespace all_class_non_max_suppression_cpp {
namespace {

struct AllClassNonMaximumSuppressionAttrs {
  std::string output_format = "onnx";
  static constexpr auto fields = std::tuple{
      field("output_format", &AllClassNonMaximumSuppressionAttrs::output_format, "\"onnx\" or \"tensorflow\".")};
};

Result<Type> infer(const AllClassNonMaximumSuppressionAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* boxes, tensor_input(in, 0, "boxes"));
  RELAY_ASSIGN(const TensorType* scores, tensor_input(in, 1, "scores"));
  // (C1) Boxes are (batch, boxes, 4), scores (batch, classes, boxes), floats of one type.
  if (rank(boxes) != 3 || rank(scores) != 3 || !agree(boxes->shape, Dims{scores->shape[0], scores->shape[2], dim(4)}))
    return constraint("C1", "boxes {} and scores {} must be (batch, boxes, 4) and (batch, classes, boxes)",
                      text(boxes->shape), text(scores->shape));
  if (!scores->dtype.is_float() || scores->dtype != boxes->dtype)
    return constraint("C1", "boxes and scores must be floats of one type, but are {} and {}", boxes->dtype.str(),
                      scores->dtype.str());
  // (C2) The limit is one integer, the thresholds are one float each.
  RELAY_RETURN_IF_ERROR(vision::check_scalar("C2", in, 2, "max_output_boxes_per_class", false));
  RELAY_RETURN_IF_ERROR(vision::check_scalar("C2", in, 3, "iou_threshold", true));
  RELAY_RETURN_IF_ERROR(vision::check_scalar("C2", in, 4, "score_threshold", true));
  // (C3) The format is one of two.
  const DType wide = DType::int64();
  if (a.output_format == "onnx")
    return ir::tuple_type({ir::tensor_type({product(scores->shape), dim(3)}, wide), ir::tensor_type({dim(1)}, wide)});
  if (a.output_format != "tensorflow")
    return constraint("C3", "output_format must be \"onnx\" or \"tensorflow\", but is \"{}\"", a.output_format);
  const Dim &batch = scores->shape[0], places = product({scores->shape[1], scores->shape[2]});
  return ir::tuple_type({ir::tensor_type({batch, places, dim(2)}, wide),
                         ir::tensor_type({batch, places}, scores->dtype), ir::tensor_type({batch}, wide)});
}

te::Tensors compute(const AllClassNonMaximumSuppressionAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &boxes = in[0], &scores = in[1];
  const Expr &batch = scores->shape[0], &classes = scores->shape[1], &n = scores->shape[2];
  const DType wide = accumulator(scores->dtype), i64 = DType::int64();
  const Expr least = cast(wide, (*in[4])({})), threshold = cast(wide, (*in[3])({})), limit = cast(i64, (*in[2])({}));
  const vision::ByClass found =
      vision::by_class(boxes, scores, [&](const Expr& score) { return lt(least, score); }, threshold, limit, false);
  const vision::Kept& kept = found.kept;
  // The kept boxes one after the other, by their numbers among all scores (of the image), followed by -1.
  const bool by_image = a.output_format == "tensorflow";
  const Type& first = as<TupleType>(out)->fields[0];
  Exprs shape = shape_of(first);
  shape.pop_back();
  const std::vector<size_t> tasks = by_image ? std::vector<size_t>{0} : std::vector<size_t>{};
  te::Tensor numbers = te::program("numbers", shape, i64, tasks, [&](const Exprs& b, const BufferRef& result) {
    auto store = [&](const Expr& k, const Expr& value) {
      return loop::store(result, by_image ? Exprs{b[0], k} : Exprs{k}, value);
    };
    const Stmt clear = each("i", shape.back(), [&](const Expr& i) { return store(i, dim(-1)); });
    const Stmt fill = with_cell("row", dim(0), [&](const Cell& row) {
      return each_of("line", by_image ? Exprs{classes} : Exprs{batch, classes}, [&](const Exprs& i) {
        const Exprs line = by_image ? Exprs{b[0], i[0]} : i;
        const Expr before = (by_image ? i[0] : i[0] * classes + i[1]) * n;
        return let("many", max(min((*kept.count())(line), n), dim(0)), [&](const Expr& many) {
          return each("k", many, [&](const Expr& k) {
            return loop::block(
                {store(row.get(), before + found.box(line, kept.rank(line, k))), row.set(row.get() + 1)});
          });
        });
      });
    });
    return loop::block({clear, fill});
  });
  te::Tensor indices = te::compute("indices", shape_of(first), [&](const Exprs& i) {
    const Expr m = max((*numbers)(Exprs(i.begin(), i.end() - 1)), dim(0)), line = floordiv(m, n);
    if (by_image) return one_of(i.back(), {line, floormod(m, n)});
    return one_of(i.back(), {floordiv(line, classes), floormod(line, classes), floormod(m, n)});
  });
  if (!by_image)
    return {indices, te::reduce("total", {dim(1)}, {batch, classes}, Combiner::Sum,
                                [&](const Exprs&, const Exprs& r) { return (*kept.count())({r[0], r[1]}); })};
  te::Tensor best = te::compute("scores", shape, [&](const Exprs& i) {
    const Expr m = (*numbers)(i), line = vision::within(floordiv(m, n), classes), box = floormod(m, n);
    return select(le(dim(0), m), (*scores)({i[0], line, vision::within(box, n)}), number(0, scores->dtype));
  });
  return {indices, best, te::reduce("total", {batch}, {classes}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
            return (*kept.count())({i[0], r[0]});
          })};
}

}  // namespace
}  // namespace all_class_non_max_suppression_cpp

OpDef vision_all_class_non_max_suppression() {
  using namespace all_class_non_max_suppression_cpp;
  const std::vector<std::pair<double, double>> ranges = {{0, 1}, {0, 1}, {2, 3}, {0.1, 0.4}, {0.1, 0.5}};
  const std::vector<std::string> inputs = {"(2, 9, 4)", "(2, 3, 9)", "() int64", "()", "()"};
  const std::vector<std::string> symbolic = {"(b, n, 4)", "(b, c, n)", "() int64", "()", "()"};
  return define<AllClassNonMaximumSuppressionAttrs>(
      {.name = "vision.all_class_non_max_suppression",
       .doc = "Selects boxes of each class by score, and drops those that overlap a better one.",
       .inputs = {{"boxes", "(batch, boxes, 4): two opposite corners"},
                  {"scores", "(batch, classes, boxes)"},
                  {"max_output_boxes_per_class", "(): the maximum number of boxes per class; negative: no limit"},
                  {"iou_threshold", "(): the minimum overlap at which a box is dropped"},
                  {"score_threshold", "(): the score above which boxes are considered"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "all_class_non_max_suppression(boxes, scores, max_output_boxes_per_class, iou_threshold, "
                 "score_threshold, output_format)",
       .examples = {{.inputs = inputs, .symbolic = symbolic, .ranges = ranges},
                    {.inputs = inputs, .attrs = "output_format=\"tensorflow\"", .symbolic = symbolic, .ranges = ranges},
                    {.inputs = inputs, .ranges = {{0, 1}, {0, 1}, {-1, -1}, {0.1, 0.4}, {0.1, 0.5}}}},
       .rejects = {{{"(2, 8, 4)", "(2, 3, 9)", "() int64", "()", "()"}, "", "C1"},
                   {{"(2, 9, 4)", "(2, 3, 9) float64", "() int64", "()", "()"}, "", "C1"},
                   {{"(2, 9, 4)", "(2, 3, 9)", "(1,) int64", "()", "()"}, "", "C2"},
                   {{"(2, 9, 4)", "(2, 3, 9)", "() int64", "()", "()"}, "output_format=\"coco\"", "C3"}}},
      "AllClassNonMaximumSuppressionAttrs");
}

}  // namespace relay::ops
