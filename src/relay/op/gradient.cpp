#include "relay/op/gradient.h"

#include <numeric>

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

Value integers(const Ints& values) {
  return ir::constant(Tensor::from_ints({static_cast<int64_t>(values.size())}, DType::int64(), values));
}

Value extent(const Value& data, int64_t axis) {
  const Dim& known = tensor(data).shape[static_cast<size_t>(axis)];
  if (scalar::is_int(known)) return ir::constant(static_cast<double>(known->ivalue), DType::int64());
  const Value shape = call("shape_of", {data}, {{"dtype", DType::int64()}});
  return call("take", {shape, ir::constant(static_cast<double>(axis), DType::int64())}, {{"axis", int64_t{0}}});
}

Value places(const Value& data, int64_t axis) {
  const Dim& extent = tensor(data).shape[static_cast<size_t>(axis)];
  if (scalar::is_int(extent)) {
    Ints all(static_cast<size_t>(extent->ivalue));
    std::iota(all.begin(), all.end(), 0);
    return integers(all);
  }
  Ints others;
  for (int64_t d = 0; d < rank(data); ++d)
    if (d != axis) others.push_back(d);
  Value ones = call("cast", {call("ones_like", {data})}, {{"dtype", DType::int64()}});
  if (!others.empty()) ones = call("max", {ones}, {{"axis", others}});
  return call("cumsum", {ones}, {{"exclusive", true}});
}

Value element_numbers(const Value& data) {
  const Value ones = call("cast", {call("ones_like", {data})}, {{"dtype", DType::int64()}});
  return shaped_as(call("cumsum", {ones}), data);
}

Value scattered(Value gradient, Value sources, const Value& data) {
  auto flat = [](Value t) { return call("reshape", {std::move(t)}, {{"newshape", Ints{-1}}}); };
  // Gradients without a source are added to an extra element in front.
  const Value zeros = call("nn.pad", {flat(zeros_like(data)), number(0, data)}, {{"pad_width", IntLists{{1, 0}}}});
  const Value indices = call("expand_dims", {flat(std::move(sources))}, {{"axis", int64_t{0}}});
  const Value sums = call("scatter_nd", {zeros, indices, flat(std::move(gradient))}, {{"mode", "add"}});
  return shaped_as(call("nn.pad", {sums, number(0, data)}, {{"pad_width", IntLists{{-1, 0}}}}), data);
}

Value contracted(Value tensor, int64_t rank, int64_t axis, Value matrix) {
  const std::string letters = std::string("abcdefghijklmnopqrstuvwxy").substr(0, static_cast<size_t>(rank));
  std::string out = letters;
  out[static_cast<size_t>(axis)] = 'z';
  const std::string equation = format("{},z{}->{}", letters, letters[static_cast<size_t>(axis)], out);
  return call("einsum", {ir::tuple({std::move(tensor), std::move(matrix)})}, {{"equation", equation}});
}

Value unit_matrix(const Value& data, int64_t axis) {
  const Value column = places(data, axis), row = call("expand_dims", {column}, {{"axis", int64_t{1}}});
  return call("cast", {call("equal", {row, column})}, {{"dtype", tensor(data).dtype}});
}

}  // namespace relay::op::grad
