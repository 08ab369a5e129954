// adv_index: numpy's data[indices0, indices1, ..]: out[y.., x..] = data[indices0[y..], indices1[y..], .., x..]
//
// The indices broadcast. Negative ones count from the end; others outside of data are refused.
#include <algorithm>

#include "relay/op/gradient.h"
#include "relay/op/index/checked.h"

namespace relay::ops {
namespace adv_index_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(std::vector<const TensorType*> inputs, tuple_input(in, 0, "inputs"));
  // (C1) There are indices, at most one tensor for each axis of data, and they are integers.
  if (inputs.size() < 2 || static_cast<int64_t>(inputs.size()) - 1 > rank(inputs[0]))
    return constraint("C1", "data {} takes 1 to {} tensors of indices, but gets {}", text(inputs[0]->shape),
                      rank(inputs[0]), inputs.size() - 1);
  Dims out;
  for (size_t k = 1; k < inputs.size(); ++k) {
    if (!inputs[k]->dtype.is_int())
      return constraint("C1", "indices must be integers, but tensor {} is {}", k, inputs[k]->dtype.str());
    // (C2) They broadcast.
    RELAY_ASSIGN(out, broadcast_shape("C2", out, inputs[k]->shape));
  }
  const Dims& data = inputs[0]->shape;
  // (C3) If there are indices, data has elements.
  const bool some =
      std::all_of(out.begin(), out.end(), [](const Dim& d) { return scalar::is_int(d) && d->ivalue > 0; });
  for (size_t k = 1; some && k < inputs.size(); ++k)
    if (scalar::is_int(data[k - 1], 0)) return constraint("C3", "data {} has no elements to select", text(data));
  out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(inputs.size()) - 1, data.end());
  return ir::tensor_type(std::move(out), inputs[0]->dtype);
}

op::Checks checked(const NoAttrs&, const Types& in) {
  op::Checks out;
  for (size_t k = 1; k < in.size(); ++k) {
    const int64_t axis = static_cast<int64_t>(k) - 1;
    out.push_back({k, {as<TensorType>(in[0])->shape[k - 1]}, {axis}});
  }
  return out;
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const std::ptrdiff_t behind = static_cast<std::ptrdiff_t>(data->shape.size() + 1 - in.size());
  return {te::compute("adv_index", shape_of(out), [&](const Exprs& i) {
    const Exprs places(i.begin(), i.end() - behind);
    Exprs at;
    for (size_t k = 1; k < in.size(); ++k)
      at.push_back(checked_place((*in[k])(broadcast_indices(in[k], places)), data->shape[k - 1]));
    at.insert(at.end(), i.end() - behind, i.end());
    return (*data)(at);
  })};
}

// Indexing the elements' numbers the same way shows the source of each.
ir::Exprs gradient(const NoAttrs&, const Adjoint& of) {
  const size_t tensors = as<TupleType>(of.inputs[0]->type)->fields.size();
  auto input = [&](size_t k) {
    ir::Expr field = ir::get(of.inputs[0], static_cast<int64_t>(k));
    field->type = as<TupleType>(of.inputs[0]->type)->fields[k];
    return field;
  };
  ir::Exprs picked{grad::element_numbers(input(0))}, gradients;
  for (size_t k = 1; k < tensors; ++k) picked.push_back(input(k));
  gradients.push_back(grad::scattered(of.gradient, grad::call("adv_index", {ir::tuple(picked)}), input(0)));
  for (size_t k = 1; k < tensors; ++k) gradients.push_back(grad::zeros_like(input(k)));
  return {ir::tuple(gradients)};
}

}  // namespace
}  // namespace adv_index_cpp

OpDef adv_index() {
  using namespace adv_index_cpp;
  return define<NoAttrs>({.name = "adv_index",
                          .doc = "Selects slices by a tensor of indices for each of the first axes.",
                          .inputs = {{"inputs", "a tuple: data, then integers that broadcast", true}},
                          .fusion = Fusion::Injective,
                          .infer = infer,
                          .compute = compute,
                          .checked = checked,
                          .gradient = gradient,
                          .oracle = "inputs[0][tuple(k.long() for k in inputs[1:])]",
                          .examples = {{.inputs = {"[(4, 5, 3), (2, 6) int64, (6,) int64]"},
                                        .symbolic = {"[(4, 5, w), (m, n) int64, (n,) int64]"},
                                        .low = -4,
                                        .high = 3},
                                       {.inputs = {"[(4, 5), (3, 1) int32]"}, .low = 0, .high = 3}},
                          .rejects = {{{"[(4, 5)]"}, "", "C1"},
                                      {{"[(4,), (2,) int32, (2,) int32]"}, "", "C1"},
                                      {{"[(4, 5), (2,)]"}, "", "C1"},
                                      {{"[(4, 5), (2,) int32, (3,) int32]"}, "", "C2"},
                                      {{"[(0, 5), (2,) int32]"}, "", "C3"}}});
}

}  // namespace relay::ops
