// unique: the distinct elements of a vector, and their indices
//
// Five vectors; except in `inverse_indices`, only the first num_unique elements are valid (the others are 0):
//   unique[k]           the k-th distinct element, in ascending order, or without `sorted` by first occurrence
//   indices[k]          its first index in data
//   inverse_indices[i]  the k of element i
//   num_unique          (1,): their number
//   counts[k]           with return_counts: its number of occurrences in data
//
// Equal elements are adjacent in sorted order; one scan numbers them. Without `sorted` a second scan renumbers them in
// the order of first occurrence.
#include "relay/op/sort/order.h"

namespace relay::ops {
namespace unique_cpp {
namespace {

struct UniqueAttrs {
  bool sorted = true;
  bool return_counts = false;
  static constexpr auto fields =
      std::tuple{field("sorted", &UniqueAttrs::sorted, "True if the result is in ascending order."),
                 field("return_counts", &UniqueAttrs::return_counts, "True to return counts.")};
};

Result<Type> infer(const UniqueAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data is a vector.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, 1, "data"));
  Type places = ir::tensor_type(data->shape, DType::int32()), number = ir::tensor_type({dim(1)}, DType::int32());
  Types fields = {in[0], places, places, number};
  if (a.return_counts) fields.push_back(places);
  return ir::tuple_type(std::move(fields));
}

// The rows of the table that the scan fills.
enum Row : int64_t { Places, Inverse, Counts, Number, Renumbered, rows };

te::Tensors compute(const UniqueAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor& data = in[0];
  const Expr& n = data->shape[0];
  const DType t = DType::int32();
  const Order order(data, 0, true);
  te::Tensor table = te::program("unique_table", {dim(rows), n}, t, {}, [&](const Exprs&, const BufferRef& result) {
    auto store = [&](Row row, const Expr& k, const Expr& value) {
      return loop::store(result, {dim(row), k}, cast(t, value));
    };
    auto load = [&](Row row, const Expr& k) { return cast(DType::int64(), scalar::load(result, {dim(row), k})); };
    auto is_new = [&](const Expr& i) {
      const Expr same = eq(order.element({max(i, dim(1)) - 1}), order.element({i}));
      return select(eq(i, dim(0)), imm(1, DType::boolean()), unary(UnaryOp::Not, same));
    };
    const Stmt clear = each("i", n, [&](const Expr& i) {
      return loop::block({store(Places, i, dim(0)), store(Inverse, i, dim(0)), store(Counts, i, dim(0)),
                          store(Number, i, dim(0)), store(Renumbered, i, dim(0))});
    });
    // In sorted order: the number of element i is that of the previous one, or one more.
    auto number = [&](const Cell& numbers) {
      return each("i", n, [&](const Expr& i) {
        return let("place", max(min(order.place({i}), n - 1), dim(0)), [&](const Expr& place) {
          const Stmt next =
              loop::if_(is_new(i), loop::block({store(Places, numbers.get(), place), numbers.set(numbers.get() + 1)}));
          const Expr k = max(numbers.get() - 1, dim(0));
          return loop::block({next, store(Inverse, place, k), store(Counts, k, load(Counts, k) + 1)});
        });
      });
    };
    // In the order of first occurrence: element i is the first of its kind if its number's first index is i; it then
    // gets the next number.
    auto renumber = [&](const Cell& numbers) {
      return each("i", n, [&](const Expr& i) {
        return let("old", load(Inverse, i), [&](const Expr& old) {
          const Stmt next = loop::block({store(Renumbered, old, numbers.get()), numbers.set(numbers.get() + 1)});
          return loop::block({loop::if_(eq(load(Places, old), i), next), store(Inverse, i, load(Renumbered, old))});
        });
      });
    };
    loop::Stmts steps{clear};
    steps.push_back(with_cell("numbers", dim(0), [&](const Cell& numbers) {
      const Stmt found =
          each("one", min(n, dim(1)), [&](const Expr& one) { return store(Number, one, numbers.get()); });
      return loop::block({number(numbers), found});
    }));
    if (!a.sorted) {
      steps.push_back(with_cell("numbers", dim(0), renumber));
      const Stmt reset = each(
          "i", n, [&](const Expr& i) { return loop::block({store(Places, i, dim(0)), store(Counts, i, dim(0))}); });
      const Stmt refill = each("j", n, [&](const Expr& j) {
        return let("i", n - 1 - j, [&](const Expr& i) {  // backwards, so that the first index remains
          return let("k", load(Inverse, i), [&](const Expr& k) {
            return loop::block({store(Places, k, i), store(Counts, k, load(Counts, k) + 1)});
          });
        });
      });
      steps.push_back(reset), steps.push_back(refill);
    }
    return loop::block(std::move(steps));
  });
  auto row = [&](const char* name, Row r, const Expr& extent) {
    return te::compute(name, {extent}, [&](const Exprs& i) {
      if (r != Number) return (*table)({dim(r), i[0]});
      return select(lt(dim(0), n), (*table)({dim(r), i[0]}), imm(0, t));  // for an empty input
    });
  };
  te::Tensor indices = row("indices", Places, n), inverse = row("inverse", Inverse, n),
             count = row("num_unique", Number, dim(1));
  te::Tensor unique = te::compute("unique", {n}, [&](const Exprs& k) {
    Expr place = max(min(cast(DType::int64(), (*indices)(k)), n - 1), dim(0));
    return select(lt(cast(t, k[0]), (*count)({dim(0)})), (*data)({place}), imm(0, data->dtype));
  });
  te::Tensors out = {unique, indices, inverse, count};
  if (a.return_counts) out.push_back(row("counts", Counts, n));
  return out;
}

}  // namespace
}  // namespace unique_cpp

OpDef unique() {
  using namespace unique_cpp;
  return define<UniqueAttrs>({.name = "unique",
                              .doc = "The distinct elements of a vector, and their positions.",
                              .inputs = {{"data", "(n,)"}},
                              .fusion = Fusion::Opaque,
                              .infer = infer,
                              .compute = compute,
                              .oracle = "unique(data, sorted, return_counts)",
                              .examples = {{.inputs = {"(9,) int32"}, .symbolic = {"(n,) int32"}, .low = 0, .high = 4},
                                           {.inputs = {"(9,) int32"},
                                            .attrs = "sorted=False, return_counts=True",
                                            .symbolic = {"(n,) int32"},
                                            .low = 0,
                                            .high = 4},
                                           {.inputs = {"(5,)"}, .attrs = "return_counts=True"}},
                              .rejects = {{{"(2, 3)"}, "", "C1"}}},
                             "UniqueAttrs");
}

}  // namespace relay::ops
