// sort, argsort: the sorted elements along an axis, and their indices.  topk: the first k of them, greatest first.
// dyn.topk: the same with k as an input.
//
// Indices are computed first (order.h), then the values are gathered. Equal elements keep their order; NaN counts as
// greater than every number.
#include "relay/op/gradient.h"
#include "relay/op/sort/order.h"

namespace relay::ops {
namespace sort_cpp {
namespace {

struct ArgsortAttrs {
  int64_t axis = -1;
  bool is_ascend = true;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{field("axis", &ArgsortAttrs::axis, "The axis to sort."),
                 field("is_ascend", &ArgsortAttrs::is_ascend, "True for ascending order."),
                 field("dtype", &ArgsortAttrs::dtype, "The element type of positions; None: int32.")};
};

struct TopKAttrs {
  OptInt k;
  int64_t axis = -1;
  std::string ret_type = "both";
  bool is_ascend = false;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{field("k", &TopKAttrs::k, "Number of elements; None or less than 1: all."),
                 field("axis", &TopKAttrs::axis, "The axis to sort."),
                 field("ret_type", &TopKAttrs::ret_type, "\"both\" (values, places), \"values\" or \"indices\"."),
                 field("is_ascend", &TopKAttrs::is_ascend, "True for ascending order."),
                 field("dtype", &TopKAttrs::dtype, "The element type of positions; None: int32.")};
};

te::Tensor places(const Order& order, const Exprs& shape, DType dtype) {
  return te::compute("argsort", shape, [&](const Exprs& i) { return cast(dtype, order.place(i)); });
}

te::Tensor values(const Order& order, const Exprs& shape) {
  return te::compute("sorted", shape, [&](const Exprs& i) { return order.element(i); });
}

Result<Type> infer(const ArgsortAttrs& a, const Types& in, bool want_places) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_RETURN_IF_ERROR(normal_axis("C1", a.axis, rank(data)));
  return ir::tensor_type(data->shape, want_places ? a.dtype.value_or(DType::int32()) : data->dtype);
}

te::Tensors compute(const ArgsortAttrs& a, const te::Tensors& in, const Type& out, bool want_places) {
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  if (!want_places) return {sorted(in[0], axis, a.is_ascend, "sorted")};
  return {places(Order(in[0], axis, a.is_ascend), shape_of(out), dtype_of(out))};
}

// Each element's gradient goes back to its source in data.
ir::Expr scattered(const ir::Expr& data, const ir::Expr& places, const ir::Expr& dy, int64_t axis) {
  return grad::call("scatter_elements", {grad::zeros_like(data), places, dy}, {{"axis", axis}});
}

ir::Exprs gradient(const ArgsortAttrs& a, const Adjoint& of, bool want_places) {
  if (want_places) return {nullptr};
  const ir::Expr places = grad::call("argsort", {of.inputs[0]}, {{"axis", a.axis}, {"is_ascend", a.is_ascend}});
  return {scattered(of.inputs[0], places, of.gradient, a.axis)};
}

OpDef sorting(const char* name, const char* doc, const char* oracle, bool want_places) {
  return define<ArgsortAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"data", "any shape with at least one axis"}},
       .fusion = Fusion::Opaque,
       .infer = [=](const ArgsortAttrs& a, const Types& in) { return infer(a, in, want_places); },
       .compute = [=](const ArgsortAttrs& a, const te::Tensors& in,
                      const Type& out) { return compute(a, in, out, want_places); },
       .gradient = [=](const ArgsortAttrs& a, const Adjoint& of) { return gradient(a, of, want_places); },
       .oracle = oracle,
       .examples = {{.inputs = {"(3, 9)"}, .symbolic = {"(n, m)"}},
                    {.inputs = {"(5, 2, 3)"}, .attrs = "axis=0, is_ascend=False", .symbolic = {"(k, 2, m)"}},
                    {.inputs = {"(2, 130)"}},
                    {.inputs = {"(100,) int64"}, .attrs = "is_ascend=False", .low = -40, .high = 40, .ulps = 0},
                    {.inputs = {"(4, 12) int32"}, .attrs = "axis=1, is_ascend=False", .low = 0, .high = 4, .ulps = 0}},
       .rejects = {{{"(2, 3)"}, "axis=2", "C1"}}},
      "ArgsortAttrs");
}

