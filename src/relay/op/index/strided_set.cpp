// strided_set: data with a slice replaced: out[begin + k * stride] = v[k] along each of the first axes, else data
//
// As in Python, negative begins and ends count from the end and are clipped to data. Begin, end and strides are
// tensors: the replaced elements are determined at run time; excess elements of v are ignored.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace strided_set_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* v, tensor_input(in, 1, "v"));
  // (C1) Begin, end and strides are integers, equally many, at most as many as data has axes.
  RELAY_ASSIGN(size_t begins, shape_input("C1", in, 2, "begin"));
  RELAY_ASSIGN(size_t ends, shape_input("C1", in, 3, "end"));
  RELAY_ASSIGN(size_t steps, shape_input("C1", in, 4, "strides"));
  if (begins != ends || begins != steps || begins > data->shape.size())
    return constraint("C1", "begin, end and strides have {}, {} and {} values, and data {} has {} axes", begins, ends,
                      steps, text(data->shape), data->shape.size());
  // (C2) v has as many axes as data, the same after the sliced ones, and its type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", v, "v"));
  bool fits = rank(v) == rank(data);
  for (size_t d = begins; fits && d < data->shape.size(); ++d) fits = agree(data->shape[d], v->shape[d]);
  if (!fits)
    return constraint("C2", "v {} does not fit a slice of the first {} axes of data {}", text(v->shape), begins,
                      text(data->shape));
  return in[0];
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &v = in[1];
  const size_t sliced = static_cast<size_t>(in[2]->shape[0]->ivalue);
  return {elementwise("strided_set", data, [&](const Exprs& i) {
    Expr inside = imm(1, DType::boolean());
    Exprs at = i;
    for (size_t d = 0; d < sliced; ++d) {
      auto given = [&](size_t k) { return cast(DType::int64(), (*in[k])({dim(static_cast<int64_t>(d))})); };
      const Expr& n = data->shape[d];
      Expr step = given(4), up = lt(dim(0), step);
      // Clipped to [0, n], or for negative strides to [-1, n - 1].
      auto cut = [&](const Expr& x) {
        Expr from_front = select(lt(x, dim(0)), x + n, x);
        return max(min(from_front, select(up, n, n - 1)), select(up, dim(0), dim(-1)));
      };
      Expr begin = cut(given(2)), end = cut(given(3));
      Expr distance = select(up, i[d] - begin, begin - i[d]), size = select(up, step, dim(0) - step);
      Expr before_end = select(up, lt(i[d], end), lt(end, i[d]));
      at[d] = floordiv(distance, size);
      inside = logical_and(inside, logical_and(le(dim(0), distance), before_end));
      inside = logical_and(inside, logical_and(eq(at[d] * size, distance), lt(at[d], v->shape[d])));
      at[d] = max(min(at[d], v->shape[d] - 1), dim(0));
    }
    return select(inside, (*v)(at), (*data)(i));
  })};
}

// Gradients of replaced elements flow to v, the others to data. The numbers of v's elements, set into zeros, show where
// they went.
ir::Exprs gradient(const NoAttrs&, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &v = of.inputs[1];
  auto set = [&](const ir::Expr& into, const ir::Expr& values) {
    return grad::call("strided_set", {into, values, of.inputs[2], of.inputs[3], of.inputs[4]});
  };
  const ir::Expr nowhere = grad::call("cast", {grad::zeros_like(data)}, {{"dtype", DType::int64()}});
  return {set(of.gradient, grad::zeros_like(v)),
          grad::scattered(of.gradient, set(nowhere, grad::element_numbers(v)), v), nullptr, nullptr, nullptr};
}

}  // namespace
}  // namespace strided_set_cpp

OpDef strided_set() {
  using namespace strided_set_cpp;
  return define<NoAttrs>(
      {.name = "strided_set",
       .doc = "Replaces a strided slice of data.",
       .inputs = {{"data", "any shape"},
                  {"v", "the new values of the slice"},
                  {"begin", "(axes,) integers"},
                  {"end", "(axes,) integers"},
                  {"strides", "(axes,) integers, not zero"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "strided_set(data, v, begin, end, strides)",
       .examples = {{.inputs = {"(6, 5)", "(6, 5)", "(1,) int64", "(1,) int64", "(1,) int64"},
                     .symbolic = {"(n, 5)", "(n, 5)", "(1,) int64", "(1,) int64", "(1,) int64"},
                     .low = 1,
                     .high = 5},
                    {.inputs = {"(7, 8)", "(7, 8)", "(2,) int32", "(2,) int32", "(2,) int32"}, .low = -8, .high = -1},
                    {.inputs = {"(7, 8)", "(7, 8)", "(2,) int32", "(2,) int32", "(2,) int32"}, .low = 1, .high = 7}},
       .rejects = {{{"(6, 5)", "(3, 5)", "(1,)", "(1,) int32", "(1,) int32"}, "", "C1"},
                   {{"(6, 5)", "(3, 5)", "(1,) int32", "(2,) int32", "(1,) int32"}, "", "C1"},
                   {{"(6, 5)", "(3, 4)", "(1,) int32", "(1,) int32", "(1,) int32"}, "", "C2"},
                   {{"(6, 5)", "(3, 5) int32", "(1,) int32", "(1,) int32", "(1,) int32"}, "", "C2"}}});
}

}  // namespace relay::ops
