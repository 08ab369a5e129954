// sparse_to_dense: out[sparse_indices[k, 0], sparse_indices[k, 1], ..] = sparse_values[k], and default_value elsewhere
// dyn.sparse_to_dense: the same, with a shape that is known only at run time
//
// A single value may apply to all indices. If several values have the same index, the last is kept; indices outside of
// the result are refused.
#include "relay/op/gradient.h"
#include "relay/op/loops.h"

namespace relay::ops {
namespace sparse_to_dense_cpp {
namespace {

struct SparseToDenseAttrs {
  Dims output_shape;
  static constexpr auto fields =
      std::tuple{required_field("output_shape", &SparseToDenseAttrs::output_shape, "The shape of the result.")};
};

// (C1) Indices are integers: (), (n,), or (n, rank).
// (C2) Values are one, or one for each index; default_value is one, and both have one type.
Result<DType> check(const Types& in, size_t out_rank) {
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 0, "sparse_indices"));
  RELAY_ASSIGN(const TensorType* values, tensor_input(in, 1, "sparse_values"));
  RELAY_ASSIGN(const TensorType* other, tensor_input(in, 2, "default_value"));
  const size_t r = indices->shape.size();
  if (!indices->dtype.is_int() || r > 2 || (r < 2 && out_rank != 1) ||
      (r == 2 && !agree(indices->shape[1], dim(static_cast<int64_t>(out_rank)))))
    return constraint("C1", "sparse_indices {} should be integers, {} for each of the values", ir::str(in[0]),
                      plural(static_cast<int64_t>(out_rank), "index", "indices"));
  if (!values->shape.empty() && (r == 0 || !agree(values->shape, Dims{indices->shape[0]})))
    return constraint("C2", "sparse_values {} should be one, or one for each of sparse_indices {}", text(values->shape),
                      text(indices->shape));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", other, 0, "default_value"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", values, "sparse_values", other, "default_value"));
  return values->dtype;
}

Result<Type> infer(const SparseToDenseAttrs& a, const Types& in) {
  RELAY_ASSIGN(DType dtype, check(in, a.output_shape.size()));
  // (C3) Extents are not negative.
  for (const Dim& d : a.output_shape)
    if (!at_least(d, dim(0))) return constraint("C3", "output_shape {} has a negative extent", text(a.output_shape));
  return ir::tensor_type(a.output_shape, dtype);
}

Result<Type> infer_dynamic(const NoAttrs&, const Types& in) {
  // (C3) The shape is a list of integers of known length.
  RELAY_ASSIGN(size_t rank, shape_input("C3", in, 3, "output_shape"));
  RELAY_ASSIGN(DType dtype, check(in, rank));
  return ir::tensor_type(Dims(rank, scalar::any_dim()), dtype);
}

te::Tensors compute(const te::Tensors& in, const Type& out) {
  const te::Tensor &indices = in[0], &values = in[1];
  const Dims& shape = shape_of(out);
  const Expr count = indices->shape.empty() ? dim(1) : indices->shape[0];
  return {te::program("sparse_to_dense", shape, values->dtype, {}, [&](const Exprs&, const BufferRef& result) {
    const Stmt fill = each_of("i", shape, [&](const Exprs& i) { return loop::store(result, i, (*in[2])({})); });
    const Stmt put = each("k", count, [&](const Expr& k) {
      std::function<Stmt(const Exprs&)> place = [&](const Exprs& to) -> Stmt {
        const size_t d = to.size();
        if (d == shape.size()) return loop::store(result, to, (*values)(values->shape.empty() ? Exprs{} : Exprs{k}));
        Exprs at = indices->shape.empty() ? Exprs{} : Exprs{k};
        if (indices->shape.size() == 2) at.push_back(dim(static_cast<int64_t>(d)));
        return let("to", cast(DType::int64(), (*indices)(at)), [&](const Expr& x) {
          Exprs more = to;
          more.push_back(x);
          return loop::if_(logical_and(le(dim(0), x), lt(x, shape[d])), place(more));
        });
      };
      return place({});
    });
    return loop::block({fill, put});
  })};
}

// Each index, as (axes of the result, values).
te::Tensor by_axis(const te::Tensor& indices, size_t rank,
                   const std::function<Expr(const Expr& index, const Expr& axis)>& of) {
  const size_t r = indices->shape.size();
  const Exprs shape = {dim(static_cast<int64_t>(rank)), r == 0 ? dim(1) : indices->shape[0]};
  return te::compute("indices", shape, [&](const Exprs& i) {
    const Exprs at = r == 0 ? Exprs{} : r == 1 ? Exprs{i[1]} : Exprs{i[1], i[0]};
    return of(cast(DType::int64(), (*indices)(at)), i[0]);
  });
}

op::Checks checked(const SparseToDenseAttrs& a, const Types& in) {
  const size_t rank = a.output_shape.size();
  if (rank == 0) return {};
  if (as<TensorType>(in[0])->shape.size() < 2) return {{0, a.output_shape, {no_axis}}};
  auto indices = [rank](const te::Tensors& in) {
    return by_axis(in[0], rank, [](const Expr& index, const Expr&) { return index; });
  };
  return {{0, a.output_shape, std::vector<int64_t>(rank, no_axis), indices, "sparse_indices.T"}};
}

