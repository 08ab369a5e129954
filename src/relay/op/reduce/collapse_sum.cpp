// collapse_sum_like, collapse_sum_to: the sum over the axes along which a tensor of a smaller shape was broadcast to
// that of data: out[i] = sum of data[j] over all j for which broadcasting reads i
//
// The shape of the result is that of another tensor, or the values of one.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace collapse_sum_cpp {
namespace {

// (C1) A tensor of the shape broadcasts to data.
Status check(const TensorType* data, const Dims& to) {
  RELAY_ASSIGN(Dims both, broadcast_shape("C1", to, data->shape));
  if (!agree(both, data->shape))
    return constraint("C1", "data {} is not the result of broadcasting {}", text(data->shape), text(to));
  // (C2) The elements are numbers.
  if (data->dtype.is_bool()) return constraint("C2", "sums need numbers, but data is bool");
  return ok();
}

Result<Type> infer_like(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* like, tensor_input(in, 1, "collapse_type"));
  RELAY_RETURN_IF_ERROR(check(data, like->shape));
  return ir::tensor_type(like->shape, data->dtype);
}

Result<Type> infer_to(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The shape is a list of integers, no longer than that of data.
  RELAY_ASSIGN(size_t rank, shape_input("C1", in, 1, "shape"));
  if (rank > data->shape.size())
    return constraint("C1", "the shape has {} values, but data {} has {} axes", rank, text(data->shape),
                      data->shape.size());
  RELAY_RETURN_IF_ERROR(check(data, Dims(rank, scalar::any_dim())));
  return ir::tensor_type(Dims(rank, scalar::any_dim()), data->dtype);
}

// Sizes are -1 if they do not broadcast to data.
te::Tensor shape(const NoAttrs&, const te::Tensors& in) {
  const Exprs& data = in[0]->shape;
  const size_t front = data.size() - static_cast<size_t>(in[1]->shape[0]->ivalue);
  return te::compute("shape", in[1]->shape, [&](const Exprs& i) {
    Expr fits = imm(1, DType::boolean());
    for (size_t d = front; d < data.size(); ++d) {
      Expr size = cast(DType::int64(), (*in[1])({dim(static_cast<int64_t>(d - front))}));
      fits = logical_and(fits, logical_or(eq(size, data[d]), eq(size, dim(1))));
    }
    return select(fits, cast(DType::int64(), (*in[1])(i)), dim(-1));
  });
}

te::Tensors compute(const te::Tensor& data, const Type& out) {
  const Exprs& to = shape_of(out);
  const size_t front = data->shape.size() - to.size();
  const DType wide = accumulator(data->dtype);
  // An axis of extent 1 sums all elements of data, one of data's extent only its own element: the number is the
  // quotient.
  Exprs taps;
  std::vector<std::optional<size_t>> tap(data->shape.size());  // the index of its reduction axis
  for (size_t d = 0; d < data->shape.size(); ++d) {
    Expr extent = d < front ? data->shape[d]
                  : scalar::prove_equal(data->shape[d], to[d - front]) == true
                      ? dim(1)
                      : scalar::simplify(floordiv(data->shape[d], max(to[d - front], dim(1))));
    if (scalar::is_int(extent, 1)) continue;
    tap[d] = taps.size();
    taps.push_back(extent);
  }
  auto value = [&](const Exprs& i, const Exprs& r) {
    Exprs at;
    for (size_t d = 0; d < data->shape.size(); ++d) {
      Expr own = d < front ? dim(0) : i[d - front];
      at.push_back(tap[d] ? own + r[*tap[d]] : own);
    }
    return cast(wide, (*data)(at));
  };
  if (taps.empty())
    return {te::compute("collapse_sum", to, [&](const Exprs& i) { return cast(data->dtype, value(i, {})); })};
  return {converted(te::reduce("collapse_sum", to, taps, Combiner::Sum, value), data->dtype)};
}

template <class A>
ir::Exprs gradient(const A&, const Adjoint& of) {
  return {grad::call("broadcast_to_like", {of.gradient, of.inputs[0]}), nullptr};
}

}  // namespace
}  // namespace collapse_sum_cpp

OpDef collapse_sum_like() {
  using namespace collapse_sum_cpp;
  return define<NoAttrs>(
      {.name = "collapse_sum_like",
       .doc = "Sums over the axes along which a tensor with the shape of another was broadcast.",
       .inputs = {{"data", "any shape"},
                  {"collapse_type", "a tensor with the shape of the result, which broadcasts to data"}},
       .fusion = Fusion::Reduce,
       .infer = infer_like,
       .compute = [](const NoAttrs&, const te::Tensors& in, const Type& out) { return compute(in[0], out); },
       .gradient = gradient<NoAttrs>,
       .oracle = "data.sum_to_size(collapse_type.shape)",
       .examples = {{.inputs = {"(2, 3, 4)", "(3, 1)"}, .symbolic = {"(n, m, 4)", "(m, 1)"}},
                    {.inputs = {"(2, 3)", "(2, 3)"}, .symbolic = {"(n, 3)", "(n, 3)"}},
                    {.inputs = {"(2, 3)", "()"}, .symbolic = {"(n, 3)", "()"}}},
       .rejects = {
           {{"(2, 3)", "(2, 2)"}, "", "C1"}, {{"(2, 1)", "(2, 3)"}, "", "C1"}, {{"(2,) bool", "() bool"}, "", "C2"}}});
}

OpDef collapse_sum_to() {
  using namespace collapse_sum_cpp;
  return define<NoAttrs>(
      {.name = "collapse_sum_to",
       .doc = "Sums over the axes along which a tensor was broadcast, whose shape is computed at run time.",
       .inputs = {{"data", "any shape"},
                  {"shape", "(rank,) integers: the shape of the result, which broadcasts to that of data"}},
       // Fusion of collapse_sum_to: reduce in the reference; its size is computed before it, so that it could share a
       // kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer_to,
       .compute = [](const NoAttrs&, const te::Tensors& in, const Type& out) { return compute(in[0], out); },
       .shape = shape,
       .gradient = gradient<NoAttrs>,
       .oracle = "data.sum_to_size([int(n) for n in shape])",
       .examples = {{.inputs = {"(2, 1, 2)", "(2,) int64"}, .low = 1, .high = 1},
                    {.inputs = {"(3, 1)", "(2,) int32"}, .low = 1, .high = 1}},
       .rejects = {{{"(2, 3)", "(2,)"}, "", "C1"},
                   {{"(2, 3)", "(3,) int32"}, "", "C1"},
                   {{"(2,) bool", "(1,) int32"}, "", "C2"}}});
}

}  // namespace relay::ops
