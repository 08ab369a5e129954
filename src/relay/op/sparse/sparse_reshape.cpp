// sparse_reshape: the indices of a sparse tensor's values in another shape with as many elements
//
//   (new indices, new shape), where one extent of new_shape may be -1: the remaining factor
#include "relay/op/common.h"

namespace relay::ops {
namespace sparse_reshape_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 0, "sparse_indices"));
  // (C1) Shapes are lists of integers of known length.
  RELAY_ASSIGN(size_t before, shape_input("C1", in, 1, "prev_shape"));
  RELAY_ASSIGN(size_t after, shape_input("C1", in, 2, "new_shape"));
  // (C2) Indices are integers, one for each axis of the old shape; all have one type.
  if (rank(indices) != 2 || !indices->dtype.is_int() || !agree(indices->shape[1], dim(static_cast<int64_t>(before))))
    return constraint("C2", "sparse_indices {} should be integers (values, {})", ir::str(in[0]), before);
  const TensorType* shape = as<TensorType>(in[2]);
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", indices, "sparse_indices", shape, "new_shape"));
  return ir::tuple_type({ir::tensor_type({indices->shape[0], dim(static_cast<int64_t>(after))}, indices->dtype),
                         ir::tensor_type({dim(static_cast<int64_t>(after))}, shape->dtype)});
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type& out) {
  const TupleType* types = as<TupleType>(out);
  const size_t before = static_cast<size_t>(in[1]->shape[0]->ivalue),
               after = static_cast<size_t>(in[2]->shape[0]->ivalue);
  auto one = [](const te::Tensor& t, size_t d) { return cast(DType::int64(), (*t)({dim(static_cast<int64_t>(d))})); };
  te::Tensor total = te::reduce("total", {}, in[1]->shape, Combiner::Prod,
                                [&](const Exprs&, const Exprs& r) { return cast(DType::int64(), (*in[1])(r)); });
  te::Tensor known = te::reduce("known", {}, in[2]->shape, Combiner::Prod, [&](const Exprs&, const Exprs& r) {
    Expr extent = cast(DType::int64(), (*in[2])(r));
    return select(eq(extent, dim(-1)), dim(1), extent);
  });
  te::Tensor shape = te::compute("shape", in[2]->shape, [&](const Exprs& i) {
    Expr extent = cast(DType::int64(), (*in[2])(i));
    return select(eq(extent, dim(-1)), floordiv((*total)({}), (*known)({})), extent);
  });
  te::Tensor flat = te::compute("flat", {in[0]->shape[0]}, [&](const Exprs& i) {
    Expr place = dim(0);
    for (size_t d = 0; d < before; ++d)
      place = place * one(in[1], d) + cast(DType::int64(), (*in[0])({i[0], dim(static_cast<int64_t>(d))}));
    return place;
  });
  te::Tensor indices = te::compute("indices", shape_of(types->fields[0]), [&](const Exprs& i) {
    Expr rest = (*flat)({i[0]}), value = dim(0);
    for (size_t d = after; d-- > 0;) {
      Expr extent = (*shape)({dim(static_cast<int64_t>(d))});
      value = select(eq(i[1], dim(static_cast<int64_t>(d))), d == 0 ? rest : floormod(rest, extent), value);
      rest = floordiv(rest, extent);
    }
    return cast(dtype_of(types->fields[0]), value);
  });
  return {indices, elementwise("new_shape", shape,
                               [&](const Exprs& i) { return cast(dtype_of(types->fields[1]), (*shape)(i)); })};
}

}  // namespace
}  // namespace sparse_reshape_cpp

OpDef sparse_reshape() {
  using namespace sparse_reshape_cpp;
  return define<NoAttrs>(
      {.name = "sparse_reshape",
       .doc = "The indices of the values of a sparse tensor in another shape.",
       .inputs = {{"sparse_indices", "(values, old rank) integers"},
                  {"prev_shape", "(old rank,) integers"},
                  {"new_shape", "(new rank,) integers, at most one of them -1"}},
       // Fusion of sparse_reshape: injective in the reference; it has products of all extents, and two results.
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "sparse_reshape(sparse_indices, prev_shape, new_shape)",
       .examples = {{.inputs = {"(4, 2) int64", "(2,) int64", "(1,) int64"},
                     .symbolic = {"(n, 2) int64", "(2,) int64", "(1,) int64"},
                     .ranges = {{0, 2}, {3, 3}, {-1, -1}}},
                    {.inputs = {"(5, 2) int32", "(2,) int32", "(4,) int32"}, .ranges = {{0, 3}, {4, 4}, {2, 2}}}},
       .rejects = {{{"(4, 2) int64", "(2,)", "(1,) int64"}, "", "C1"},
                   {{"(4, 3) int64", "(2,) int64", "(1,) int64"}, "", "C2"},
                   {{"(4, 2) int64", "(2,) int64", "(1,) int32"}, "", "C2"}}});
}

}  // namespace relay::ops