struct DynTopKAttrs {
  int64_t axis = -1;
  std::string ret_type = "both";
  bool is_ascend = false;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{field("axis", &DynTopKAttrs::axis, "The axis to sort."),
                 field("ret_type", &DynTopKAttrs::ret_type, "\"both\" (values, places), \"values\" or \"indices\"."),
                 field("is_ascend", &DynTopKAttrs::is_ascend, "True for ascending order."),
                 field("dtype", &DynTopKAttrs::dtype, "The element type of positions; None: int32.")};
};

// The type of values and indices of one shape, or of one of them.
template <class A>
Type topk_type(const A& a, const Dims& shape, DType dtype) {
  Type sorted = ir::tensor_type(shape, dtype), order = ir::tensor_type(shape, a.dtype.value_or(DType::int32()));
  return a.ret_type == "both" ? ir::tuple_type({sorted, order}) : a.ret_type == "values" ? sorted : order;
}

// `needed`: k; null for all.
template <class A>
te::Tensors topk_results(const A& a, const te::Tensor& data, const Type& out, const Expr& needed) {
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  const TupleType* both = as<TupleType>(out);
  const Dims& shape = shape_of(both ? both->fields[0] : out);
  if (a.ret_type == "values" && !needed) return {sorted(data, axis, a.is_ascend, "sorted")};
  const Order order(data, axis, a.is_ascend, needed);
  if (a.ret_type == "values") return {values(order, shape)};
  te::Tensor found = places(order, shape, a.dtype.value_or(DType::int32()));
  if (a.ret_type == "indices") return {found};
  return {values(order, shape), found};
}

template <class A>
Status check_ret_type(const A& a) {
  if (a.ret_type == "both" || a.ret_type == "values" || a.ret_type == "indices") return ok();
  return constraint("C2", "ret_type must be \"both\", \"values\" or \"indices\", but is \"{}\"", a.ret_type);
}

Result<Type> infer_topk(const TopKAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) ret_type is one of three.
  RELAY_RETURN_IF_ERROR(check_ret_type(a));
  Dims shape = data->shape;
  Dim& extent = shape[static_cast<size_t>(axis)];
  // (C3) There are k elements.
  if (a.k && *a.k >= 1) {
    if (!at_least(extent, dim(*a.k)))
      return constraint("C3", "axis {} of data {} has fewer than {} elements", axis, text(data->shape), *a.k);
    extent = dim(*a.k);
  }
  return topk_type(a, shape, data->dtype);
}

Result<Type> infer_dynamic(const DynTopKAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* k, tensor_input(in, 1, "k"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) ret_type is one of three.
  RELAY_RETURN_IF_ERROR(check_ret_type(a));
  // (C3) k is one integer.
  if (!k->dtype.is_int() || !(k->shape.empty() || agree(k->shape, Dims{dim(1)})))
    return constraint("C3", "k must be one integer, but is {}", ir::str(in[1]));
  Dims shape = data->shape;
  shape[static_cast<size_t>(axis)] = scalar::any_dim();
  return topk_type(a, shape, data->dtype);
}

Expr dynamic_k(const te::Tensors& in) {
  return cast(DType::int64(), in[1]->shape.empty() ? (*in[1])({}) : (*in[1])({dim(0)}));
}

Expr dynamic_needed(const DynTopKAttrs& a, const te::Tensors& in) {
  const Dims& shape = in[0]->shape;
  const Expr& n = shape[static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(shape.size())))];
  return select(lt(dynamic_k(in), dim(1)), n, dynamic_k(in));
}

// All elements if k is less than 1; a k above their number is refused.
te::Tensor dynamic_shape(const DynTopKAttrs& a, const te::Tensors& in) {
  Exprs sizes = in[0]->shape;
  Expr& n = sizes[static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(sizes.size())))];
  const Expr k = dynamic_k(in);
  n = select(lt(k, dim(1)), n, select(le(k, n), k, dim(-1)));
  if (a.ret_type == "both") {
    const Exprs once = sizes;
    sizes.insert(sizes.end(), once.begin(), once.end());
  }
  return shape_tensor(sizes);
}

// `one` is the operator with ret_type "indices".
template <class A>
ir::Expr gradient_of_topk(const A& a, const Adjoint& of, const std::function<ir::Expr(const AttrValues&)>& one) {
  const ir::Expr& data = of.inputs[0];
  if (a.ret_type == "indices") return nullptr;
  if (a.ret_type == "both") return scattered(data, ir::get(of.output, 1), ir::get(of.gradient, 0), a.axis);
  const AttrValues attrs = {{"axis", a.axis}, {"is_ascend", a.is_ascend}, {"ret_type", "indices"}};
  return scattered(data, one(attrs), of.gradient, a.axis);
}

