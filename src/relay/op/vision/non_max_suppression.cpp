// vision.non_max_suppression: of boxes that overlap, the one with the best score
//
// The first valid_count boxes of each image are sorted by score, and the first top_k of them are considered in turn. A
// box is left out if its intersection over union with a box kept before it is at least iou_threshold; without
// force_suppress only boxes of one class are compared. Boxes with a score of at most 0 are kept and suppress none;
// boxes with a negative class suppress none. At most max_output_size boxes are kept; no limit if negative. With an
// iou_threshold of at most 0 the valid boxes are unchanged.
//
// return_indices: (the entries of `indices` for the kept boxes, followed by -1, and (batch, 1): their number).
// Otherwise the boxes in order, with -1 in place of those left out, or with invalid_to_bottom after the kept ones.
#include "relay/op/sort/order.h"
#include "relay/op/vision/suppression.h"

namespace relay::ops {
namespace non_max_suppression_cpp {
namespace {

struct NonMaximumSuppressionAttrs {
  bool force_suppress = false;
  int64_t top_k = -1, coord_start = 2, score_index = 1, id_index = 0;
  bool return_indices = true, invalid_to_bottom = false;
  using A = NonMaximumSuppressionAttrs;
  static constexpr auto fields =
      std::tuple{field("force_suppress", &A::force_suppress, "True to compare boxes of different classes as well."),
                 field("top_k", &A::top_k, "Number of best boxes to consider; all if below 1."),
                 field("coord_start", &A::coord_start, "Index of the first of the four coordinates of a box."),
                 field("score_index", &A::score_index, "Index of the score of a box."),
                 field("id_index", &A::id_index, "Index of the class of a box; -1 if absent."),
                 field("return_indices", &A::return_indices, "True to return positions and their number."),
                 field("invalid_to_bottom", &A::invalid_to_bottom, "True to move the kept boxes to the front.")};
};

bool integer(DType t) { return t.code == DType::Code::Int || t.code == DType::Code::UInt; }

Result<Type> infer(const NonMaximumSuppressionAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* counts, tensor_input(in, 1, "valid_count"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 2, "indices"));
  // (C1) Data is boxes (batch, boxes, numbers) of floats.
  if (rank(data) != 3 || !data->dtype.is_float())
    return constraint("C1", "data must be (batch, boxes, numbers) of floats, but is {}", ir::str(in[0]));
  // (C2) There is a count for each image, and an index for each box.
  const Dims boxes = {data->shape[0], data->shape[1]};
  if (!agree(counts->shape, Dims{boxes[0]}) || !integer(counts->dtype))
    return constraint("C2", "valid_count must be ({},) of integers, as data is {}, but is {}", scalar::str(boxes[0]),
                      text(data->shape), ir::str(in[1]));
  if (!agree(indices->shape, boxes) || !integer(indices->dtype))
    return constraint("C2", "indices must be {} of integers, as data is {}, but is {}", text(boxes), text(data->shape),
                      ir::str(in[2]));
  // (C3) The limit is one integer, the threshold one float.
  RELAY_RETURN_IF_ERROR(vision::check_scalar("C3", in, 3, "max_output_size", false));
  RELAY_RETURN_IF_ERROR(vision::check_scalar("C3", in, 4, "iou_threshold", true));
  // (C4) A box has the numbers that are named.
  constexpr int64_t most = int64_t{1} << 40;  // sums of these numbers do not overflow
  const int64_t last = std::max({std::min(a.coord_start, most) + 3, a.score_index, a.id_index});
  if (last > most || a.coord_start < 0 || a.score_index < 0 || a.id_index < -1 ||
      !at_least(data->shape[2], dim(last + 1)))
    return constraint("C4", "a box of data {} does not have the numbers {} to {} (coordinates), {} (score) and {} (id)",
                      text(data->shape), a.coord_start, std::min(a.coord_start, most) + 3, a.score_index, a.id_index);
  if (!a.return_indices) return in[0];
  return ir::tuple_type({ir::tensor_type(boxes, DType::int32()), ir::tensor_type({boxes[0], dim(1)}, DType::int32())});
}

te::Tensors compute(const NonMaximumSuppressionAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &indices = in[2];
  const Expr &batch = data->shape[0], &n = data->shape[1];
  const DType wide = accumulator(data->dtype), i64 = DType::int64();
  const Expr threshold = cast(wide, (*in[4])({})), limit = cast(i64, (*in[3])({})), zero = number(0, wide);
  const Expr suppresses = lt(zero, threshold);
  auto valid = [&](const Expr& b) { return max(min(cast(i64, (*in[1])({b})), n), dim(0)); };
  te::Tensor scores = te::compute("scores", {batch, n}, [&](const Exprs& i) {
    return select(lt(i[1], valid(i[0])), (*data)({i[0], i[1], dim(a.score_index)}),
                  te::identity(Combiner::Max, data->dtype));
  });
  const Order order(scores, 1, false);
  te::Tensor places = te::compute("places", {batch, n}, [&](const Exprs& i) {
    return select(suppresses, vision::within(order.place(i), n), i[1]);
  });
  te::Tensor boxes = elementwise("ordered", data, [&](const Exprs& i) {
    return (*data)({i[0], vision::within((*places)({i[0], i[1]}), n), i[2]});
  });
  auto of_box = [&](const Exprs& line, const Expr& rank, int64_t k) {
    return cast(wide, (*boxes)({line[0], rank, dim(k)}));
  };
  vision::Candidates c;
  c.lines = {batch}, c.boxes = n, c.threshold = threshold, c.limit = select(suppresses, limit, dim(-1));
  c.count = [&](const Exprs& line) {
    const Expr all = valid(line[0]);
    return a.top_k > 0 ? select(suppresses, min(all, dim(a.top_k)), all) : all;
  };
  c.corners = [&](const Exprs& line, const Expr& rank) {
    Exprs four;
    for (int64_t k = 0; k < 4; ++k) four.push_back(of_box(line, rank, a.coord_start + k));
    return four;
  };
  c.counts = [&](const Exprs& line, const Expr& rank) {
    return logical_and(suppresses, lt(zero, of_box(line, rank, a.score_index)));
  };
  c.compared = [&](const Exprs& line, const Expr& rank, const Expr& kept) {
    if (a.id_index < 0) return imm(1, DType::boolean());
    const Expr known = le(zero, of_box(line, kept, a.id_index));
    if (a.force_suppress) return known;
    return logical_and(known, eq(of_box(line, rank, a.id_index), of_box(line, kept, a.id_index)));
  };
  const vision::Kept kept(c);
  auto rank = [&](const Exprs& i) { return vision::within(kept.rank({i[0]}, i[1]), n); };
  auto any = [&](const Exprs& i) { return lt(i[1], (*kept.count())({i[0]})); };
  if (!a.return_indices)
    return {elementwise("boxes", data, [&](const Exprs& i) {
      const Expr nothing = number(-1, data->dtype);
      if (a.invalid_to_bottom) return select(any(i), (*boxes)({i[0], rank(i), i[2]}), nothing);
      return select(kept.is_kept({i[0]}, i[1]), (*boxes)(i), nothing);
    })};
  te::Tensor found = te::compute("found", {batch, n}, [&](const Exprs& i) {
    const Expr place = vision::within((*places)({i[0], rank(i)}), n);
    return cast(DType::int32(), select(any(i), cast(i64, (*indices)({i[0], place})), dim(-1)));
  });
  return {found, te::compute("many", {batch, dim(1)},
                             [&](const Exprs& i) { return cast(DType::int32(), (*kept.count())({i[0]})); })};
}

std::vector<Example> examples() {
  const std::vector<std::string> inputs = {"(2, 12, 6)", "(2,) int32", "(2, 12) int32", "() int32", "()"};
  const std::vector<std::string> symbolic = {"(b, n, 6)", "(b,) int32", "(b, n) int32", "() int32", "()"};
  const std::vector<std::pair<double, double>> ranges = {{-0.2, 1}, {5, 12}, {0, 11}, {3, 5}, {0.1, 0.4}};
  std::vector<Example> out;
  for (const char* attrs :
       {"force_suppress=True", "force_suppress=True, top_k=4, return_indices=False",
        "id_index=-1, return_indices=False",
        "id_index=-1, score_index=0, coord_start=1, return_indices=False, invalid_to_bottom=True", ""})
    out.push_back({.inputs = inputs, .attrs = attrs, .symbolic = symbolic, .ranges = ranges});
  // No limit; a negative threshold leaves the boxes unchanged.
  auto other = ranges;
  other[3] = {-1, -1};
  out.push_back({.inputs = inputs, .attrs = "force_suppress=True", .ranges = other});
  other[4] = {-1, -0.5};
  out.push_back({.inputs = inputs, .attrs = "top_k=3, return_indices=False", .ranges = other});
  return out;
}

}  // namespace
}  // namespace non_max_suppression_cpp

