// vision.get_valid_counts: moves the boxes whose score is above a threshold before the others (their number, the boxes,
// their indices); after the valid ones all elements are -1. With id_index >= 0 the class must not be negative either.
// vision.multibox_transform_loc: boxes (class, score, x1, y1, x2, y2) from the anchors whose best class is not the
// background (class 0) and has a score of at least the threshold; (boxes, count)
//
// One pass over the boxes records the indices of the valid ones.
#include <algorithm>

#include "relay/op/gradient.h"
#include "relay/op/loops.h"

namespace relay::ops {
namespace valid_boxes_cpp {
namespace {

struct GetValidCountsAttrs {
  int64_t id_index = 0, score_index = 1;
  static constexpr auto fields =
      std::tuple{field("id_index", &GetValidCountsAttrs::id_index, "Index of the class of a box; -1 if absent."),
                 field("score_index", &GetValidCountsAttrs::score_index, "Index of the score of a box.")};
};

struct TransformLocAttrs {
  bool clip = true;
  double threshold = 0.01;
  std::vector<double> variances = {0.1, 0.1, 0.2, 0.2};
  bool keep_background = false;
  static constexpr auto fields =
      std::tuple{field("clip", &TransformLocAttrs::clip, "True to clip corners to [0, 1]."),
                 field("threshold", &TransformLocAttrs::threshold, "Minimum score."),
                 field("variances", &TransformLocAttrs::variances, "Factors of the predicted x, y, width and height."),
                 field("keep_background", &TransformLocAttrs::keep_background,
                       "True if class 0 is an ordinary class, and classes keep their numbers.")};
};

// source[b, k]: the index of the k-th valid box, and count[b]: their number.
struct Chosen {
  te::Tensor source, count;
};
Chosen chosen(const Expr& batch, const Expr& boxes, const te::Tensor& valid) {
  Chosen c;
  c.source = te::program("source", {batch, boxes}, DType::int64(), {0}, [&](const Exprs& b, const BufferRef& result) {
    const Stmt clear = each("i", boxes, [&](const Expr& i) { return loop::store(result, {b[0], i}, dim(0)); });
    const Stmt choose = with_cell("row", dim(0), [&](const Cell& row) {
      return each("i", boxes, [&](const Expr& i) {
        return loop::if_((*valid)({b[0], i}),
                         loop::block({loop::store(result, {b[0], row.get()}, i), row.set(row.get() + 1)}));
      });
    });
    return loop::block({clear, choose});
  });
  c.count = te::reduce("count", {batch}, {boxes}, Combiner::Sum,
                       [&](const Exprs& i, const Exprs& r) { return cast(DType::int32(), (*valid)({i[0], r[0]})); });
  return c;
}

Result<Type> infer_counts(const GetValidCountsAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* threshold, tensor_input(in, 1, "score_threshold"));
  // (C1) Data is boxes (batch, boxes, numbers) of floats; the threshold is one float.
  if (rank(data) != 3 || !data->dtype.is_float())
    return constraint("C1", "data must be (batch, boxes, numbers) of floats, but is {}", ir::str(in[0]));
  if (rank(threshold) != 0 || !threshold->dtype.is_float())
    return constraint("C1", "score_threshold must be one float, but is {}", ir::str(in[1]));
  // (C2) A box has the numbers that are named.
  const int64_t last = std::max(a.score_index, a.id_index);
  if (last == INT64_MAX || a.score_index < 0 || a.id_index < -1 || !at_least(data->shape[2], dim(last + 1)))
    return constraint("C2", "a box of data {} does not have the numbers {} and {}", text(data->shape), a.id_index,
                      a.score_index);
  return ir::tuple_type({ir::tensor_type({data->shape[0]}, DType::int32()), in[0],
                         ir::tensor_type({data->shape[0], data->shape[1]}, DType::int32())});
}

te::Tensors compute_counts(const GetValidCountsAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor& data = in[0];
  const Exprs& shape = data->shape;
  const DType wide = accumulator(data->dtype);
  te::Tensor valid = te::compute("valid", {shape[0], shape[1]}, [&](const Exprs& i) {
    Expr good = lt(cast(wide, (*in[1])({})), cast(wide, (*data)({i[0], i[1], dim(a.score_index)})));
    if (a.id_index < 0) return good;
    return logical_and(good, le(number(0, data->dtype), (*data)({i[0], i[1], dim(a.id_index)})));
  });
  const Chosen c = chosen(shape[0], shape[1], valid);
  auto is_box = [&](const Exprs& i) { return lt(i[1], cast(DType::int64(), (*c.count)({i[0]}))); };
  te::Tensor boxes = elementwise("boxes", data, [&](const Exprs& i) {
    Expr from = max(min((*c.source)({i[0], i[1]}), shape[1] - 1), dim(0));
    return select(is_box(i), (*data)({i[0], from, i[2]}), number(-1, data->dtype));
  });
  te::Tensor places = elementwise("places", c.source, [&](const Exprs& i) {
    return cast(DType::int32(), select(is_box(i), (*c.source)(i), dim(-1)));
  });
  return {c.count, boxes, places};
}

Result<Type> infer_transform(const TransformLocAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* scores, tensor_input(in, 0, "cls_prob"));
  RELAY_ASSIGN(const TensorType* predicted, tensor_input(in, 1, "loc_pred"));
  RELAY_ASSIGN(const TensorType* anchors, tensor_input(in, 2, "anchor"));
  // (C1) Scores are (batch, classes, boxes), predictions (batch, 4 * boxes), anchors (1, boxes, 4), of one float type.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", scores, 3, "cls_prob"));
  const Dim &batch = scores->shape[0], &boxes = scores->shape[2];
  if (!agree(predicted->shape, Dims{batch, scalar::simplify(boxes * 4)}) ||
      !agree(anchors->shape, Dims{dim(1), boxes, dim(4)}))
    return constraint("C1", "cls_prob {} needs loc_pred (batch, 4 * boxes) and anchor (1, boxes, 4), not {} and {}",
                      text(scores->shape), text(predicted->shape), text(anchors->shape));
  if (!scores->dtype.is_float() || scores->dtype != predicted->dtype || scores->dtype != anchors->dtype)
    return constraint("C1", "cls_prob, loc_pred and anchor must be floats of one type, but are {}, {} and {}",
                      scores->dtype.str(), predicted->dtype.str(), anchors->dtype.str());
  // (C2) There are four variances.
  if (a.variances.size() != 4) return constraint("C2", "there must be 4 variances, but are {}", a.variances.size());
  return ir::tuple_type(
      {ir::tensor_type({batch, boxes, dim(6)}, predicted->dtype), ir::tensor_type({batch}, DType::int32())});
}

te::Tensors compute_transform(const TransformLocAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &scores = in[0], &predicted = in[1], &anchors = in[2];
  const Expr &batch = scores->shape[0], &classes = scores->shape[1], &boxes = scores->shape[2];
  const DType type = scores->dtype, wide = accumulator(type);
  const int64_t first = a.keep_background ? 0 : 1;
  te::Tensor best = te::reduce("best", {batch, boxes}, {scalar::simplify(classes - first)}, Combiner::Max,
                               [&](const Exprs& i, const Exprs& r) { return (*scores)({i[0], r[0] + first, i[1]}); });
  te::Tensor which = te::reduce("which", {batch, boxes}, {scalar::simplify(classes - first)}, Combiner::Min,
                                [&](const Exprs& i, const Exprs& r) {
                                  Expr here = eq((*scores)({i[0], r[0] + first, i[1]}), (*best)(i));
                                  return select(here, r[0], classes);
                                });
  te::Tensor valid = te::compute("valid", {batch, boxes}, [&](const Exprs& i) {
    return logical_and(le(number(a.threshold, wide), cast(wide, (*best)(i))), lt((*which)(i), classes));
  });
  const Chosen c = chosen(batch, boxes, valid);
  const Type& boxes_type = as<TupleType>(out)->fields[0];
  te::Tensor located = te::compute("boxes", shape_of(boxes_type), [&](const Exprs& i) {
    Expr from = max(min((*c.source)({i[0], i[1]}), boxes - 1), dim(0));
    auto anchor = [&](int64_t k) { return cast(wide, (*anchors)({dim(0), from, dim(k)})); };
    auto offset = [&](int64_t k) {
      return cast(wide, (*predicted)({i[0], from * 4 + k})) * number(a.variances[static_cast<size_t>(k)], wide);
    };
    const Expr half = number(0.5, wide);
    // The corner along an axis (0: x, 1: y), on either side.
    auto corner = [&](int64_t axis, bool high) {
      Expr low = anchor(axis), up = anchor(axis + 2), extent = up - low;
      Expr centre = offset(axis) * extent + (low + up) * half;
      Expr reach = unary(UnaryOp::Exp, offset(axis + 2)) * extent * half;
      Expr at = high ? centre + reach : centre - reach;
      return a.clip ? max(min(at, number(1, wide)), number(0, wide)) : at;
    };
    Expr value = corner(1, true);
    const Expr others[] = {cast(wide, (*which)({i[0], from})), cast(wide, (*best)({i[0], from})), corner(0, false),
                           corner(1, false), corner(0, true)};
    for (int64_t k = 5; k-- > 0;) value = select(eq(i[2], dim(k)), others[k], value);
    Expr is_box = lt(i[1], cast(DType::int64(), (*c.count)({i[0]})));
    return cast(type, select(is_box, value, number(-1, wide)));
  });
  return {located, c.count};
}

// All boxes, then the valid ones moved to the front.
ir::Expr definition_of_transform(const TransformLocAttrs& a, const ir::Exprs& in) {
  const ir::Expr &scores = in[0], &predicted = in[1], &anchors = in[2];
  const Dims& shape = grad::tensor(scores).shape;
  if (!scalar::is_int(shape[2])) return nullptr;
  const int64_t boxes = shape[2]->ivalue, first = a.keep_background ? 0 : 1;
  auto number_of = [&](double v) { return grad::number(v, scores); };
  auto part = [](const ir::Expr& e, int64_t axis, int64_t begin, int64_t end) {
    return grad::call("strided_slice", {e}, {{"begin", Ints{begin}}, {"end", Ints{end}}, {"axes", Ints{axis}}});
  };
  const ir::Expr classes = part(scores, 1, first, INT32_MAX);
  const ir::Expr best = grad::call("max", {classes}, {{"axis", Ints{1}}});
  const ir::Expr which = grad::call("argmax", {classes}, {{"axis", Ints{1}}});
  const ir::Expr valid = grad::call("greater_equal", {best, number_of(a.threshold)});
  Ints counted;
  for (int64_t i = 0; i < boxes; ++i) counted.push_back(i);
  const ir::Expr place = grad::integers(counted), behind = ir::constant(static_cast<double>(boxes), DType::int64());
  const ir::Expr keys = grad::call("where", {valid, place, grad::plus(place, behind)});  // (batch, boxes)
  const ir::Expr order = grad::call("argsort", {keys}, {{"dtype", DType::int64()}});
  const ir::Expr count =
      grad::call("sum", {grad::call("cast", {valid}, {{"dtype", DType::int32()}})}, {{"axis", Ints{1}}});
  const ir::Expr offsets = grad::call("reshape", {predicted}, {{"newshape", Ints{0, boxes, 4}}});
  auto anchor = [&](int64_t k) { return part(anchors, 2, k, k + 1); };
  auto offset = [&](int64_t k) {
    return grad::times(part(offsets, 2, k, k + 1), number_of(a.variances[static_cast<size_t>(k)]));
  };
  auto deep = [](const ir::Expr& e) { return grad::call("expand_dims", {e}, {{"axis", int64_t{2}}}); };
  ir::Exprs fields = {deep(grad::call("cast", {which}, {{"dtype", grad::tensor(scores).dtype}})), deep(best)};
  for (double side : {-0.5, 0.5})
    for (int64_t axis : {0, 1}) {
      const ir::Expr extent = grad::minus(anchor(axis + 2), anchor(axis));
      const ir::Expr middle = grad::times(grad::plus(anchor(axis), anchor(axis + 2)), number_of(0.5));
      const ir::Expr reach = grad::times(grad::times(grad::call("exp", {offset(axis + 2)}), extent), number_of(side));
      const ir::Expr at = grad::plus(grad::plus(grad::times(offset(axis), extent), middle), reach);
      fields.push_back(a.clip ? grad::call("clip", {at}, {{"a_min", 0.0}, {"a_max", 1.0}}) : at);
    }
  const ir::Expr all = grad::call("concatenate", {ir::tuple(fields)}, {{"axis", int64_t{2}}});
  const ir::Expr sorted =
      grad::call("gather", {all, grad::call("repeat", {deep(order)}, {{"repeats", int64_t{6}}, {"axis", int64_t{2}}})},
                 {{"axis", int64_t{1}}});
  const ir::Expr is_box = grad::call("less", {grad::call("cast", {place}, {{"dtype", DType::int32()}}),
                                              grad::call("expand_dims", {count}, {{"axis", int64_t{1}}})});
  return ir::tuple({grad::call("where", {deep(is_box), sorted, number_of(-1)}), count});
}

}  // namespace
}  // namespace valid_boxes_cpp

