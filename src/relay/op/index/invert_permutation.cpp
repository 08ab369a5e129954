// invert_permutation: out[data[i]] = i
//
// Data that is not a permutation is refused: it contains a value out of range, or a value twice.
#include "relay/op/loops.h"

namespace relay::ops {
namespace invert_permutation_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data is a vector of integers.
  if (rank(data) != 1 || !data->dtype.is_int())
    return constraint("C1", "data must be integers (n,), but is {}", ir::str(in[0]));
  return in[0];
}

te::Tensor inverse(const te::Tensor& data) {
  const Expr& n = data->shape[0];
  return te::program("invert_permutation", data->shape, data->dtype, {}, [&](const Exprs&, const BufferRef& result) {
    return loop::block({each("i", n, [&](const Expr& i) { return loop::store(result, {i}, imm(0, data->dtype)); }),
                        each("i", n, [&](const Expr& i) {
                          return let("to", cast(DType::int64(), (*data)({i})), [&](const Expr& to) {
                            return loop::if_(logical_and(le(dim(0), to), lt(to, n)),
                                             loop::store(result, {to}, cast(data->dtype, i)));
                          });
                        })});
  });
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type&) { return {inverse(in[0])}; }

// If two values are equal, the inverse holds the last index, and does not lead back to the other.
op::Checks checked(const NoAttrs&, const Types& in) {
  auto leads_back = [](const te::Tensors& tensors) {
    const te::Tensor &data = tensors[0], back = inverse(data);
    return elementwise("leads_back", data, [&](const Exprs& i) {
      const Expr to = max(min(cast(DType::int64(), (*data)(i)), data->shape[0] - 1), dim(0));
      return select(eq(cast(DType::int64(), (*back)({to})), i[0]), imm(0, DType::int32()), imm(1, DType::int32()));
    });
  };
  return {{0, {as<TensorType>(in[0])->shape[0]}, {no_axis}},
          {0, {dim(1)}, {no_axis}, leads_back, "data contains a number twice\ngive each number from 0 to n - 1 once"}};
}

}  // namespace
}  // namespace invert_permutation_cpp

OpDef invert_permutation() {
  using namespace invert_permutation_cpp;
  return define<NoAttrs>({.name = "invert_permutation",
                          .doc = "The inverse of a permutation.",
                          .inputs = {{"data", "(n,) integers: a permutation of 0 to n - 1"}},
                          // Fusion of invert_permutation: injective in the reference; where an element goes is data.
                          .fusion = Fusion::Opaque,
                          .infer = infer,
                          .compute = compute,
                          .checked = checked,
                          .oracle = "torch.argsort(data)",
                          .examples = {{.inputs = {"(7,) int32"}, .symbolic = {"(n,) int32"}, .distinct = true},
                                       {.inputs = {"(5,) int64"}, .distinct = true}},
                          .rejects = {{{"(7,)"}, "", "C1"}, {{"(2, 2) int32"}, "", "C1"}}});
}

}  // namespace relay::ops