OpDef vision_non_max_suppression() {
  using namespace non_max_suppression_cpp;
  return define<NonMaximumSuppressionAttrs>(
      {.name = "vision.non_max_suppression",
       .doc = "Selects boxes by score, and drops those that overlap a better one.",
       .inputs = {{"data", "(batch, boxes, numbers)"},
                  {"valid_count", "(batch,): the number of valid boxes of each image"},
                  {"indices", "(batch, boxes): the value that return_indices returns for each box"},
                  {"max_output_size", "(): the maximum number of boxes to keep; negative: no limit"},
                  {"iou_threshold", "(): the minimum overlap at which a box is dropped"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .checked =
           [](const NonMaximumSuppressionAttrs&, const Types& in) {
             const Dim& boxes = as<TensorType>(in[0])->shape[1];
             return op::Checks{{1, {scalar::simplify(boxes + 1)}, {no_axis}}};
           },
       .oracle =
           "non_max_suppression(data, valid_count, indices, max_output_size, iou_threshold, force_suppress, top_k, "
           "coord_start, score_index, id_index, return_indices, invalid_to_bottom)",
       .examples = examples(),
       .rejects =
           {{{"(9, 6)", "(2,) int32", "(2, 9) int32", "() int32", "()"}, "", "C1"},
            {{"(2, 9, 6)", "(3,) int32", "(2, 9) int32", "() int32", "()"}, "", "C2"},
            {{"(2, 9, 6)", "(2,) int32", "(2, 8) int32", "() int32", "()"}, "", "C2"},
            {{"(2, 9, 6)", "(2,) int32", "(2, 9) int32", "()", "()"}, "", "C3"},
            {{"(2, 9, 6)", "(2,) int32", "(2, 9) int32", "() int32", "(1,)"}, "", "C3"},
            {{"(2, 9, 6)", "(2,) int32", "(2, 9) int32", "() int32", "()"}, "coord_start=3", "C4"},
            {{"(2, 9, 6)", "(2,) int32", "(2, 9) int32", "() int32", "()"}, "coord_start=9223372036854775807", "C4"},
            {{"(2, 9, 6)", "(2,) int32", "(2, 9) int32", "() int32", "()"}, "score_index=9223372036854775807", "C4"}}},
      "NonMaximumSuppressionAttrs");
}

}  // namespace relay::ops