OpDef vision_get_valid_counts() {
  using namespace valid_boxes_cpp;
  return define<GetValidCountsAttrs>(
      {.name = "vision.get_valid_counts",
       .doc = "Moves the boxes whose score is above a threshold to the front.",
       .inputs = {{"data", "(batch, boxes, numbers)"}, {"score_threshold", "()"}},
       .fusion = Fusion::Opaque,
       .infer = infer_counts,
       .compute = compute_counts,
       .oracle = "valid_counts(data, score_threshold, id_index, score_index)",
       .examples = {{.inputs = {"(2, 9, 6)", "()"}, .symbolic = {"(b, n, 6)", "()"}, .ranges = {{-1, 1}, {-0.2, 0.2}}},
                    {.inputs = {"(1, 7, 5)", "()"},
                     .attrs = "id_index=-1, score_index=0",
                     .ranges = {{-1, 1}, {-0.2, 0.2}}}},
       .rejects = {{{"(9, 6)", "()"}, "", "C1"},
                   {{"(2, 9, 6)", "(1,)"}, "", "C1"},
                   {{"(2, 9, 6)", "()"}, "score_index=6", "C2"},
                   {{"(2, 9, 6)", "()"}, "score_index=9223372036854775807", "C2"}}},
      "GetValidCountsAttrs");
}

