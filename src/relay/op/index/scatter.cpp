// scatter_elements: out = data, but out[i0, .., indices[i0, .., k, ..], ..] is updates[i0, .., k, ..], along one axis
// scatter_nd:       out = data, but out[indices[0, y..], .., indices[M - 1, y..], x..] is updates[y.., x..]
//
// With a reduction the updates are combined with data, and with each other, instead of taking its place; where several
// updates take one place, the last is kept. Indices below zero count from the end; others outside of data are refused.
//
// Each element of the result looks for its updates: time is their number times the places of data that are indexed.
#include "relay/op/index/checked.h"

namespace relay::ops {
namespace {

struct ScatterElementsAttrs {
  int64_t axis = 0;
  std::string reduction = "update";
  static constexpr auto fields = std::tuple{field("axis", &ScatterElementsAttrs::axis, "The axis that is indexed."),
                                            field("reduction", &ScatterElementsAttrs::reduction,
                                                  "\"update\", \"add\", \"mul\", \"mean\", \"min\" or \"max\".")};
};

struct ScatterNDAttrs {
  std::string mode = "update";
  static constexpr auto fields =
      std::tuple{field("mode", &ScatterNDAttrs::mode, "\"update\", \"add\", \"mul\", \"min\" or \"max\".")};
};

Combiner combiner_of(const std::string& mode) {
  if (mode == "add" || mode == "mean") return Combiner::Sum;
  if (mode == "mul") return Combiner::Prod;
  if (mode == "min") return Combiner::Min;
  return mode == "max" ? Combiner::Max : Combiner::None;
}

Status expect_mode(const char* attribute, const std::string& mode, bool with_mean) {
  if (mode == "update" || (mode == "mean" && with_mean) || (mode != "mean" && combiner_of(mode) != Combiner::None))
    return ok();
  return constraint("C1", "{} must be \"update\", \"add\", \"mul\",{} \"min\" or \"max\", but is \"{}\"", attribute,
                    with_mean ? " \"mean\"," : "", mode);
}

Expr from_the_front(const Expr& index, const Expr& extent) {
  Expr k = cast(DType::int64(), index);
  return select(lt(k, dim(0)), k + extent, k);
}

Result<Type> infer(const ScatterElementsAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 1, "indices"));
  RELAY_ASSIGN(const TensorType* updates, tensor_input(in, 2, "updates"));
  // (C1) The reduction is one of six.
  RELAY_RETURN_IF_ERROR(expect_mode("reduction", a.reduction, true));
  // (C2) The indices are integers.
  if (!indices->dtype.is_int()) return constraint("C2", "indices must be integers, but are {}", indices->dtype.str());
  // (C3) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C3", a.axis, rank(data)));
  // (C4) Indices have the axes of data, none but the indexed one longer.
  bool fits = rank(data) == rank(indices);
  for (size_t d = 0; fits && d < data->shape.size(); ++d)
    fits = static_cast<int64_t>(d) == axis || at_least(data->shape[d], indices->shape[d]);
  if (!fits)
    return constraint("C4", "indices {} does not fit data {} along axis {}", text(indices->shape), text(data->shape),
                      axis);
  // (C5) Updates have the shape of indices and the type of data.
  if (!agree(indices->shape, updates->shape))
    return constraint("C5", "updates {} and indices {} differ", text(updates->shape), text(indices->shape));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C5", data, "data", updates, "updates"));
  return in[0];
}

std::optional<op::CheckedIndices> checked(const ScatterElementsAttrs& a, const Types& in) {
  const Dims& data = ir::as<ir::TensorType>(in[0])->shape;
  const int64_t axis = positive_axis(a.axis, static_cast<int64_t>(data.size()));
  return op::CheckedIndices{1, {data[static_cast<size_t>(axis)]}, {axis}};
}

// data and the reduced updates of each element.
te::Tensors combined(const te::Tensor& data, const te::Tensor& found, Combiner combiner) {
  return {elementwise("scatter", data, [&](const Exprs& i) {
    return cast(data->dtype, te::combine(combiner, cast(found->dtype, (*data)(i)), (*found)(i)));
  })};
}

