// argmax, argmin: the place of the greatest (least) element: out[rest] = least r where data[rest, r] == max over r of
// data[rest, r], an int32 if every place is one. With select_last_index it is the greatest such r. Over several axes
// the place is the row-major index in them. One reduction finds the element and its place. NaN counts as greater
// (argmin: less) than every number, as in NumPy.
#include "relay/op/places.h"
#include "relay/op/reduce/axes.h"
#include "relay/te/merge.h"

namespace relay::ops {
namespace arg_reduce_cpp {
namespace {

struct ArgReduceAttrs {
  OptInts axis;
  bool keepdims = false;
  bool select_last_index = false;
  bool exclude = false;
  static constexpr auto fields =
      std::tuple{field("axis", &ArgReduceAttrs::axis, "The axes to search; None or empty: all."),
                 field("keepdims", &ArgReduceAttrs::keepdims, "True to keep searched axes, with extent 1."),
                 field("select_last_index", &ArgReduceAttrs::select_last_index,
                       "True to return the last of equal elements, false the first."),
                 field("exclude", &ArgReduceAttrs::exclude, "True to search all other axes instead.")};
};

Result<Type> infer(const ArgReduceAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axes exist, each named once.
  RELAY_ASSIGN(Ints axes, reduce::axes("C1", a.axis, a.exclude, rank(data)));
  // (C2) There is at least one element.
  for (int64_t axis : axes)
    if (!at_least(data->shape[static_cast<size_t>(axis)], dim(1)))
      return constraint("C2", "axis {} of data {} is empty", axis, text(data->shape));
  Dim places = dim(1);
  for (int64_t axis : axes) places = places * data->shape[static_cast<size_t>(axis)];
  return ir::tensor_type(reduce::shape(data->shape, axes, a.keepdims), op::place_type(places));
}

te::Tensors compute(const ArgReduceAttrs& a, const te::Tensors& in, const Type& out, bool greatest) {
  const te::Tensor& data = in[0];
  Ints axes = *reduce::axes("", a.axis, a.exclude, static_cast<int64_t>(data->shape.size()));
  Exprs reduced = extents(data, axes);
  const te::Tensor best =
      te::reduce("best", shape_of(out), reduced, te::extreme(data->dtype, greatest, a.select_last_index, dtype_of(out)),
                 [&](const Exprs& i, const Exprs& r) {
                   Expr index = dim(0);
                   for (size_t k = 0; k < r.size(); ++k) index = index * reduced[k] + r[k];
                   return Exprs{(*data)(reduce::indices(axes, a.keepdims, i, r)), cast(dtype_of(out), index)};
                 });
  return {te::compute(greatest ? "argmax" : "argmin", shape_of(out),
                      [&](const Exprs& i) { return te::value(best, i, 1); })};
}

OpDef arg(const char* name, const char* doc, bool greatest) {
  std::string torch_name = greatest ? "torch.argmax" : "torch.argmin";
  return define<ArgReduceAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Reduce,
       .infer = infer,
       .compute = [greatest](const ArgReduceAttrs& a, const te::Tensors& in,
                             const Type& out) { return compute(a, in, out, greatest); },
       .oracle = format("place({}, data, axis, keepdims, exclude, select_last_index)", torch_name),
       .examples = {{.inputs = {"(3, 5, 7)"}, .attrs = "axis=[1]", .symbolic = {"(n, k, m)"}},
                    {.inputs = {"(3, 5, 7)"}, .attrs = "axis=[-1], keepdims=True", .symbolic = {"(n, 5, k)"}},
                    {.inputs = {"(3, 5)"}, .attrs = ""},
                    {.inputs = {"(3, 4, 5) int32"}, .attrs = "axis=[1, 2]", .low = 0, .high = 2},
                    {.inputs = {"(6, 9) int32"}, .attrs = "axis=[1], select_last_index=True", .low = 0, .high = 2}},
       .rejects = {{{"(2, 3)"}, "axis=[2]", "C1"}, {{"(2, 0)"}, "axis=[1]", "C2"}}},
      "ArgReduceAttrs");
}

}  // namespace
}  // namespace arg_reduce_cpp

OpDef argmax() {
  using namespace arg_reduce_cpp;
  return arg("argmax", "The position of the greatest element.", true);
}
OpDef argmin() {
  using namespace arg_reduce_cpp;
  return arg("argmin", "The position of the least element.", false);
}

}  // namespace relay::ops
