// invert_permutation: out[data[i]] = i
//
// Where data is no permutation, out is the sum of the places found; elements that are no place count nothing.
#include "relay/op/loops.h"

namespace relay::ops {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data is a vector of integers.
  if (rank(data) != 1 || !data->dtype.is_int())
    return constraint("C1", "data must be integers (n,), but is {}", ir::str(in[0]));
  return in[0];
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type&) {
  const te::Tensor& data = in[0];
  const Expr& n = data->shape[0];
  return {te::program("invert_permutation", data->shape, data->dtype, {}, [&](const Exprs&, const BufferRef& result) {
    return loop::block({each("i", n, [&](const Expr& i) { return loop::store(result, {i}, imm(0, data->dtype)); }),
                        each("i", n, [&](const Expr& i) {
                          return let("to", cast(DType::int64(), (*data)({i})), [&](const Expr& to) {
                            const Expr sum = scalar::load(result, {to}) + cast(data->dtype, i);
                            return loop::if_(logical_and(le(dim(0), to), lt(to, n)), loop::store(result, {to}, sum));
                          });
                        })});
  })};
}

}  // namespace

OpDef invert_permutation() {
  return define<NoAttrs>(
      {.name = "invert_permutation",
       .doc = "The inverse of a permutation.",
       .inputs = {{"data", "the numbers from 0 to n - 1 in some order, (n,)"}},
       // Fusion of invert_permutation: injective in the reference; where an element goes is data.
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "torch.tensor([sum(k for k, x in enumerate(data) if x == i) for i in range(len(data))])",
       .examples = {{.inputs = {"(7,) int32"}, .symbolic = {"(n,) int32"}, .low = 0, .high = 6},
                    {.inputs = {"(5,) int64"}, .low = 0, .high = 4}},
       .rejects = {{{"(7,)"}, "", "C1"}, {{"(2, 2) int32"}, "", "C1"}}});
}

}  // namespace relay::ops
