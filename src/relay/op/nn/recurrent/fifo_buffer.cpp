// nn.fifo_buffer: a queue along an axis: removes as many leading elements from buffer as data has, and appends data
//   out[.., i, ..] = i < B - D ? buffer[.., i + D, ..] : data[.., i - (B - D), ..]
#include "relay/op/gradient.h"

namespace relay::ops {
namespace fifo_buffer_cpp {
namespace {

struct FIFOBufferAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &FIFOBufferAttrs::axis, "The axis of the queue.")};
};

Result<Type> infer(const FIFOBufferAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* buffer, tensor_input(in, 1, "buffer"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(buffer)));
  // (C2) Both have one element type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", buffer, "buffer"));
  // (C3) They differ only along the axis, where data is not longer.
  bool fits = rank(data) == rank(buffer);
  for (size_t d = 0; fits && d < data->shape.size(); ++d)
    fits = static_cast<int64_t>(d) == axis ? at_least(buffer->shape[d], data->shape[d])
                                           : agree(data->shape[d], buffer->shape[d]);
  if (!fits)
    return constraint("C3", "data {} does not fit into buffer {} along axis {}", text(data->shape), text(buffer->shape),
                      axis);
  return in[1];
}

te::Tensors compute(const FIFOBufferAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &buffer = in[1];
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(buffer->shape.size())));
  const Expr &length = data->shape[axis], kept = scalar::simplify(buffer->shape[axis] - length);
  return {elementwise("fifo_buffer", buffer, [&](const Exprs& i) {
    Exprs old = i, fresh = i;
    old[axis] = i[axis] + length, fresh[axis] = i[axis] - kept;
    return select(lt(i[axis], kept), (*buffer)(old), (*data)(fresh));
  })};
}

ir::Expr definition(const FIFOBufferAttrs& a, const ir::Exprs& in) {
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, grad::rank(in[1])));
  const Dim& length = grad::tensor(in[0]).shape[axis];
  if (!scalar::is_int(length)) return nullptr;
  const ir::Expr all = grad::call("concatenate", {ir::tuple({in[1], in[0]})}, {{"axis", static_cast<int64_t>(axis)}});
  return grad::call(
      "strided_slice", {all},
      {{"begin", Ints{length->ivalue}}, {"end", Ints{INT32_MAX}}, {"axes", Ints{static_cast<int64_t>(axis)}}});
}

}  // namespace
}  // namespace fifo_buffer_cpp

OpDef nn_fifo_buffer() {
  using namespace fifo_buffer_cpp;
  return define<FIFOBufferAttrs>(
      {.name = "nn.fifo_buffer",
       .doc = "Appends data to a queue and drops the same number of elements at its front.",
       .inputs = {{"data", "the new elements"}, {"buffer", "the queue, with the shape of the result"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .oracle = "torch.cat([buffer, data], axis).narrow(axis, data.shape[axis], buffer.shape[axis])",
       .examples = {{.inputs = {"(2, 3)", "(5, 3)"}, .symbolic = {"(n, 3)", "(5, 3)"}},
                    {.inputs = {"(2, 4)", "(2, 4)"}, .attrs = "axis=-1"},
                    {.inputs = {"(2, 1, 3) int32", "(2, 6, 3) int32"}, .attrs = "axis=1", .low = -9, .high = 9}},
       .rejects = {{{"(2, 3)", "(5, 3)"}, "axis=2", "C1"},
                   {{"(2, 3)", "(5, 3) int32"}, "", "C2"},
                   {{"(6, 3)", "(5, 3)"}, "", "C3"},
                   {{"(2, 4)", "(5, 3)"}, "", "C3"}}},
      "FIFOBufferAttrs");
}

}  // namespace relay::ops
