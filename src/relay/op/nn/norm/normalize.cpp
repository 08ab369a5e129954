#include "relay/op/nn/norm/normalize.h"

#include "relay/op/reduce/axes.h"

namespace relay::op::nn {

te::Tensor normalized(const char* name, const te::Tensor& data, const Ints& axes, double epsilon,
                      const te::Tensor& gamma, const te::Tensor& beta,
                      const std::function<Exprs(const Exprs&)>& scale_at) {
  DType dtype = accumulator(data->dtype);
  Exprs reduced = extents(data, axes), rest = reduce::shape(data->shape, axes, false);
  Expr count = product(reduced);
  auto left = [&](const Exprs& i) {
    Exprs out;
    for (size_t d = 0, next = 0; d < i.size(); ++d)
      if (next < axes.size() && axes[next] == static_cast<int64_t>(d))
        ++next;
      else
        out.push_back(i[d]);
    return out;
  };
  te::Tensor sum = te::reduce("sum", rest, reduced, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    return cast(dtype, (*data)(reduce::indices(axes, false, i, r)));
  });
  te::Tensor mean = reduce::scaled(sum, count);
  te::Tensor squares = te::reduce("squares", rest, reduced, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    Expr d = cast(dtype, (*data)(reduce::indices(axes, false, i, r))) - (*mean)(i);
    return d * d;
  });
  te::Tensor scale = elementwise("scale", squares, [&](const Exprs& i) {
    return unary(UnaryOp::Rsqrt, divide((*squares)(i), cast(dtype, count)) + number(epsilon, dtype));
  });
  return elementwise(name, data, [&](const Exprs& i) {
    Expr x = (cast(dtype, (*data)(i)) - (*mean)(left(i))) * (*scale)(left(i));
    if (gamma) x = x * cast(dtype, (*gamma)(scale_at(i)));
    if (beta) x = x + cast(dtype, (*beta)(scale_at(i)));
    return cast(data->dtype, x);
  });
}

ir::Expr normalization(const ir::Expr& data, const Ints& axes, const ir::Expr& epsilon, const ir::Expr& gamma,
                       const ir::Expr& beta) {
  const AttrValues over_axes = {{"axis", axes}, {"keepdims", true}};
  const ir::Expr centred = grad::minus(data, grad::call("mean", {data}, over_axes));
  const ir::Expr variance = grad::call("mean", {grad::times(centred, centred)}, over_axes);
  ir::Expr out = grad::times(centred, grad::call("rsqrt", {grad::plus(variance, epsilon)}));
  if (gamma) out = grad::times(std::move(out), gamma);
  return beta ? grad::plus(std::move(out), beta) : out;
}

Status check_normalization(const Types& in, int64_t axis) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(int64_t at, normal_axis("C1", axis, rank(data)));
  if (!data->dtype.is_float()) return constraint("C2", "normalisation needs floats, but data is {}", data->dtype.str());
  const Dim& extent = data->shape[static_cast<size_t>(at)];
  for (size_t k = 1; k < in.size(); ++k) {
    const char* name = k == 1 ? "gamma" : k == 2 ? "beta" : k == 3 ? "moving_mean" : "moving_var";
    RELAY_ASSIGN(const TensorType* values, tensor_input(in, k, name));
    RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", values, name));
    if (values->shape.size() != 1 || !agree(values->shape[0], extent))
      return constraint("C3", "{} has shape {}, but axis {} of data {} has extent {}", name, text(values->shape), at,
                        text(data->shape), scalar::str(extent));
  }
  return ok();
}

}  // namespace relay::op::nn
