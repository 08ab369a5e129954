// variance: out[rest] = sum over the reduced axes of (data - mean)^2 / count, where mean is that of data with keepdims.
// With unbiased the count is reduced by one.
#include "relay/op/composite.h"
#include "relay/op/reduce/axes.h"

namespace relay::ops {
namespace variance_cpp {
namespace {

struct VarianceAttrs {
  OptInts axis;
  bool keepdims = false;
  bool exclude = false;
  bool unbiased = false;
  static constexpr auto fields =
      std::tuple{field("axis", &VarianceAttrs::axis, "The axes to reduce; None or empty: all."),
                 field("keepdims", &VarianceAttrs::keepdims, "True to keep reduced axes, with extent 1."),
                 field("exclude", &VarianceAttrs::exclude, "True to reduce all other axes instead."),
                 field("unbiased", &VarianceAttrs::unbiased, "True to divide by the count minus one.")};
};

Result<Type> infer(const VarianceAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* mean, tensor_input(in, 1, "mean"));
  // (C1) The axes exist, each named once.
  RELAY_ASSIGN(Ints axes, reduce::axes("C1", a.axis, a.exclude, rank(data)));
  // (C2) The elements are floats of one type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", mean, "mean"));
  if (!data->dtype.is_float()) return constraint("C2", "variance needs floats, but data is {}", data->dtype.str());
  // (C3) mean has the shape of data with extent 1 at the reduced axes.
  Dims kept = reduce::shape(data->shape, axes, true);
  if (!agree(mean->shape, kept))
    return constraint("C3", "mean must have shape {}, but has {}", text(kept), text(mean->shape));
  return ir::tensor_type(reduce::shape(data->shape, axes, a.keepdims), data->dtype);
}

te::Tensors compute(const VarianceAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  Ints axes = *reduce::axes("", a.axis, a.exclude, static_cast<int64_t>(data->shape.size()));
  DType dtype = accumulator(data->dtype);
  te::Tensor sum =
      te::reduce("squares", shape_of(out), extents(data, axes), Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        Exprs at = reduce::indices(axes, a.keepdims, i, r), mean_at = at;
        for (int64_t axis : axes) mean_at[static_cast<size_t>(axis)] = dim(0);
        Expr d = cast(dtype, (*data)(at)) - cast(dtype, (*in[1])(mean_at));
        return d * d;
      });
  return {converted(reduce::scaled(sum, product(extents(data, axes)) - (a.unbiased ? 1 : 0)), data->dtype)};
}

// The mean of the squares of data - mean.
ir::Expr definition(const VarianceAttrs& a, const ir::Exprs& in) {
  const ir::Expr &data = in[0], distance = grad::minus(data, in[1]);
  const Ints axes = *reduce::axes("", a.axis, a.exclude, grad::rank(data));
  const ir::Expr sum = grad::call("sum", {grad::times(distance, distance)}, {{"axis", axes}, {"keepdims", true}});
  ir::Expr count = grad::count(data, axes);
  if (a.unbiased) count = grad::minus(count, grad::number(1, data));
  ir::Expr value = grad::over(sum, count);
  return a.keepdims ? value : grad::call("squeeze", {std::move(value)}, {{"axis", axes}});
}

}  // namespace
}  // namespace variance_cpp

OpDef variance() {
  using namespace variance_cpp;
  return define<VarianceAttrs>(
      {.name = "variance",
       .doc = "The mean squared distance from a given mean.",
       .inputs = {{"data", "any shape"}, {"mean", "the shape of data with extent 1 along the reduced axes"}},
       .fusion = Fusion::Reduce,
       .infer = infer,
       .compute = compute,
       .definition = exactly<VarianceAttrs>(definition),
       .oracle = "reduced(torch.sum, (data - mean) ** 2, axis, keepdims, exclude) / (data.numel() // mean.numel() - "
                 "int(unbiased))",
       .examples = {{.inputs = {"(3, 5, 7)", "(3, 1, 7)"}, .attrs = "axis=[1]", .symbolic = {"(n, k, 7)", "(n, 1, 7)"}},
                    {.inputs = {"(3, 5, 7)", "(3, 5, 1)"},
                     .attrs = "axis=[-1], keepdims=True, unbiased=True",
                     .symbolic = {"(n, 5, m)", "(n, 5, 1)"}},
                    {.inputs = {"(3, 5)", "(1, 1)"}}},
       .rejects = {{{"(2, 3)", "(2, 1)"}, "axis=[2]", "C1"},
                   {{"(2, 3) int32", "(2, 1) int32"}, "axis=[1]", "C2"},
                   {{"(2, 3)", "(2, 3)"}, "axis=[1]", "C3"}}},
      "VarianceAttrs");
}

}  // namespace relay::ops