te::Tensors compute(const ScatterElementsAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &indices = in[1], &updates = in[2];
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  const Expr& count = indices->shape[axis];
  auto moved = [axis](Exprs i, const Expr& to) { return i[axis] = to, i; };
  // Whether update k of this line is for element i; indices may cover less of the other axes.
  auto is_for = [&](const Exprs& i, const Expr& k) {
    Expr here = eq(from_the_front((*indices)(moved(i, k)), data->shape[axis]), i[axis]);
    for (size_t d = 0; d < i.size(); ++d)
      if (d != axis) here = select(lt(i[d], indices->shape[d]), here, imm(0, DType::boolean()));
    return here;
  };
  Combiner combiner = combiner_of(a.reduction);
  if (combiner == Combiner::None) {
    te::Tensor last = te::reduce("last", data->shape, {count}, Combiner::Max, [&](const Exprs& i, const Exprs& r) {
      return select(is_for(i, r[0]), r[0], dim(-1));
    });
    return {elementwise("scatter", data, [&](const Exprs& i) {
      Expr k = (*last)(i), inside = le(dim(0), k);
      Exprs at = moved(i, max(min(k, count - 1), dim(0)));
      Expr value = (*updates)(at);
      for (size_t d = 0; d < i.size(); ++d)
        if (d != axis) inside = logical_and(lt(i[d], indices->shape[d]), inside);
      return select(inside, value, (*data)(i));
    })};
  }
  DType wide = accumulator(data->dtype);
  te::Tensor found = te::reduce("found", data->shape, {count}, combiner, [&](const Exprs& i, const Exprs& r) {
    return select(is_for(i, r[0]), cast(wide, (*updates)(moved(i, r[0]))), te::identity(combiner, wide));
  });
  if (a.reduction != "mean") return combined(data, found, combiner);
  te::Tensor number = te::reduce("number", data->shape, {count}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    return select(is_for(i, r[0]), imm(1, wide), imm(0, wide));
  });
  return {elementwise("scatter", data, [&](const Exprs& i) {
    return cast(data->dtype, divide(cast(wide, (*data)(i)) + (*found)(i), (*number)(i) + imm(1, wide)));
  })};
}

Result<Type> infer_nd(const ScatterNDAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 1, "indices"));
  RELAY_ASSIGN(const TensorType* updates, tensor_input(in, 2, "updates"));
  // (C1) The mode is one of five.
  RELAY_RETURN_IF_ERROR(expect_mode("mode", a.mode, false));
  // (C2) The indices are integers, and their first axis says how many axes of data are indexed.
  if (!indices->dtype.is_int() || indices->shape.empty() || !scalar::is_int(indices->shape[0]))
    return constraint("C2", "indices must be integers with a first axis of known extent, but are {}", ir::str(in[1]));
  // (C3) Data has that many axes.
  int64_t m = indices->shape[0]->ivalue;
  if (m > rank(data)) return constraint("C3", "{} indices do not fit data {}", m, text(data->shape));
  // (C4) Updates are a slice of data for each place, of the type of data.
  Dims wanted(indices->shape.begin() + 1, indices->shape.end());
  wanted.insert(wanted.end(), data->shape.begin() + m, data->shape.end());
  if (!agree(wanted, updates->shape))
    return constraint("C4", "updates {} should be {}", text(updates->shape), text(wanted));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C4", data, "data", updates, "updates"));
  return in[0];
}

std::optional<op::CheckedIndices> checked_nd(const ScatterNDAttrs&, const Types& in) {
  const Dims &data = ir::as<ir::TensorType>(in[0])->shape, &indices = ir::as<ir::TensorType>(in[1])->shape;
  op::CheckedIndices out{1, {}, {}};
  for (int64_t k = 0; scalar::is_int(indices[0]) && k < indices[0]->ivalue; ++k)
    out.axes.push_back(k), out.extents.push_back(data[static_cast<size_t>(k)]);
  return out.axes.empty() ? std::nullopt : std::optional(out);
}

te::Tensors compute_nd(const ScatterNDAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &indices = in[1], &updates = in[2];
  const std::ptrdiff_t m = indices->shape[0]->ivalue;
  Exprs places(indices->shape.begin() + 1, indices->shape.end());  // extents of what is indexed by y..
  Exprs steps = places.empty() ? Exprs{dim(1)} : places;
  auto place = [&](const Exprs& r) { return places.empty() ? Exprs() : r; };
  auto is_for = [&](const Exprs& i, const Exprs& r) {
    Expr here = imm(1, DType::boolean());
    for (int64_t k = 0; k < m; ++k) {
      Exprs at = place(r);
      at.insert(at.begin(), dim(k));
      size_t d = static_cast<size_t>(k);
      here = logical_and(here, eq(from_the_front((*indices)(at), data->shape[d]), i[d]));
    }
    return here;
  };
  auto update = [&](Exprs y, const Exprs& i) {
    y.insert(y.end(), i.begin() + m, i.end());
    return (*updates)(y);
  };
  Combiner combiner = combiner_of(a.mode);
  if (combiner != Combiner::None) {
    DType wide = accumulator(data->dtype);
    te::Tensor found = te::reduce("found", data->shape, steps, combiner, [&](const Exprs& i, const Exprs& r) {
      return select(is_for(i, r), cast(wide, update(place(r), i)), te::identity(combiner, wide));
    });
    return combined(data, found, combiner);
  }
  Exprs front(data->shape.begin(), data->shape.begin() + m);
  te::Tensor last = te::reduce("last", front, steps, Combiner::Max, [&](const Exprs& i, const Exprs& r) {
    Expr number = dim(0);
    for (size_t d = 0; d < r.size(); ++d) number = number * steps[d] + r[d];
    return select(is_for(i, r), number, dim(-1));
  });
  return {elementwise("scatter", data, [&](const Exprs& i) {
    Expr number = (*last)(Exprs(i.begin(), i.begin() + m)), rest = max(number, dim(0));
    Exprs y(places.size());
    for (size_t d = places.size(); d-- > 0;)
      y[d] = max(min(floormod(rest, places[d]), places[d] - 1), dim(0)), rest = floordiv(rest, places[d]);
    return select(le(dim(0), number), update(y, i), (*data)(i));
  })};
}

}  // namespace

