// searchsorted: the insertion index of each value in a sorted sequence: the number of elements below it, or with
// `right` not above it. NaN is above every number.
//
// In a sequence with several axes, the last axis is that of the sequences, and values have the same leading axes. For
// each value, a binary search halves the range of its index.
#include "relay/op/sort/order.h"
#include "relay/op/sort/radix.h"

namespace relay::ops {
namespace searchsorted_cpp {
namespace {

struct SearchSortedAttrs {
  bool right = false;
  DType dtype = DType::int32();
  static constexpr auto fields =
      std::tuple{field("right", &SearchSortedAttrs::right, "True to insert after equal elements, false before them."),
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
  const Expr& n = sequence->shape.back();
  const size_t axes = values->shape.size();
  // A single sequence for all values that differ only in the last axis.
  const bool rows = sequence->shape.size() > 1;
  const std::vector<size_t> batch = axes_but(axes, rows ? std::vector<size_t>{axes - 1} : std::vector<size_t>{});
  auto search = [&](const Exprs& i, const Expr& bits, const BufferRef& result) {
    // The index is in [low, low + length].
    return with_cell("low", dim(0), [&](const Cell& low) {
      return with_cell("length", n, [&](const Cell& length) {
        const Stmt halve = each("step", bits, [&](const Expr&) {
          return let("half", floordiv(length.get(), 2), [&](const Expr& half) {
            Exprs at(i.begin(), rows ? i.end() - 1 : i.begin());
            at.push_back(low.get() + half);
            const Expr element = (*sequence)(at), value = (*values)(i);
            const Expr behind =
                a.right ? scalar::unary(UnaryOp::Not, greater(element, value)) : greater(value, element);
            const Stmt move = let("behind", behind, [&](const Expr& b) {
              return loop::block({low.set(select(b, low.get() + half + 1, low.get())),
                                  length.set(select(b, length.get() - half - 1, half))});
            });
            return loop::if_(lt(dim(0), length.get()), move);
          });
        });
        return loop::block({halve, loop::store(result, i, cast(a.dtype, low.get()))});
      });
    });
  };
  return {te::program("searchsorted", shape_of(out), a.dtype, batch, [&](const Exprs& b, const BufferRef& result) {
    return with_bits_of(n, [&](const Expr& bits) {
      if (!rows) return search(b, bits, result);
      return each("i", values->shape.back(), [&](const Expr& k) {
        Exprs i = b;
        i.push_back(k);
        return search(i, bits, result);
      });
    });
  })};
}

}  // namespace
}  // namespace searchsorted_cpp

OpDef searchsorted() {
  using namespace searchsorted_cpp;
  return define<SearchSortedAttrs>({.name = "searchsorted",
                                    .doc = "The positions at which values would be inserted into sorted sequences.",
                                    .inputs = {{"sorted_sequence", "ascending along the last axis, (n,) or (.., n)"},
                                               {"values", "any shape, or (.., m)"}},
                                    .fusion = Fusion::Opaque,
                                    .infer = infer,
                                    .compute = compute,
                                    .oracle = "searchsorted(sorted_sequence, values, right)",
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
