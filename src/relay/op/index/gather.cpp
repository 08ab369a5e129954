// gather:    out[i0, .., ia, ..] = data[i0, .., indices[i0, .., ia, ..], ..] along one axis
// gather_nd: out[y.., x..] = data[y.. (batch_dims of them), indices[0, y..], .., indices[M - 1, y..], x..]
//
// Negative indices count from the end; others outside of data are refused.
#include "relay/op/gradient.h"
#include "relay/op/index/checked.h"

namespace relay::ops {
namespace gather_cpp {
namespace {

struct GatherAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &GatherAttrs::axis, "The axis that is indexed.")};
};

struct GatherNDAttrs {
  int64_t batch_dims = 0;
  OptInt index_rank;
  static constexpr auto fields = std::tuple{
      field("batch_dims", &GatherNDAttrs::batch_dims, "Number of leading axes that data and the result share."),
      field("index_rank", &GatherNDAttrs::index_rank,
            "The extent of the first axis of indices, if its type leaves it open.")};
};

Result<Type> infer(const GatherAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 1, "indices"));
  // (C1) The indices are integers.
  if (!indices->dtype.is_int()) return constraint("C1", "indices must be integers, but are {}", indices->dtype.str());
  // (C2) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C2", a.axis, rank(data)));
  // (C3) Both have as many axes, and indices is not longer except along the indexed one.
  bool fits = rank(data) == rank(indices);
  for (size_t d = 0; fits && d < data->shape.size(); ++d)
    fits = static_cast<int64_t>(d) == axis || at_least(data->shape[d], indices->shape[d]);
  if (!fits)
    return constraint("C3", "indices {} does not fit data {} along axis {}", text(indices->shape), text(data->shape),
                      axis);
  return ir::tensor_type(indices->shape, data->dtype);
}

op::Checks checked(const GatherAttrs& a, const Types& in) {
  const Dims& data = ir::as<ir::TensorType>(in[0])->shape;
  const int64_t axis = positive_axis(a.axis, static_cast<int64_t>(data.size()));
  return {{1, {data[static_cast<size_t>(axis)]}, {axis}}};
}

te::Tensors compute(const GatherAttrs& a, const te::Tensors& in, const Type& out) {
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  return {te::compute("gather", shape_of(out), [&](Exprs i) {
    i[axis] = checked_place((*in[1])(i), in[0]->shape[axis]);
    return (*in[0])(i);
  })};
}

Result<Type> infer_nd(const GatherNDAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 1, "indices"));
  // (C1) The indices are integers.
  if (!indices->dtype.is_int()) return constraint("C1", "indices must be integers, but are {}", indices->dtype.str());
  // (C2) The first axis of indices has a known extent: the number of indexed axes.
  if (indices->shape.empty()) return constraint("C2", "indices must have at least one axis");
  const Dim m = a.index_rank ? dim(*a.index_rank) : indices->shape[0];
  if (!scalar::is_int(m)) {
    Diagnostic d =
        constraint("C2", "the extent of the first axis of indices {}, the number of indexed axes, is unknown",
                   text(indices->shape));
    d.help = "give it as index_rank, or give the shape of indices";
    return d;
  }
  if (m->ivalue < 0 || !agree(indices->shape[0], m))
    return constraint("C2", "index_rank is {}, but indices is {}", m->ivalue, text(indices->shape));
  // (C3) Data has that many axes after the shared ones.
  if (a.batch_dims < 0 || a.batch_dims > rank(indices) - 1 || a.batch_dims + m->ivalue > rank(data))
    return constraint("C3", "{} indices after {} shared axes do not fit data {}", m->ivalue, a.batch_dims,
                      text(data->shape));
  // (C4) The shared axes agree.
  for (size_t d = 0; d < static_cast<size_t>(a.batch_dims); ++d)
    if (!agree(data->shape[d], indices->shape[d + 1]))
      return constraint("C4", "data {} and indices {} differ in the {} shared axes", text(data->shape),
                        text(indices->shape), a.batch_dims);
  Dims out(indices->shape.begin() + 1, indices->shape.end());
  out.insert(out.end(), data->shape.begin() + a.batch_dims + m->ivalue, data->shape.end());
  return ir::tensor_type(std::move(out), data->dtype);
}

op::Checks checked_nd(const GatherNDAttrs& a, const Types& in) {
  const Dims &data = ir::as<ir::TensorType>(in[0])->shape, &indices = ir::as<ir::TensorType>(in[1])->shape;
  const int64_t m = a.index_rank.value_or(scalar::is_int(indices[0]) ? indices[0]->ivalue : 0);
  op::CheckedIndices out{1, {}, {}};
  for (int64_t k = 0; k < m; ++k) {
    out.axes.push_back(a.batch_dims + k);
    out.extents.push_back(data[static_cast<size_t>(a.batch_dims + k)]);
  }
  return m > 0 ? op::Checks{out} : op::Checks{};
}

