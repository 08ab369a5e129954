// sparse_fill_empty_rows: fills empty rows of a sparse matrix with a value
//
//   (indices, values, is_empty): the values by rows, those of one row in their order; a row without values gets
//   default_value in column 0. is_empty[r]: true if row r had none
//
// dense_shape determines the number of rows; values outside of them are left out.
// (The operation of TensorFlow's documentation: tf.sparse.fill_empty_rows.)
#include "relay/op/gradient.h"
#include "relay/op/loops.h"
#include "relay/op/sort/order.h"

namespace relay::ops {
namespace sparse_fill_empty_rows_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 0, "sparse_indices"));
  RELAY_ASSIGN(const TensorType* values, tensor_input(in, 1, "sparse_values"));
  // (C1) The shape is a list of integers of known length.
  RELAY_ASSIGN(size_t axes, shape_input("C1", in, 2, "dense_shape"));
  RELAY_ASSIGN(const TensorType* other, tensor_input(in, 3, "default_value"));
  const Dim rank = dim(static_cast<int64_t>(axes));
  // (C2) Indices are integers, one for each axis; there is an axis.
  if (axes == 0 || indices->shape.size() != 2 || !indices->dtype.is_int() || !agree(indices->shape[1], rank))
    return constraint("C2", "sparse_indices {} should be integers (values, {})", ir::str(in[0]), axes);
  // (C3) Values are one for each index; default_value is one, of their type.
  if (!agree(values->shape, Dims{indices->shape[0]}))
    return constraint("C3", "sparse_values {} should be one for each of sparse_indices {}", text(values->shape),
                      text(indices->shape));
  RELAY_RETURN_IF_ERROR(expect_rank("C3", other, 0, "default_value"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C3", values, "sparse_values", other, "default_value"));
  return ir::tuple_type({ir::tensor_type({scalar::any_dim(), rank}, indices->dtype),
                         ir::tensor_type({scalar::any_dim()}, values->dtype),
                         ir::tensor_type({scalar::any_dim()}, DType::boolean())});
}

Expr row_count(const te::Tensors& in) { return max(cast(DType::int64(), (*in[2])({dim(0)})), dim(0)); }

// The rows of the values; -1 for those outside.
te::Tensor rows_of(const te::Tensors& in) {
  return te::compute("rows", {in[0]->shape[0]}, [&](const Exprs& k) {
    const Expr row = cast(DType::int64(), (*in[0])({k[0], dim(0)}));
    return select(logical_and(le(dim(0), row), lt(row, row_count(in))), row, dim(-1));
  });
}

// Each row without a value gets one: the count is that of values and rows, minus the rows that have some.
te::Tensor shape(const NoAttrs&, const te::Tensors& in) {
  if (scalar::is_int(in[0]->shape[0], 0))  // each row is filled
    return shape_tensor({row_count(in), in[0]->shape[1], row_count(in), row_count(in)});
  const te::Tensor rows = rows_of(in);
  const Order order(rows, 0, true);
  auto sum = [&](const char* name, const std::function<Expr(const Expr&)>& term) {
    return te::reduce(name, {}, rows->shape, Combiner::Sum,
                      [&](const Exprs&, const Exprs& k) { return cast(DType::int64(), term(k[0])); });
  };
  const te::Tensor inside = sum("inside", [&](const Expr& k) { return le(dim(0), (*rows)({k})); });
  const te::Tensor different = sum("different", [&](const Expr& k) {
    const Expr here = order.element({k}), before = order.element({max(k - 1, dim(0))});
    return logical_and(le(dim(0), here), logical_or(eq(k, dim(0)), ne(here, before)));
  });
  const Expr count = (*inside)({}) + row_count(in) - (*different)({});
  return shape_tensor({count, in[0]->shape[1], count, row_count(in)});
}

// table[k] for result k: the number of its value, or -1 - row if it fills one. After them there is a cell for each row,
// which counts its values and then is the position of the next.
te::Tensor table_of(const te::Tensor& rows, const Expr& results, const Expr& row_count) {
  return te::program("table", {results + row_count}, DType::int64(), {}, [&](const Exprs&, const BufferRef& table) {
    auto at = [&](const Expr& i) { return scalar::load(table, {i}); };
    auto each_value = [&](const std::function<Stmt(const Expr& k, const Expr& cell)>& body) {
      return each("k", rows->shape[0], [&](const Expr& k) {
        return let("row", (*rows)({k}), [&](const Expr& row) {
          return loop::if_(logical_and(le(dim(0), row), lt(row, row_count)), body(k, results + row));
        });
      });
    };
    const Stmt clear = each("i", results + row_count, [&](const Expr& i) { return loop::store(table, {i}, dim(0)); });
    const Stmt count =
        each_value([&](const Expr&, const Expr& cell) { return loop::store(table, {cell}, at(cell) + 1); });
    auto inside = [&](const Expr& k, const Stmt& then) { return loop::if_(lt(k, results), then); };
    const Stmt begin = with_cell("next", dim(0), [&](const Cell& next) {
      return each("r", row_count, [&](const Expr& r) {
        return let("values", at(results + r), [&](const Expr& values) {
          const Stmt fill =
              loop::if_(eq(values, dim(0)), inside(next.get(), loop::store(table, {next.get()}, dim(-1) - r)));
          return loop::block(
              {fill, loop::store(table, {results + r}, next.get()), next.set(next.get() + max(values, dim(1)))});
        });
      });
    });
    const Stmt put = each_value([&](const Expr& k, const Expr& cell) {
      return let("to", at(cell), [&](const Expr& to) {
        return loop::block({inside(to, loop::store(table, {to}, k)), loop::store(table, {cell}, to + 1)});
      });
    });
    return loop::block({clear, count, begin, put});
  });
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type& out) {
  const Types& types = as<TupleType>(out)->fields;
  const Expr &count = shape_of(types[0])[0], &row_count = shape_of(types[2])[0], &n = in[0]->shape[0];
  const te::Tensor rows = rows_of(in), table = table_of(rows, count, row_count);
  auto value = [&](const Expr& k) { return max(min((*table)({k}), n - 1), dim(0)); };
  auto is_value = [&](const Expr& k) { return le(dim(0), (*table)({k})); };
  const te::Tensor indices = te::compute("indices", shape_of(types[0]), [&](const Exprs& i) {
    const DType dtype = in[0]->dtype;
    const Expr filled = select(eq(i[1], dim(0)), dim(-1) - (*table)({i[0]}), dim(0));
    return select(is_value(i[0]), (*in[0])({value(i[0]), i[1]}), cast(dtype, filled));
  });
  const te::Tensor values = te::compute("values", shape_of(types[1]), [&](const Exprs& i) {
    return select(is_value(i[0]), (*in[1])({value(i[0])}), (*in[3])({}));
  });
  // The cell of an empty row is the position of the value that fills it.
  const te::Tensor is_empty = te::compute("is_empty", shape_of(types[2]), [&](const Exprs& r) {
    const Expr first = max(min((*table)({count + r[0]}), count - 1), dim(0));
    return eq((*table)({first}), dim(-1) - r[0]);
  });
  return {indices, values, is_empty};
}

// A value's number moves with the value; 0 marks default_value.
ir::Exprs gradient(const NoAttrs&, const Adjoint& of) {
  const ir::Expr &values = of.inputs[1], dy = ir::get(of.gradient, 1);
  const ir::Expr none = ir::constant(0, DType::int64());
  const ir::Expr sources = ir::get(
      grad::call("sparse_fill_empty_rows", {of.inputs[0], grad::element_numbers(values), of.inputs[2], none}), 1);
  const ir::Expr filled = grad::call("where", {grad::call("equal", {sources, none}), dy, grad::number(0, values)});
  return {nullptr, grad::scattered(dy, sources, values), nullptr, grad::call("sum", {filled})};
}

}  // namespace
}  // namespace sparse_fill_empty_rows_cpp

