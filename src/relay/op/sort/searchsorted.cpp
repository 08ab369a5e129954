// searchsorted: where each value would stand in a sorted sequence: the number of elements below it, or with `right` not
// above it
//
// Of a sequence with several axes, the last are the sequences, and values have the same axes in front. All elements are
// counted.
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct SearchSortedAttrs {
  bool right = false;
  DType dtype = DType::int32();
  static constexpr auto fields =
      std::tuple{field("right", &SearchSortedAttrs::right, "Whether equal elements stand before the value."),
                 field("dtype", &SearchSortedAttrs::dtype, "The element type of the result.")};
};

Result<Type> infer(const SearchSortedAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* sequence, tensor_input(in, 0, "sorted_sequence"));
  RELAY_ASSIGN(const TensorType* values, tensor_input(in, 1, "values"));
  // (C1) Both have one element type; the result is integers.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", sequence, "sorted_sequence", values, "values"));
  if (!a.dtype.is_int()) return constraint("C1", "dtype must be an integer type, but is {}", a.dtype.str());
  // (C2) There is one sequence, or one for each index of all axes of values but the last.
  bool fits = rank(sequence) == 1 || (rank(sequence) > 1 && rank(sequence) == rank(values));
  for (size_t d = 0; fits && d + 1 < sequence->shape.size(); ++d) fits = agree(sequence->shape[d], values->shape[d]);
  if (!fits)
    return constraint("C2", "sorted_sequence {} does not fit values {}", text(sequence->shape), text(values->shape));
  return ir::tensor_type(values->shape, a.dtype);
}

te::Tensors compute(const SearchSortedAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &sequence = in[0], &values = in[1];
  return {te::reduce("searchsorted", shape_of(out), {sequence->shape.back()}, Combiner::Sum,
                     [&](const Exprs& i, const Exprs& r) {
                       Exprs at;
                       if (sequence->shape.size() > 1) at.assign(i.begin(), i.end() - 1);
                       at.push_back(r[0]);
                       Expr element = (*sequence)(at), value = (*values)(i);
                       return cast(a.dtype, a.right ? le(element, value) : lt(element, value));
                     })};
}

}  // namespace

OpDef searchsorted() {
  return define<SearchSortedAttrs>(
      {.name = "searchsorted",
       .doc = "Where values would stand in sorted sequences.",
       .inputs = {{"sorted_sequence", "ascending along the last axis, (n,) or (.., n)"},
                  {"values", "any shape, or (.., m)"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle =
           "((sorted_sequence.unsqueeze(-2) <= values.unsqueeze(-1)) if right else (sorted_sequence.unsqueeze(-2) < "
           "values.unsqueeze(-1))).sum(-1)",
       .examples = {{.inputs = {"(7,)", "(3, 4)"}, .symbolic = {"(n,)", "(3, m)"}},
                    {.inputs = {"(2, 7) int32", "(2, 4) int32"},
                     .attrs = "right=True, dtype=\"int64\"",
                     .symbolic = {"(b, n) int32", "(b, 4) int32"},
                     .low = 0,
                     .high = 5}},
       .rejects = {{{"(7,)", "(3,) int32"}, "", "C1"},
                   {{"(7,)", "(3,)"}, "dtype=\"float32\"", "C1"},
                   {{"(2, 7)", "(3, 7)"}, "", "C2"},
                   {{"()", "(3,)"}, "", "C2"}}},
      "SearchSortedAttrs");
}

}  // namespace relay::ops