// The extents of the result are values of an input.
op::Checks checked_dynamic(const NoAttrs&, const Types& in) {
  const Dim rank = as<TensorType>(in[3])->shape[0];
  if (!scalar::is_int(rank) || scalar::is_int(rank, 0)) return {};
  auto outside = [rank](const te::Tensors& tensors) {
    return by_axis(tensors[0], static_cast<size_t>(rank->ivalue), [&](const Expr& index, const Expr& axis) {
      const Expr extent = cast(DType::int64(), (*tensors[3])({axis}));
      return select(logical_and(le(dim(0), index), lt(index, extent)), dim(0), dim(1));
    });
  };
  return {{0,
           {dim(1)},
           {no_axis},
           outside,
           "sparse_indices are outside of output_shape\ngive indices from 0 up to, but not including, each extent of "
           "output_shape"}};
}

// `placed`: the same call with the values' numbers, and 0 elsewhere: the source of each element of the result.
ir::Exprs gradient(const Adjoint& of, const std::function<ir::Expr(const ir::Expr&, const ir::Expr&)>& placed) {
  ir::Exprs gradients(of.inputs.size());
  if (!grad::tensor(of.output).dtype.is_float()) return gradients;
  const ir::Expr none = ir::constant(0, DType::int64()), values = of.inputs[1];
  const ir::Expr sources = placed(grad::element_numbers(values), none);
  gradients[1] = grad::scattered(of.gradient, sources, values);
  const ir::Expr rest =
      grad::call("where", {grad::call("equal", {sources, none}), of.gradient, grad::number(0, values)});
  gradients[2] = grad::call("sum", {rest});
  return gradients;
}

ir::Exprs gradient_of_static(const SparseToDenseAttrs& a, const Adjoint& of) {
  return gradient(of, [&](const ir::Expr& values, const ir::Expr& other) {
    return grad::call("sparse_to_dense", {of.inputs[0], values, other}, {{"output_shape", a.output_shape}});
  });
}

ir::Exprs gradient_of_dynamic(const NoAttrs&, const Adjoint& of) {
  return gradient(of, [&](const ir::Expr& values, const ir::Expr& other) {
    return grad::call("dyn.sparse_to_dense", {of.inputs[0], values, other, of.inputs[3]});
  });
}

}  // namespace
}  // namespace sparse_to_dense_cpp

OpDef sparse_to_dense() {
  using namespace sparse_to_dense_cpp;
  return define<SparseToDenseAttrs>(
      {.name = "sparse_to_dense",
       .doc = "Converts a sparse tensor to a dense one, filled with default_value elsewhere.",
       .inputs = {{"sparse_indices", "integers: (n, rank); for a vector also (n,) or ()"},
                  {"sparse_values", "(n,), or one for all"},
                  {"default_value", "the value elsewhere"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = [](const SparseToDenseAttrs&, const te::Tensors& in, const Type& out) { return compute(in, out); },
       .checked = checked,
       .gradient = gradient_of_static,
       .oracle = "sparse_to_dense(sparse_indices, sparse_values, default_value, output_shape)",
       .examples = {{.inputs = {"(5, 2) int32", "(5,)", "()"},
                     .attrs = "output_shape=[4, 3]",
                     .symbolic = {"(n, 2) int32", "(n,)", "()"},
                     .low = 0,
                     .high = 2},
                    {.inputs = {"(3,) int64", "()", "()"}, .attrs = "output_shape=[5]", .low = 0, .high = 4},
                    {.inputs = {"() int32", "() int32", "() int32"}, .attrs = "output_shape=[5]", .low = 0, .high = 4}},
       .rejects = {{{"(5, 2)", "(5,)", "()"}, "output_shape=[4, 3]", "C1"},
                   {{"(5, 3) int32", "(5,)", "()"}, "output_shape=[4, 3]", "C1"},
                   {{"(5, 2) int32", "(4,)", "()"}, "output_shape=[4, 3]", "C2"},
                   {{"(5, 2) int32", "(5,)", "() int32"}, "output_shape=[4, 3]", "C2"},
                   {{"(5, 2) int32", "(5,)", "()"}, "output_shape=[4, -3]", "C3"}}},
      "SparseToDenseAttrs");
}

OpDef dyn_sparse_to_dense() {
  using namespace sparse_to_dense_cpp;
  return define<NoAttrs>(
      {.name = "dyn.sparse_to_dense",
       .doc = "Converts a sparse tensor to a dense one, whose shape is computed at run time.",
       .inputs = {{"sparse_indices", "integers: (n, rank); for a vector also (n,) or ()"},
                  {"sparse_values", "(n,), or one for all"},
                  {"default_value", "the value elsewhere"},
                  {"output_shape", "(rank,) non-negative integers: the shape of the result"}},
       .fusion = Fusion::Opaque,
       .infer = infer_dynamic,
       .compute = [](const NoAttrs&, const te::Tensors& in, const Type& out) { return compute(in, out); },
       .shape =
           [](const NoAttrs&, const te::Tensors& in) {
             return te::compute("shape", in[3]->shape,
                                [&](const Exprs& i) { return cast(DType::int64(), (*in[3])(i)); });
           },
       .checked = checked_dynamic,
       .gradient = gradient_of_dynamic,
       .oracle = "sparse_to_dense(sparse_indices, sparse_values, default_value, [int(n) for n in output_shape])",
       .examples = {{.inputs = {"(5, 2) int32", "(5,)", "()", "(2,) int64"},
                     .ranges = {{0, 2}, {-1, 1}, {-1, 1}, {3, 5}}}},
       .rejects = {{{"(5, 2)", "(5,)", "()", "(2,) int32"}, "", "C1"},
                   {{"(5, 2) int32", "(4,)", "()", "(2,) int32"}, "", "C2"},
                   {{"(5, 2) int32", "(5,)", "()", "(2,)"}, "", "C3"}}});
}

}  // namespace relay::ops