OpDef sparse_fill_empty_rows() {
  using namespace sparse_fill_empty_rows_cpp;
  return define<NoAttrs>({.name = "sparse_fill_empty_rows",
                          .doc = "Adds a default value to each empty row of a sparse tensor.",
                          .inputs = {{"sparse_indices", "(values, rank) integers"},
                                     {"sparse_values", "(values,)"},
                                     {"dense_shape", "(rank,) integers: the shape of the tensor"},
                                     {"default_value", "the value for empty rows"}},
                          .fusion = Fusion::Opaque,
                          .infer = infer,
                          .compute = compute,
                          .shape = shape,
                          .gradient = gradient,
                          .oracle = "fill_empty_rows(sparse_indices, sparse_values, dense_shape, default_value)",
                          .examples = {{.inputs = {"(4, 2) int64", "(4,)", "(2,) int64", "()"},
                                        .symbolic = {"(n, 2) int64", "(n,)", "(2,) int64", "()"},
                                        .ranges = {{0, 5}, {-1, 1}, {6, 6}, {-1, 1}}},
                                       {.inputs = {"(5, 3) int32", "(5,) int32", "(3,) int32", "() int32"},
                                        .ranges = {{-1, 4}, {1, 9}, {4, 4}, {0, 0}}},
                                       {.inputs = {"(3, 1) int64", "(3,)", "(1,) int64", "()"},
                                        .ranges = {{0, 1}, {-1, 1}, {2, 2}, {-1, 1}}}},
                          .rejects = {{{"(4, 2) int64", "(4,)", "(2,)", "()"}, "", "C1"},
                                      {{"(4, 3) int64", "(4,)", "(2,) int64", "()"}, "", "C2"},
                                      {{"(4, 2)", "(4,)", "(2,) int64", "()"}, "", "C2"},
                                      {{"(4, 2) int64", "(3,)", "(2,) int64", "()"}, "", "C3"},
                                      {{"(4, 2) int64", "(4,)", "(2,) int64", "() int32"}, "", "C3"}}});
}

}  // namespace relay::ops
