// invert_permutation: out[data[i]] = i
//
// Each element of the result looks for its place: time is quadratic. Where data is no permutation, out is the sum of
// the places found.
#include "relay/op/common.h"

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
  return {
      te::reduce("invert_permutation", data->shape, data->shape, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        return select(eq(cast(DType::int64(), (*data)(r)), i[0]), cast(data->dtype, r[0]), imm(0, data->dtype));
      })};
}

}  // namespace

OpDef invert_permutation() {
  return define<NoAttrs>(
      {.name = "invert_permutation",
       .doc = "The inverse of a permutation.",
       .inputs = {{"data", "the numbers from 0 to n - 1 in some order, (n,)"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "torch.tensor([sum(k for k, x in enumerate(data) if x == i) for i in range(len(data))])",
       .examples = {{.inputs = {"(7,) int32"}, .symbolic = {"(n,) int32"}, .low = 0, .high = 6},
                    {.inputs = {"(5,) int64"}, .low = 0, .high = 4}},
       .rejects = {{{"(7,)"}, "", "C1"}, {{"(2, 2) int32"}, "", "C1"}}});
}

}  // namespace relay::ops