te::Tensors compute_nd(const GatherNDAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &indices = in[1];
  int64_t m = a.index_rank.value_or(indices->shape[0]->ivalue),
          places = static_cast<int64_t>(indices->shape.size()) - 1;
  return {te::compute("gather_nd", shape_of(out), [&](const Exprs& i) {
    Exprs at(i.begin(), i.begin() + a.batch_dims);
    for (int64_t k = 0; k < m; ++k) {
      Exprs where = {dim(k)};
      where.insert(where.end(), i.begin(), i.begin() + places);
      at.push_back(checked_place((*indices)(where), data->shape[at.size()]));
    }
    at.insert(at.end(), i.begin() + places, i.end());
    return (*data)(at);
  })};
}

ir::Exprs gradient(const GatherAttrs& a, const Adjoint& of) {
  return {grad::call("scatter_elements", {grad::zeros_like(of.inputs[0]), of.inputs[1], of.gradient},
                     {{"axis", a.axis}, {"reduction", "add"}}),
          nullptr};
}

ir::Exprs gradient_nd(const GatherNDAttrs& a, const Adjoint& of) {
  if (a.batch_dims != 0) {
    const ir::Expr& data = of.inputs[0];
    AttrValues attrs = {{"batch_dims", a.batch_dims}};
    if (a.index_rank) attrs.push_back({"index_rank", *a.index_rank});
    const ir::Expr sources = grad::call("gather_nd", {grad::element_numbers(data), of.inputs[1]}, attrs);
    return {grad::scattered(of.gradient, sources, data), nullptr};
  }
  return {grad::call("scatter_nd", {grad::zeros_like(of.inputs[0]), of.inputs[1], of.gradient}, {{"mode", "add"}}),
          nullptr};
}

}  // namespace
}  // namespace gather_cpp

OpDef gather() {
  using namespace gather_cpp;
  return define<GatherAttrs>(
      {.name = "gather",
       .doc = "Selects elements along an axis by a tensor of indices with the same rank.",
       .inputs = {{"data", "any shape"}, {"indices", "integers, with the shape of the result"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .checked = checked,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "torch.gather(data, axis, torch.where(indices < 0, indices + data.shape[axis], indices).long())",
       .examples =
           {{.inputs = {"(3, 5)", "(3, 4) int64"},
             .attrs = "axis=1",
             .symbolic = {"(n, 5)", "(n, m) int64"},
             .low = 0,
             .high = 4},
            {.inputs = {"(6, 2, 3)", "(4, 2, 3) int32"}, .attrs = "axis=-3", .low = -6, .high = 5},
            {.inputs = {"(3, 5)", "(2, 4) int64"}, .attrs = "axis=1", .low = 0, .high = 4},
            {.inputs = {"(128, 1000)", "(128, 500) int64"}, .attrs = "axis=1", .low = 0, .high = 999, .bench = true}},
       .rejects = {{{"(2, 3)", "(2, 3)"}, "axis=0", "C1"},
                   {{"(2, 3)", "(2, 3) int32"}, "axis=2", "C2"},
                   {{"(2, 3)", "(2,) int32"}, "axis=0", "C3"},
                   {{"(2, 3)", "(5, 4) int32"}, "axis=0", "C3"}}},
      "GatherAttrs");
}

OpDef gather_nd() {
  using namespace gather_cpp;
  return define<GatherNDAttrs>(
      {.name = "gather_nd",
       .doc = "Selects slices by index tuples, which are stored along the first axis of indices.",
       .inputs = {{"data", "any shape"}, {"indices", "integers, (M, ..)"}},
       .fusion = Fusion::Injective,
       .infer = infer_nd,
       .compute = compute_nd,
       .checked = checked_nd,
       .gradient = gradient_nd,
       .accepts_storage_types = true,
       .oracle = "gather_nd(data, indices, batch_dims)",
       .examples =
           {{.inputs = {"(4, 5, 3)", "(2, 6) int64"}, .symbolic = {"(4, 5, w)", "(2, n) int64"}, .low = 0, .high = 3},
            {.inputs = {"(4, 5)", "(2, 2, 3) int32"}, .attrs = "index_rank=2", .low = -4, .high = 3},
            {.inputs = {"(3, 4, 5)", "(1, 3, 2) int64"}, .attrs = "batch_dims=1", .low = 0, .high = 3},
            {.inputs = {"(3, 4)", "(1, 5) int64"}, .low = 0, .high = 2}},
       .rejects = {{{"(2, 3)", "(2, 3)"}, "", "C1"},
                   {{"(2, 3)", "() int32"}, "", "C2"},
                   {{"(2, 3)", "(n, 2) int32"}, "", "C2"},
                   {{"(2, 3)", "(1, 2) int32"}, "index_rank=2", "C2"},
                   {{"(2, 3)", "(3, 2) int32"}, "", "C3"},
                   {{"(2, 3)", "(1, 4) int32"}, "batch_dims=1", "C4"}}},
      "GatherNDAttrs");
}

}  // namespace relay::ops
