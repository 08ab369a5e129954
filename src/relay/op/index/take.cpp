// take: out[before, j.., behind] = data[before, indices[j..], behind] along one axis; axis None: of the flattened data.
// With batch_dims the first axes of data and indices are shared. mode: "clip" clips indices to the data, "wrap" takes
// them modulo the extent, "fast" equals "clip" (data is never read out of range). "checked", Relay's extension, counts
// negative ones from the end, and refuses others outside of data.
#include <algorithm>
#include <array>

#include "relay/op/gradient.h"
#include "relay/op/index/checked.h"
#include "relay/op/shape/reshape.h"

namespace relay::ops {
namespace take_cpp {
namespace {

struct TakeAttrs {
  int64_t batch_dims = 0;
  OptInt axis;
  std::string mode = "clip";
  std::string refusal;
  static constexpr auto fields = std::tuple{
      field("batch_dims", &TakeAttrs::batch_dims, "Number of leading axes that data and indices share."),
      field("axis", &TakeAttrs::axis, "The axis that is indexed; None: the axis of the flattened data."),
      field("mode", &TakeAttrs::mode, "\"clip\", \"wrap\", \"fast\" or \"checked\"."),
      field("refusal", &TakeAttrs::refusal,
            "With \"checked\": a message and a help text, one line each, that replace those about the index.")};
};

// (C5) If there are indices, there are elements to take. (Checked indices are refused at run time.)
Status expect_some(const TakeAttrs& a, const Dim& extent, const TensorType* data, const TensorType* indices) {
  if (a.mode == "checked") return ok();
  auto is_empty = [](const Dim& d) { return scalar::is_int(d, 0); };
  const bool any = std::none_of(indices->shape.begin(), indices->shape.end(), is_empty);
  const bool known = scalar::is_int(scalar::simplify(product(indices->shape)));
  if (!is_empty(scalar::simplify(extent)) || !any || !known) return ok();
  return constraint("C5", "data {} has no elements to select, but indices are {}", text(data->shape),
                    text(indices->shape));
}

Result<Type> infer(const TakeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 1, "indices"));
  // (C1) The indices are integers.
  if (!indices->dtype.is_int()) return constraint("C1", "indices must be integers, but are {}", indices->dtype.str());
  // (C2) The mode is one of four.
  if (a.mode != "clip" && a.mode != "wrap" && a.mode != "fast" && a.mode != "checked")
    return constraint("C2", "mode must be \"clip\", \"wrap\", \"fast\" or \"checked\", but is \"{}\"", a.mode);
  if (!a.axis) {
    RELAY_RETURN_IF_ERROR(expect_some(a, product(data->shape), data, indices));
    return ir::tensor_type(indices->shape, data->dtype);
  }
  // (C3) The axis exists and is after the shared ones.
  RELAY_ASSIGN(int64_t axis, normal_axis("C3", *a.axis, rank(data)));
  int64_t batch = a.batch_dims < 0 ? a.batch_dims + rank(indices) : a.batch_dims;
  if (batch < 0 || batch > axis || batch > rank(indices))
    return constraint("C3", "batch_dims {} does not fit axis {} of data {} and indices {}", a.batch_dims, axis,
                      text(data->shape), text(indices->shape));
  // (C4) The shared axes agree.
  for (int64_t d = 0; d < batch; ++d)
    if (!agree(data->shape[static_cast<size_t>(d)], indices->shape[static_cast<size_t>(d)]))
      return constraint("C4", "data {} and indices {} differ in their first {} axes", text(data->shape),
                        text(indices->shape), batch);
  RELAY_RETURN_IF_ERROR(expect_some(a, data->shape[static_cast<size_t>(axis)], data, indices));
  Dims out(data->shape.begin(), data->shape.begin() + axis);
  out.insert(out.end(), indices->shape.begin() + batch, indices->shape.end());
  out.insert(out.end(), data->shape.begin() + axis + 1, data->shape.end());
  return ir::tensor_type(std::move(out), data->dtype);
}

op::Checks checked(const TakeAttrs& a, const Types& in) {
  if (a.mode != "checked") return {};
  const Dims& data = ir::as<ir::TensorType>(in[0])->shape;
  if (!a.axis) return {{1, {product(data)}, {-1}}};
  const int64_t axis = positive_axis(*a.axis, static_cast<int64_t>(data.size()));
  return {{1, {data[static_cast<size_t>(axis)]}, {axis}}};
}

te::Tensors compute(const TakeAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &indices = in[1];
  auto place = [&](const Exprs& at, const Expr& extent) {
    Expr index = cast(DType::int64(), (*indices)(at));
    if (a.mode == "checked") return checked_place(index, extent);
    return a.mode == "wrap" ? floormod(index, extent) : max(min(index, extent - 1), dim(0));
  };
  int64_t index_rank = static_cast<int64_t>(indices->shape.size());
  return {te::compute("take", shape_of(out), [&](const Exprs& i) {
    if (!a.axis) {
      Expr total = product(data->shape);
      return (*data)(shape::reshaped_indices(data->shape, {total}, {place(i, total)}));
    }
    int64_t axis = positive_axis(*a.axis, static_cast<int64_t>(data->shape.size()));
    int64_t batch = a.batch_dims < 0 ? a.batch_dims + index_rank : a.batch_dims;
    Exprs where(i.begin(), i.begin() + batch);  // in indices
    where.insert(where.end(), i.begin() + axis, i.begin() + axis + index_rank - batch);
    Exprs at(i.begin(), i.begin() + axis);  // in data
    at.push_back(place(where, data->shape[static_cast<size_t>(axis)]));
    at.insert(at.end(), i.begin() + axis + index_rank - batch, i.end());
    return (*data)(at);
  })};
}

ir::Expr integer(int64_t value) { return ir::constant(Tensor::from_ints({}, DType::int64(), std::array{value})); }
// The extent of an axis, int64.
ir::Expr extent_of(const ir::Expr& data, size_t axis) {
  const Dim& extent = grad::tensor(data).shape[axis];
  if (scalar::is_int(extent)) return integer(extent->ivalue);
  const ir::Expr shape = grad::call("shape_of", {data}, {{"dtype", DType::int64()}});
  return grad::call("take", {shape, integer(static_cast<int64_t>(axis))}, {{"axis", int64_t{0}}});
}
// The number of elements, int64.
ir::Expr elements_of(const ir::Expr& data) {
  ir::Expr product = integer(1);
  for (size_t d = 0; d < grad::tensor(data).shape.size(); ++d)
    product = grad::times(std::move(product), extent_of(data, d));
  return product;
}

// Each slice of dy is added to its source in data.
ir::Exprs gradient(const TakeAttrs& a, const Adjoint& of) {
  const ir::Expr& data = of.inputs[0];
  if (a.batch_dims != 0) {
    const ir::Expr sources = grad::call("take", {grad::element_numbers(data), of.inputs[1]},
                                        {{"batch_dims", a.batch_dims}, {"axis", *a.axis}, {"mode", a.mode}});
    return {grad::scattered(of.gradient, sources, data), nullptr};
  }
  const int64_t rank = a.axis ? grad::rank(data) : 1, axis = a.axis ? positive_axis(*a.axis, rank) : 0,
                places = grad::rank(of.inputs[1]);
  ir::Expr indices = of.inputs[1];
  if (a.mode != "checked") {  // in int64, because the extent may exceed the range of the indices' type
    indices = grad::call("cast", {indices}, {{"dtype", DType::int64()}});
    const ir::Expr extent = a.axis ? extent_of(data, static_cast<size_t>(axis)) : elements_of(data);
    if (a.mode == "wrap")
      indices = grad::call("floor_mod", {indices, extent});
    else
      indices = grad::call("maximum", {grad::call("minimum", {indices, grad::minus(extent, integer(1))}), integer(0)});
  }
  // The indexed axes first: data's (axis, others..), dy's (places.., others..).
  Ints data_order = {axis}, dy_order, back(static_cast<size_t>(rank));
  for (int64_t d = 0; d < places; ++d) dy_order.push_back(axis + d);
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis) continue;
    data_order.push_back(d), dy_order.push_back(d < axis ? d : d + places - 1);
  }
  for (size_t d = 0; d < data_order.size(); ++d) back[static_cast<size_t>(data_order[d])] = static_cast<int64_t>(d);
  auto ordered = [&](ir::Expr t, const Ints& order) {
    return axis == 0 ? t : grad::call("transpose", {std::move(t)}, {{"axes", order}});
  };
  const ir::Expr zeros = grad::zeros_like(data), flat = grad::call("reshape", {zeros}, {{"newshape", Ints{-1}}});
  const ir::Expr sums =
      grad::call("scatter_nd",
                 {a.axis ? ordered(zeros, data_order) : flat,
                  grad::call("expand_dims", {indices}, {{"axis", int64_t{0}}}), ordered(of.gradient, dy_order)},
                 {{"mode", "add"}});
  return {a.axis ? ordered(sums, back) : grad::shaped_as(sums, data), nullptr};
}

}  // namespace
}  // namespace take_cpp

