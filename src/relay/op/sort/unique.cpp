// unique: the different elements of a vector, and where they stand
//
// Five vectors, of which only the first num_unique elements mean something (the others are 0), but for `inverse`:
//   unique[k]           the k-th different element, in ascending order, or without `sorted` in that of the first places
//   indices[k]          its first place in data
//   inverse_indices[i]  the k of element i
//   num_unique          (1,): how many there are
//   counts[k]           with return_counts: how often it stands in data
//
// Each element is compared with each: time is quadratic.
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct UniqueAttrs {
  bool sorted = true;
  bool return_counts = false;
  static constexpr auto fields =
      std::tuple{field("sorted", &UniqueAttrs::sorted, "Whether the result is ascending."),
                 field("return_counts", &UniqueAttrs::return_counts, "Whether counts is among the results.")};
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

te::Tensors compute(const UniqueAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor& data = in[0];
  const Expr& n = data->shape[0];
  const DType places = DType::int32();
  auto number_of = [&](const char* name, const std::function<Expr(const Expr&, const Expr&)>& holds) {
    return te::reduce(name, {n}, {n}, Combiner::Sum,
                      [&](const Exprs& i, const Exprs& r) { return cast(places, holds(i[0], r[0])); });
  };
  // The first place of the same element.
  te::Tensor first = te::reduce("first", {n}, {n}, Combiner::Min, [&](const Exprs& i, const Exprs& r) {
    return select(logical_and(le(r[0], i[0]), eq((*data)(r), (*data)(i))), r[0], i[0]);
  });
  auto is_first = [&](const Expr& k) { return eq((*first)({k}), k); };
  te::Tensor inverse = number_of("inverse", [&](const Expr& i, const Expr& r) {
    Expr before = a.sorted ? lt((*data)({r}), (*data)({i})) : lt(r, (*first)({i}));
    return logical_and(is_first(r), before);
  });
  auto is_of = [&](const Expr& k, const Expr& i) { return eq((*inverse)({i}), cast(places, k)); };
  te::Tensor indices = te::reduce("indices", {n}, {n}, Combiner::Sum, [&](const Exprs& k, const Exprs& r) {
    return select(logical_and(is_first(r[0]), is_of(k[0], r[0])), cast(places, r[0]), imm(0, places));
  });
  te::Tensor count = te::reduce("num_unique", {dim(1)}, {n}, Combiner::Sum,
                                [&](const Exprs&, const Exprs& r) { return cast(places, is_first(r[0])); });
  te::Tensor unique = te::compute("unique", {n}, [&](const Exprs& k) {
    Expr place = max(min(cast(DType::int64(), (*indices)(k)), n - 1), dim(0));
    return select(lt(cast(places, k[0]), (*count)({dim(0)})), (*data)({place}), imm(0, data->dtype));
  });
  te::Tensors out = {unique, indices, inverse, count};
  if (a.return_counts) out.push_back(number_of("counts", is_of));
  return out;
}

}  // namespace

OpDef unique() {
  return define<UniqueAttrs>({.name = "unique",
                              .doc = "The different elements of a vector, and where they stand.",
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
