// Operators on sequences of different lengths in one tensor:
//
//   sequence_mask      out[..] = data[..] where the index along axis is below valid_length of the batch, else
//                      mask_value
//   reverse_sequence   out[.., t, ..] = data[.., L - 1 - t, ..] where t < L = seq_lengths of the batch, else data
//
// Lengths are clipped to the axis.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace sequence_cpp {
namespace {

struct SequenceMaskAttrs {
  double mask_value = 0;
  int64_t axis = 0;
  static constexpr auto fields =
      std::tuple{field("mask_value", &SequenceMaskAttrs::mask_value, "The value after the end of a sequence."),
                 field("axis", &SequenceMaskAttrs::axis, "The axis of the sequences, 0 or 1; the other is the batch.")};
};

struct ReverseSequenceAttrs {
  int64_t seq_axis = 1;
  int64_t batch_axis = 0;
  static constexpr auto fields =
      std::tuple{field("seq_axis", &ReverseSequenceAttrs::seq_axis, "The axis of the sequences."),
                 field("batch_axis", &ReverseSequenceAttrs::batch_axis, "The axis of the batch.")};
};

// (C2) There is an integer for each element of the batch.
Status check_lengths(const TensorType* lengths, const char* name, const Dim& batch) {
  if (lengths->dtype.is_int() && agree(Dims{batch}, lengths->shape)) return ok();
  return constraint("C2", "{} should be integers ({},), but is {}", name, scalar::str(batch),
                    ir::str(ir::tensor_type(lengths->shape, lengths->dtype)));
}

Result<Type> infer_mask(const SequenceMaskAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* lengths, tensor_input(in, 1, "valid_length"));
  // (C1) Data has a batch and sequences.
  if (rank(data) < 2 || (a.axis != 0 && a.axis != 1))
    return constraint("C1", "axis must be 0 or 1, and data have two axes, but axis is {} and data {}", a.axis,
                      text(data->shape));
  RELAY_RETURN_IF_ERROR(check_lengths(lengths, "valid_length", data->shape[a.axis == 0 ? 1 : 0]));
  return in[0];
}

te::Tensors compute_mask(const SequenceMaskAttrs& a, const te::Tensors& in, const Type&) {
  const size_t axis = static_cast<size_t>(a.axis);
  return {elementwise("sequence_mask", in[0], [&](const Exprs& i) {
    Expr length = cast(DType::int64(), (*in[1])({i[1 - axis]}));
    return select(lt(i[axis], length), (*in[0])(i), number(a.mask_value, in[0]->dtype));
  })};
}

Result<Type> infer_reverse(const ReverseSequenceAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* lengths, tensor_input(in, 1, "seq_lengths"));
  // (C1) The axes exist and are two.
  RELAY_ASSIGN(int64_t sequence, normal_axis("C1", a.seq_axis, rank(data)));
  RELAY_ASSIGN(int64_t batch, normal_axis("C1", a.batch_axis, rank(data)));
  if (sequence == batch) return constraint("C1", "seq_axis and batch_axis are both {}", batch);
  RELAY_RETURN_IF_ERROR(check_lengths(lengths, "seq_lengths", data->shape[static_cast<size_t>(batch)]));
  return in[0];
}

te::Tensors compute_reverse(const ReverseSequenceAttrs& a, const te::Tensors& in, const Type&) {
  const int64_t rank = static_cast<int64_t>(in[0]->shape.size());
  const size_t axis = static_cast<size_t>(positive_axis(a.seq_axis, rank)),
               batch = static_cast<size_t>(positive_axis(a.batch_axis, rank));
  return {elementwise("reverse_sequence", in[0], [&](Exprs i) {
    Expr length = min(cast(DType::int64(), (*in[1])({i[batch]})), in[0]->shape[axis]);
    Expr reversed = max(min(length - 1 - i[axis], in[0]->shape[axis] - 1), dim(0));
    i[axis] = select(lt(i[axis], length), reversed, i[axis]);
    return (*in[0])(i);
  })};
}

// The masked part is constant.
ir::Exprs gradient(const SequenceMaskAttrs& a, const Adjoint& of) {
  return {grad::call("sequence_mask", {of.gradient, of.inputs[1]}, {{"mask_value", 0.0}, {"axis", a.axis}}), nullptr};
}

ir::Exprs gradient_of_reverse(const ReverseSequenceAttrs& a, const Adjoint& of) {
  return {grad::call("reverse_sequence", {of.gradient, of.inputs[1]},
                     {{"seq_axis", a.seq_axis}, {"batch_axis", a.batch_axis}}),
          nullptr};
}

}  // namespace
}  // namespace sequence_cpp

OpDef sequence_mask() {
  using namespace sequence_cpp;
  return define<SequenceMaskAttrs>(
      {.name = "sequence_mask",
       .doc = "Sets all elements after the end of each sequence to one value.",
       .inputs = {{"data", "(length, batch, ..) or (batch, length, ..)"}, {"valid_length", "(batch,) integers"}},
       .fusion = Fusion::Injective,
       .infer = infer_mask,
       .compute = compute_mask,
       .gradient = gradient,
       .oracle = "torch.where(along(torch.arange(data.shape[axis]), axis, data.ndim) < along(valid_length, 1 - axis, "
                 "data.ndim), data, mask_value)",
       .examples =
           {{.inputs = {"(5, 3, 2)", "(3,) int32"}, .symbolic = {"(t, n, 2)", "(n,) int32"}, .low = 0, .high = 6},
            {.inputs = {"(3, 5)", "(3,) int64"}, .attrs = "axis=1, mask_value=-9f", .low = 0, .high = 5}},
       .rejects = {{{"(5,)", "(5,) int32"}, "", "C1"},
                   {{"(5, 3, 2)", "(3,) int32"}, "axis=2", "C1"},
                   {{"(5, 3, 2)", "(3,) int32"}, "axis=-3", "C1"},
                   {{"(5, 3)", "(5,) int32"}, "", "C2"},
                   {{"(5, 3)", "(3,)"}, "", "C2"}}},
      "SequenceMaskAttrs");
}

OpDef reverse_sequence() {
  using namespace sequence_cpp;
  return define<ReverseSequenceAttrs>(
      {.name = "reverse_sequence",
       .doc = "Reverses sequences of different lengths.",
       .inputs = {{"data", "any shape with at least two axes"}, {"seq_lengths", "(batch,) integers"}},
       .fusion = Fusion::Injective,
       .infer = infer_reverse,
       .compute = compute_reverse,
       .gradient = gradient_of_reverse,
       .oracle = "reverse_sequence(data, seq_lengths, seq_axis, batch_axis)",
       .examples =
           {{.inputs = {"(3, 5, 2)", "(3,) int32"}, .symbolic = {"(n, t, 2)", "(n,) int32"}, .low = 0, .high = 6},
            {.inputs = {"(5, 2, 3)", "(3,) int64"}, .attrs = "seq_axis=0, batch_axis=-1", .low = 0, .high = 5}},
       .rejects = {{{"(5,)", "(5,) int32"}, "", "C1"},
                   {{"(5, 3)", "(5,) int32"}, "seq_axis=0", "C1"},
                   {{"(5, 3)", "(3,) int32"}, "", "C2"}}},
      "ReverseSequenceAttrs");
}

}  // namespace relay::ops
