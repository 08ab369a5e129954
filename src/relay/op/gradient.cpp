#include "relay/op/gradient.h"

namespace relay::op::grad {

Value number(double value, const Value& like) {
  Value scalar = ir::constant(value, tensor(like).dtype);
  scalar->type = ir::scalar_type(tensor(like).dtype);
  return scalar;
}

Value summed_to(Value gradient, const Value& input, const Value& output) {
  const Dims &to = tensor(input).shape, &from = tensor(output).shape;
  bool same = to.size() == from.size();
  for (size_t d = 0; same && d < to.size(); ++d) same = scalar::prove_equal(to[d], from[d]) == true;
  return same ? gradient : call("collapse_sum_like", {std::move(gradient), input});
}

Value shaped_as(Value values, const Value& like) { return call("reshape_like", {std::move(values), like}); }

Value converted_as(Value values, const Value& typed, const Value& like) {
  if (tensor(typed).dtype == tensor(like).dtype) return values;
  return call("cast", {std::move(values)}, {{"dtype", tensor(like).dtype}});
}

Value transposed(Value matrices, int64_t rank) {
  Ints order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  std::swap(order[static_cast<size_t>(rank - 1)], order[static_cast<size_t>(rank - 2)]);
  return call("transpose", {std::move(matrices)}, {{"axes", order}});
}

Value along(Value vector, int64_t axis, int64_t rank) {
  const int64_t behind = rank - 1 - positive_axis(axis, rank);
  return behind == 0 ? vector
                     : call("expand_dims", {std::move(vector)}, {{"axis", int64_t{1}}, {"num_newaxis", behind}});
}

Value with_axes(Value reduced, const Ints& axes, bool keepdims) {
  if (!keepdims)
    for (int64_t axis : axes) reduced = call("expand_dims", {std::move(reduced)}, {{"axis", axis}});
  return reduced;
}

Value count(const Value& data, const Ints& axes) {
  Dim all = dim(1);
  for (int64_t axis : axes) all = all * tensor(data).shape[static_cast<size_t>(axis)];
  all = scalar::simplify(all);
  if (scalar::is_int(all)) return number(static_cast<double>(all->ivalue), data);
  return call("sum", {call("ones_like", {data})}, {{"axis", axes}, {"keepdims", true}});
}

}  // namespace relay::op::grad