OpDef vision_multibox_transform_loc() {
  using namespace valid_boxes_cpp;
  return define<TransformLocAttrs>(
      {.name = "vision.multibox_transform_loc",
       .doc = "Computes boxes from anchors, predicted offsets and scores of classes.",
       .inputs = {{"cls_prob", "(batch, classes, boxes)"},
                  {"loc_pred", "(batch, 4 * boxes)"},
                  {"anchor", "(1, boxes, 4): x1, y1, x2, y2"}},
       .fusion = Fusion::Opaque,
       .infer = infer_transform,
       .compute = compute_transform,
       .definition = definition_of_transform,
       .oracle = "transform_loc(cls_prob, loc_pred, anchor, clip, threshold, variances, keep_background)",
       // exp and its multiplier are rounded in another order.
       .examples = {{.inputs = {"(2, 3, 5)", "(2, 20)", "(1, 5, 4)"},
                     .attrs = "threshold=0.6f",
                     .symbolic = {"(b, 3, 5)", "(b, 20)", "(1, 5, 4)"},
                     .low = 0,
                     .high = 1,
                     .ulps = 8},
                    {.inputs = {"(1, 4, 6)", "(1, 24)", "(1, 6, 4)"},
                     .attrs = "threshold=0.7f, clip=False, keep_background=True",
                     .low = 0,
                     .high = 1,
                     .ulps = 8}},
       .rejects = {{{"(3, 5)", "(2, 20)", "(1, 5, 4)"}, "", "C1"},
                   {{"(2, 3, 5)", "(2, 5)", "(1, 5, 4)"}, "", "C1"},
                   {{"(2, 3, 5)", "(2, 20) float64", "(1, 5, 4)"}, "", "C1"},
                   {{"(2, 3, 5)", "(2, 20)", "(1, 5, 4)"}, "variances=[0.1f]", "C2"}}},
      "MultiBoxTransformLocAttrs");
}

}  // namespace relay::ops
