// argwhere: the indices of the elements that are not zero, in row-major order, one per row; nonzero: the same, one per
// column: (rank, count), int64
//
// Elements are visited in order. The indices of each are written into the first free row, and the row is kept if the
// element is not zero: a branch on the element would be mispredicted half of the time.
#include "relay/op/loops.h"
#include "relay/op/places.h"

namespace relay::ops {
namespace argwhere_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* condition, tensor_input(in, 0, "condition"));
  DType places = DType::int32();
  for (const Dim& d : condition->shape)
    if (op::place_type(d) != places) places = DType::int64();
  return ir::tensor_type({scalar::any_dim(), dim(rank(condition))}, places);
}

Expr total(const te::Tensor& t) {
  Expr p = dim(1);
  for (const Expr& d : t->shape) p = p * d;
  return p;
}

// The indices of the k-th element.
Exprs indices(const te::Tensor& t, Expr k) {
  Exprs at(t->shape.size());
  for (size_t d = at.size(); d-- > 0;) at[d] = d == 0 ? k : floormod(k, t->shape[d]), k = floordiv(k, t->shape[d]);
  return at;
}

Expr is_set(const te::Tensor& t, const Expr& k) { return ne((*t)(indices(t, k)), imm(0, t->dtype)); }

te::Tensor shape(const NoAttrs&, const te::Tensors& in) {
  te::Tensor count = te::reduce("count", {}, {total(in[0])}, Combiner::Sum, [&](const Exprs&, const Exprs& r) {
    return cast(DType::int64(), is_set(in[0], r[0]));
  });
  return te::compute("shape", {dim(2)}, [&](const Exprs& i) {
    return select(eq(i[0], dim(0)), (*count)({}), dim(static_cast<int64_t>(in[0]->shape.size())));
  });
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type& out) {
  const Dims& rows = shape_of(out);
  const size_t axes = in[0]->shape.size();
  return {te::program("argwhere", rows, dtype_of(out), {}, [&](const Exprs&, const BufferRef& result) {
    return with_cell("row", dim(0), [&](const Cell& row) {
      return each("k", total(in[0]), [&](const Expr& k) {
        const Exprs at = indices(in[0], k);
        loop::Stmts steps;
        for (size_t d = 0; d < axes; ++d)
          steps.push_back(loop::store(result, {row.get(), dim(static_cast<int64_t>(d))}, cast(dtype_of(out), at[d])));
        steps.push_back(row.set(row.get() + cast(DType::int64(), is_set(in[0], k))));
        return loop::if_(lt(row.get(), rows[0]), loop::block(std::move(steps)));
      });
    });
  })};
}

Result<Type> infer_columns(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  return ir::tensor_type({dim(rank(data)), scalar::any_dim()}, DType::int64());
}

te::Tensor shape_of_columns(const NoAttrs& a, const te::Tensors& in) {
  te::Tensor rows = shape(a, in);
  return te::compute("shape", {dim(2)}, [&](const Exprs& i) { return (*rows)({dim(1) - i[0]}); });
}

te::Tensors compute_columns(const NoAttrs& a, const te::Tensors& in, const Type& out) {
  const Dims& columns = shape_of(out);
  te::Tensor rows = compute(a, in, ir::tensor_type({columns[1], columns[0]}, DType::int64()))[0];
  return {te::compute("nonzero", columns, [&](const Exprs& i) { return (*rows)({i[1], i[0]}); })};
}

}  // namespace
}  // namespace argwhere_cpp

OpDef argwhere() {
  using namespace argwhere_cpp;
  return define<NoAttrs>({.name = "argwhere",
                          .doc = "The indices of the non-zero elements, one per row.",
                          .inputs = {{"condition", "any shape"}},
                          .fusion = Fusion::Opaque,
                          .infer = infer,
                          .compute = compute,
                          .shape = shape,
                          .oracle = "np.argwhere(np.asarray(condition)).astype(np.int32)",
                          .examples = {{.inputs = {"(7,) int32"}, .low = 0, .high = 1, .ulps = 0},
                                       {.inputs = {"(3, 4) int32"}, .low = -1, .high = 1, .ulps = 0},
                                       {.inputs = {"(2, 2, 3) bool"}, .low = 0, .high = 1, .ulps = 0}}});
}

OpDef nonzero() {
  using namespace argwhere_cpp;
  return define<NoAttrs>({.name = "nonzero",
                          .doc = "The indices of the non-zero elements, one per column.",
                          .inputs = {{"data", "any shape"}},
                          .fusion = Fusion::Opaque,
                          .infer = infer_columns,
                          .compute = compute_columns,
                          .shape = shape_of_columns,
                          .is_extension = true,
                          .oracle = "np.argwhere(np.asarray(data)).T",
                          .examples = {{.inputs = {"(7,) int32"}, .low = 0, .high = 1, .ulps = 0},
                                       {.inputs = {"(3, 4) int32"}, .low = -1, .high = 1, .ulps = 0},
                                       {.inputs = {"(2, 2, 3) bool"}, .low = 0, .high = 1, .ulps = 0}}});
}

}  // namespace relay::ops
