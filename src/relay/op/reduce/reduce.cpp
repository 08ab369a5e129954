// The reductions: out[rest] = combine over the reduced axes of data[rest, reduced]. One row per operator. axis None
// means all axes; exclude reduces the axes that are not named; keepdims keeps reduced axes with extent 1. A sum of
// bools is "any", a product "all".
#include "relay/op/gradient.h"
#include "relay/op/reduce/axes.h"

namespace relay::ops {
namespace reduce_cpp {
namespace {

using reduce::ReduceAttrs;

struct Row {
  const char* name;
  const char* doc;
  Combiner combiner;
  bool mean;  // the sum divided by the number of elements
  const char* oracle;
};

const Row rows[] = {
    {"all", "True if all elements are true.", Combiner::Min, false,
     "reduced(torch.all, data, axis, keepdims, exclude)"},
    {"any", "True if any element is true.", Combiner::Max, false, "reduced(torch.any, data, axis, keepdims, exclude)"},
    {"max", "The greatest element.", Combiner::Max, false, "reduced(torch.amax, data, axis, keepdims, exclude)"},
    {"mean", "The sum divided by the number of elements. Integer quotients are rounded towards zero.", Combiner::Sum,
     true, "reduced(torch.mean, data, axis, keepdims, exclude)"},
    {"min", "The least element.", Combiner::Min, false, "reduced(torch.amin, data, axis, keepdims, exclude)"},
    {"prod", "The product.", Combiner::Prod, false,
     "reduced(torch.all if data.dtype == torch.bool else lambda x, d, k: np.prod(x.numpy(), axis=tuple(d), "
     "keepdims=k), data, axis, keepdims, exclude)"},
    {"sum", "The sum.", Combiner::Sum, false,
     "reduced(torch.any if data.dtype == torch.bool else torch.sum, data, axis, keepdims, exclude)"},
};

bool logical(const Row& row) { return std::string(row.name) == "all" || std::string(row.name) == "any"; }
bool sums(const Row& row) { return row.combiner == Combiner::Sum || row.combiner == Combiner::Prod; }

Result<Type> infer(const Row& row, const ReduceAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axes exist, each named once.
  RELAY_ASSIGN(Ints axes, reduce::axes("C1", a.axis, a.exclude, rank(data)));
  // (C2) all and any take bool, means numbers; the others take both.
  if (data->dtype.is_bool() ? row.mean : logical(row))
    return constraint("C2", "{} needs {}, but data is {}", row.name, logical(row) ? "bool" : "numbers",
                      data->dtype.str());
  return ir::tensor_type(reduce::shape(data->shape, axes, a.keepdims), data->dtype);
}

te::Tensors compute(const Row& row, const ReduceAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  Ints axes = *reduce::axes("", a.axis, a.exclude, static_cast<int64_t>(data->shape.size()));
  DType dtype = sums(row) ? accumulator(data->dtype) : data->dtype;
  Combiner combiner = row.combiner;
  if (dtype.is_bool() && sums(row)) combiner = combiner == Combiner::Sum ? Combiner::Max : Combiner::Min;
  te::Tensor t = te::reduce(
      row.name, shape_of(out), extents(data, axes), combiner,
      [&](const Exprs& i, const Exprs& r) { return cast(dtype, (*data)(reduce::indices(axes, a.keepdims, i, r))); });
  if (row.mean) t = reduce::scaled(t, product(extents(data, axes)));
  return {converted(t, data->dtype)};
}

// The gradient of each reduced element; dy and the result are reshaped to broadcast with data.
ir::Exprs gradient(const Row& row, const ReduceAttrs& a, const Adjoint& of) {
  const ir::Expr& x = of.inputs[0];
  const Ints axes = *reduce::axes("", a.axis, a.exclude, grad::rank(x));
  ir::Expr dy = grad::with_axes(of.gradient, axes, a.keepdims), y = grad::with_axes(of.output, axes, a.keepdims);
  if (row.combiner == Combiner::Sum)
    return {grad::call("broadcast_to_like", {row.mean ? grad::over(dy, grad::count(x, axes)) : dy, x})};
  // along one axis: the product of the elements before it times that of those after it
  if (row.combiner == Combiner::Prod) {
    const AttrValues along = {{"axis", axes[0]}, {"exclusive", true}};
    auto reversed = [&](ir::Expr t) { return grad::call("reverse", {std::move(t)}, {{"axis", axes[0]}}); };
    return {grad::times(
        dy, grad::times(grad::call("cumprod", {x}, along), reversed(grad::call("cumprod", {reversed(x)}, along))))};
  }
  // To the greatest (least) elements, in equal parts if there are several.
  const ir::Expr chosen = grad::call("cast", {grad::call("equal", {x, y})}, {{"dtype", grad::tensor(x).dtype}});
  return {grad::times(grad::over(dy, grad::call("sum", {chosen}, {{"axis", axes}, {"keepdims", true}})), chosen)};
}

// A product along several axes is one along the last of them, and so on.
ir::Expr one_by_one(const ReduceAttrs& a, const ir::Exprs& in) {
  const Ints axes = *reduce::axes("", a.axis, a.exclude, grad::rank(in[0]));
  if (axes.size() < 2) return nullptr;
  ir::Expr value = in[0];
  for (size_t k = axes.size(); k-- > 0;)
    value = grad::call("prod", {std::move(value)}, {{"axis", Ints{axes[k]}}, {"keepdims", a.keepdims}});
  return value;
}

OpDef operator_of(const Row& row) {
  OpDef def =
      define<ReduceAttrs>({.name = row.name,
                           .doc = row.doc,
                           .inputs = {{"data", "any shape"}},
                           .fusion = Fusion::Reduce,
                           .infer = [&row](const ReduceAttrs& a, const Types& in) { return infer(row, a, in); },
                           .compute = [&row](const ReduceAttrs& a, const te::Tensors& in,
                                             const Type& out) { return compute(row, a, in, out); },
                           .gradient = [&row](const ReduceAttrs& a, const Adjoint& of) { return gradient(row, a, of); },
                           .definition = one_by_one,
                           .oracle = row.oracle,
                           .examples = {}},
                          "ReduceAttrs");
  if (logical(row)) def.gradient = nullptr;
  if (row.combiner != Combiner::Prod) def.definition = nullptr;
  std::string t = logical(row) ? " bool" : "";
  double low = logical(row) ? 0 : -1;
  def.examples = {
      {.inputs = {"(3, 5, 7)" + t}, .attrs = "axis=[1]", .symbolic = {"(n, k, m)" + t}, .low = low},
      {.inputs = {"(3, 5, 7)" + t}, .attrs = "axis=[-1], keepdims=True", .symbolic = {"(n, 5, m)" + t}, .low = low},
      {.inputs = {"(2, 3, 4)" + t}, .attrs = "", .symbolic = {"(n, 3, m)" + t}, .low = low},
      {.inputs = {"(2, 3, 4, 5)" + t}, .attrs = "axis=[0, 2], keepdims=True", .low = low},
      {.inputs = {"(2, 3, 4, 5)" + t},
       .attrs = "axis=[1], exclude=True",
       .symbolic = {"(a, b, c, d)" + t},
       .low = low,
       .ulps = 16}};  // 40 numbers of either sign, added in another order
  if (row.combiner == Combiner::Prod) def.examples[0].low = -1.5, def.examples[0].high = -0.5;  // no subnormal product
  if (!logical(row) && !row.mean)
    def.examples.push_back({.inputs = {"(4, 6) int32"}, .attrs = "axis=[1]", .low = -9, .high = 9, .ulps = 0});
  if (row.mean || (row.combiner == Combiner::Max && !logical(row)))
    for (const char* axis : {"axis=[-1]", "axis=[0]"})
      def.examples.push_back({.inputs = {"(197, 768)"}, .attrs = axis, .bench = true});
  def.rejects = {{{"(2, 3)" + t}, "axis=[2]", "C1"}, {{"(2, 3)" + t}, "axis=[1, -1]", "C1"}};
  if (logical(row) || row.mean)
    def.rejects.push_back({{logical(row) ? "(2,)" : "(2,) bool"}, "", "C2"});
  else
    def.examples.push_back({.inputs = {"(4, 6) bool"}, .attrs = "axis=[0]", .low = 0});
  return def;
}

}  // namespace
}  // namespace reduce_cpp

std::vector<OpDef> reductions() {
  using namespace reduce_cpp;
  std::vector<OpDef> defs;
  for (const Row& row : rows) defs.push_back(operator_of(row));
  return defs;
}

}  // namespace relay::ops