ir::Exprs gradient_of_static_topk(const TopKAttrs& a, const Adjoint& of) {
  return {gradient_of_topk(a, of, [&](AttrValues attrs) {
    if (a.k) attrs.push_back({"k", *a.k});
    return grad::call("topk", {of.inputs[0]}, attrs);
  })};
}

ir::Exprs gradient_of_dynamic_topk(const DynTopKAttrs& a, const Adjoint& of) {
  return {gradient_of_topk(a, of, [&](const AttrValues& attrs) { return grad::call("dyn.topk", of.inputs, attrs); }),
          nullptr};
}

}  // namespace
}  // namespace sort_cpp

OpDef dyn_topk() {
  using namespace sort_cpp;
  return define<DynTopKAttrs>(
      {.name = "dyn.topk",
       .doc =
           "The greatest (or least) k elements along an axis in order, and their positions. k is computed at run time.",
       .inputs = {{"data", "any shape with at least one axis"},
                  {"k", "() or (1,), an integer, at most the extent of the axis; less than 1: all"}},
       .fusion = Fusion::Opaque,
       .infer = infer_dynamic,
       .compute = [](const DynTopKAttrs& a, const te::Tensors& in,
                     const Type& out) { return topk_results(a, in[0], out, dynamic_needed(a, in)); },
       .shape = dynamic_shape,
       .gradient = gradient_of_dynamic_topk,
       .oracle = "topk(data, int(k), axis, ret_type, is_ascend)",
       .examples = {{.inputs = {"(3, 9)", "() int32"}, .symbolic = {"(n, m)", "() int32"}, .ranges = {{-1, 1}, {4, 4}}},
                    {.inputs = {"(3, 9)", "() int32"}, .attrs = "ret_type=\"values\"", .ranges = {{-1, 1}, {4, 4}}},
                    {.inputs = {"(6, 5)", "(1,) int64"},
                     .attrs = "axis=0, is_ascend=True, ret_type=\"indices\", dtype=\"int64\"",
                     .ranges = {{-1, 1}, {2, 3}}},
                    {.inputs = {"(2, 7)", "() int32"}, .ranges = {{-1, 1}, {0, 0}}}},
       .rejects = {{{"(2, 3)", "() int32"}, "axis=2", "C1"},
                   {{"(2, 3)", "() int32"}, "ret_type=\"all\"", "C2"},
                   {{"(2, 3)", "(2,) int32"}, "", "C3"},
                   {{"(2, 3)", "()"}, "", "C3"}}},
      "DynTopKAttrs");
}

OpDef sort() {
  using namespace sort_cpp;
  return sorting("sort", "Sorts the elements along an axis.",
                 "torch.sort(data, dim=axis, descending=not is_ascend, stable=True)[0]", false);
}

OpDef argsort() {
  using namespace sort_cpp;
  return sorting("argsort", "The positions of the elements along an axis in sorted order.",
                 "torch.sort(data, dim=axis, descending=not is_ascend, stable=True)[1]", true);
}

OpDef topk() {
  using namespace sort_cpp;
  return define<TopKAttrs>(
      {.name = "topk",
       .doc = "The greatest (or least) k elements along an axis in order, and their positions.",
       .inputs = {{"data", "any shape with at least one axis"}},
       .fusion = Fusion::Opaque,
       .infer = infer_topk,
       .compute = [](const TopKAttrs& a, const te::Tensors& in,
                     const Type& out) { return topk_results(a, in[0], out, a.k && *a.k >= 1 ? dim(*a.k) : Expr()); },
       .gradient = gradient_of_static_topk,
       .oracle = "topk(data, k, axis, ret_type, is_ascend)",
       .examples = {{.inputs = {"(3, 9)"}, .attrs = "k=4", .symbolic = {"(n, 9)"}},
                    {.inputs = {"(6, 5)"}, .attrs = "k=2, axis=0, is_ascend=True, dtype=\"int64\""},
                    {.inputs = {"(2, 7)"}, .attrs = "k=3, ret_type=\"indices\"", .symbolic = {"(n, m)"}},
                    {.inputs = {"(2, 7)"}, .attrs = "ret_type=\"values\""}},
       .rejects = {{{"(2, 3)"}, "k=1, axis=2", "C1"},
                   {{"(2, 3)"}, "k=1, ret_type=\"all\"", "C2"},
                   {{"(2, 3)"}, "k=4", "C3"}}},
      "TopKAttrs");
}

}  // namespace relay::ops