OpDef scatter_elements() {
  return define<ScatterElementsAttrs>(
      {.name = "scatter_elements",
       .doc = "Data with elements along an axis replaced by, or combined with, updates.",
       .inputs = {{"data", "any shape"},
                  {"indices", "integers; places along the axis"},
                  {"updates", "the shape of indices"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .checked = checked,
       .oracle = "scatter_elements(data, indices, updates, axis, reduction)",
       .examples =
           {{.inputs = {"(3, 5)", "(2, 4) int64", "(2, 4)"}, .attrs = "axis=1", .low = -5, .high = 4},
            {.inputs = {"(6, 2)", "(4, 2) int32", "(4, 2)"},
             .attrs = "reduction=\"add\"",
             .symbolic = {"(6, n)", "(4, n) int32", "(4, n)"},
             .low = 0,
             .high = 5},
            {.inputs = {"(3, 5)", "(3, 4) int64", "(3, 4)"},
             .attrs = "axis=-1, reduction=\"mul\"",
             .low = 0,
             .high = 4},
            {.inputs = {"(3, 5)", "(3, 7) int64", "(3, 7)"}, .attrs = "axis=1, reduction=\"min\"", .low = 0, .high = 4},
            {.inputs = {"(3, 5)", "(3, 4) int64", "(3, 4)"}, .attrs = "axis=1, reduction=\"max\"", .low = 0, .high = 4},
            {.inputs = {"(3, 5)", "(3, 4) int64", "(3, 4)"},
             .attrs = "axis=1, reduction=\"mean\"",
             .low = 0,
             .high = 4}},
       .rejects = {{{"(2, 3)", "(2, 3) int32", "(2, 3)"}, "reduction=\"xor\"", "C1"},
                   {{"(2, 3)", "(2, 3)", "(2, 3)"}, "", "C2"},
                   {{"(2, 3)", "(2, 3) int32", "(2, 3)"}, "axis=2", "C3"},
                   {{"(2, 3)", "(2, 4) int32", "(2, 4)"}, "axis=0", "C4"},
                   {{"(2, 3)", "(2, 3) int32", "(2, 2)"}, "", "C5"},
                   {{"(2, 3)", "(2, 3) int32", "(2, 3) int32"}, "", "C5"}}},
      "ScatterElementsAttrs");
}

OpDef scatter_nd() {
  return define<ScatterNDAttrs>(
      {.name = "scatter_nd",
       .doc = "Data with slices replaced by, or combined with, updates; their places stand along the first axis of "
              "indices.",
       .inputs = {{"data", "any shape"},
                  {"indices", "integers, (M, ..)"},
                  {"updates", "a slice of data for each place"}},
       .fusion = Fusion::Opaque,
       .infer = infer_nd,
       .compute = compute_nd,
       .checked = checked_nd,
       .oracle = "scatter_nd(data, indices, updates, mode)",
       .examples =
           {{.inputs = {"(4, 5, 3)", "(2, 6) int64", "(6, 3)"},
             .symbolic = {"(4, 5, w)", "(2, n) int64", "(n, w)"},
             .low = 0,
             .high = 3},
            {.inputs = {"(4, 5)", "(1, 2, 3) int32", "(2, 3, 5)"}, .attrs = "mode=\"add\"", .low = -4, .high = 3},
            {.inputs = {"(4, 5)", "(2, 6) int64", "(6,)"}, .attrs = "mode=\"mul\"", .low = 0, .high = 3},
            {.inputs = {"(4, 5)", "(2, 6) int64", "(6,)"}, .attrs = "mode=\"min\"", .low = 0, .high = 3},
            {.inputs = {"(4, 5)", "(1, 6) int64", "(6, 5)"}, .attrs = "mode=\"max\"", .low = 0, .high = 3}},
       .rejects = {{{"(2, 3)", "(1, 3) int32", "(3, 3)"}, "mode=\"mean\"", "C1"},
                   {{"(2, 3)", "(1, 3)", "(3, 3)"}, "", "C2"},
                   {{"(2, 3)", "(3, 2) int32", "(2,)"}, "", "C3"},
                   {{"(2, 3)", "(1, 2) int32", "(2, 4)"}, "", "C4"},
                   {{"(2, 3)", "(1, 2) int32", "(2, 3) int32"}, "", "C4"}}},
      "ScatterNDAttrs");
}

}  // namespace relay::ops