OpDef take() {
  using namespace take_cpp;
  return define<TakeAttrs>(
      {.name = "take",
       .doc = "Selects slices of data by a tensor of indices.",
       .inputs = {{"data", "any shape"}, {"indices", "integers, any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .checked = checked,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "take(data, indices, batch_dims, axis, mode)",
       .examples =
           {{.inputs = {"(6, 4)", "(3,) int64"},
             .attrs = "axis=0",
             .symbolic = {"(v, d)", "(n,) int64"},
             .low = 0,
             .high = 5},
            {.inputs = {"(2, 5, 3)", "(2, 4) int32"},
             .attrs = "axis=1",
             .symbolic = {"(n, 5, 3)", "(2, m) int32"},
             .low = 0,
             .high = 4},
            {.inputs = {"(3, 4)", "(5,) int32"}, .symbolic = {"(n, 4)", "(m,) int32"}, .low = 0, .high = 11},
            {.inputs = {"(6, 4)", "(7,) int64"}, .attrs = "axis=0, mode=\"wrap\"", .low = -20, .high = 20},
            {.inputs = {"(6, 4)", "(7,) int64"}, .attrs = "axis=-1, mode=\"clip\"", .low = -20, .high = 20},
            {.inputs = {"(6, 4)", "(7,) int64"},
             .attrs = "axis=0, mode=\"checked\"",
             .symbolic = {"(v, 4)", "(n,) int64"},
             .low = -6,
             .high = 5},
            {.inputs = {"(3, 4)", "(2, 5) int32"},
             .attrs = "mode=\"checked\"",
             .symbolic = {"(n, 4)", "(2, m) int32"},
             .low = -12,
             .high = 11},
            {.inputs = {"(3, 5, 2)", "(3, 4) int8"},
             .attrs = "axis=1, batch_dims=1, mode=\"checked\", refusal=\"no such row\\ngive another\"",
             .low = -5,
             .high = 4},
            {.inputs = {"(3, 5, 2)", "(3, 4) int64"}, .attrs = "axis=1, batch_dims=1", .low = 0, .high = 4},
            {.inputs = {"(6, 4)", "() int64"}, .attrs = "axis=0", .low = 0, .high = 5},
            {.inputs = {"(8000, 512)", "(128,) int64"}, .attrs = "axis=0", .low = 0, .high = 7999, .bench = true}},
       .rejects = {{{"(2, 3)", "(2,)"}, "axis=0", "C1"},
                   {{"(2, 3)", "(2,) int32"}, "axis=0, mode=\"raise\"", "C2"},
                   {{"(2, 3)", "(2,) int32"}, "axis=2", "C3"},
                   {{"(2, 3)", "(4,) int32"}, "axis=1, batch_dims=1", "C4"},
                   {{"(0, 3)", "(4,) int32"}, "axis=0", "C5"}}},
      "TakeAttrs");
}

}  // namespace relay::ops
