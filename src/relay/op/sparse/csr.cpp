// Products, sums and the transpose of sparse matrices in rows (CSR): row r has the values data[indptr[r]] to
// data[indptr[r + 1] - 1], in the columns indices[..]. Blocked (BSR): a value is a block of rows and columns.
//
// nn.sparse_dense: dense_data times the transposed sparse matrix: out[m, n] = sum(k) dense[m, k] * S[n, k]; with
//                  sparse_lhs out[m, n] = sum(k) S[m, k] * dense[n, k]
// nn.sparse_add:   dense_data + S
// nn.sparse_conv2d: a window of 1 x 1 (or the size given) over images with a sparse weight (O, KH * KW * C)
// nn.sparse_transpose: the same matrix, square, in rows of the transposed
//
// Indices outside of the matrix are not used. Every element looks through all values.
#include <algorithm>

#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct SparseDenseAttrs {
  bool sparse_lhs = false;
  static constexpr auto fields =
      std::tuple{field("sparse_lhs", &SparseDenseAttrs::sparse_lhs, "Whether the sparse matrix is the left factor.")};
};

struct SparseConv2DAttrs {
  std::string layout = "NHWC";
  Ints kernel_size = {1, 1};
  static constexpr auto fields =
      std::tuple{field("layout", &SparseConv2DAttrs::layout, "Order of the axes: \"NHWC\" or \"NCHW\"."),
                 field("kernel_size", &SparseConv2DAttrs::kernel_size, "Extents of the window; it is not padded.")};
};

// (C1) Values are (values,) or blocks (values, rows, columns); indices (values,) and indptr (rows + 1,) are integers.
Status check_sparse(const Types& in, size_t first, bool blocks) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, first, "sparse_data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, first + 1, "sparse_indices"));
  RELAY_ASSIGN(const TensorType* pointers, tensor_input(in, first + 2, "sparse_indptr"));
  if (rank(data) != 1 && !(blocks && rank(data) == 3))
    return constraint("C1", "sparse_data must be (values,){}, but is {}", blocks ? " or (values, rows, columns)" : "",
                      ir::str(in[first]));
  if (rank(indices) != 1 || !indices->dtype.is_int() || !agree(indices->shape[0], data->shape[0]))
    return constraint("C1", "sparse_indices must be integers, one for each of {} values, but is {}",
                      scalar::str(data->shape[0]), ir::str(in[first + 1]));
  if (rank(pointers) != 1 || !pointers->dtype.is_int())
    return constraint("C1", "sparse_indptr must be integers (rows + 1,), but is {}", ir::str(in[first + 2]));
  return ok();
}

// What the loads of a sparse matrix need; blocks of 1 x 1 where there are none.
struct Sparse {
  te::Tensor data, indices, pointers;
  Expr block_rows = dim(1), block_columns = dim(1);

  explicit Sparse(const te::Tensor& d, const te::Tensor& i, const te::Tensor& p) : data(d), indices(i), pointers(p) {
    if (d->shape.size() == 3) block_rows = d->shape[1], block_columns = d->shape[2];
  }
  const Expr& values() const { return data->shape[0]; }
  Expr pointer(const Expr& r) const { return cast(DType::int64(), (*pointers)({r})); }
  Expr column(const Expr& k) const { return cast(DType::int64(), (*indices)({k})); }
  // Whether value k stands in the row of blocks r.
  Expr in_row(const Expr& k, const Expr& r) const { return logical_and(le(pointer(r), k), lt(k, pointer(r + 1))); }
  // The element (row, column) of value k.
  Expr value(const Expr& k, const Expr& row, const Expr& column) const {
    return data->shape.size() == 3 ? (*data)({k, row, column}) : (*data)({k});
  }
};

Dim rows_of(const Types& in, size_t first) {
  const TensorType *data = as<TensorType>(in[first]), *pointers = as<TensorType>(in[first + 2]);
  return scalar::simplify((pointers->shape[0] - 1) * (data->shape.size() == 3 ? data->shape[1] : dim(1)));
}

// sum(k) S[row, k] * dense(k), where dense has `columns` columns.
Expr product_term(const Sparse& s, const Expr& row, const Expr& columns, const Exprs& r, DType wide,
                  const std::function<Expr(const Expr&)>& dense) {
  Expr place = s.column(r[0]) * s.block_columns + r[1];
  Expr good =
      logical_and(s.in_row(r[0], floordiv(row, s.block_rows)), logical_and(le(dim(0), place), lt(place, columns)));
  Expr value = cast(wide, s.value(r[0], floormod(row, s.block_rows), r[1]));
  Expr inside = max(min(place, columns - 1), dim(0));
  return select(good, value * cast(wide, dense(inside)), number(0, wide));
}

Result<Type> infer_dense(const SparseDenseAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* dense, tensor_input(in, 0, "dense_data"));
  RELAY_RETURN_IF_ERROR(check_sparse(in, 1, true));
  const TensorType* data = as<TensorType>(in[1]);
  // (C2) dense_data is a matrix of the values' type.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", dense, 2, "dense_data"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", dense, "dense_data", data, "sparse_data"));
  Dim rows = rows_of(in, 1);
  return ir::tensor_type(a.sparse_lhs ? Dims{rows, dense->shape[0]} : Dims{dense->shape[0], rows}, dense->dtype);
}

te::Tensors compute_dense(const SparseDenseAttrs& a, const te::Tensors& in, const Type& out) {
  const Sparse s(in[1], in[2], in[3]);
  const DType wide = accumulator(in[0]->dtype);
  te::Tensor sum = te::reduce(
      "sparse_dense", shape_of(out), {s.values(), s.block_columns}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        const Expr &row = i[a.sparse_lhs ? 0 : 1], &m = i[a.sparse_lhs ? 1 : 0];
        return product_term(s, row, in[0]->shape[1], r, wide, [&](const Expr& k) { return (*in[0])({m, k}); });
      });
  return {converted(sum, dtype_of(out))};
}

Result<Type> infer_add(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* dense, tensor_input(in, 0, "dense_data"));
  RELAY_RETURN_IF_ERROR(check_sparse(in, 1, false));
  const TensorType* data = as<TensorType>(in[1]);
  // (C2) dense_data is a matrix of the values' type, with a row for each of the sparse matrix.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", dense, 2, "dense_data"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", dense, "dense_data", data, "sparse_data"));
  if (!agree(dense->shape[0], rows_of(in, 1)))
    return constraint("C2", "dense_data has {} rows, but the sparse matrix {}", scalar::str(dense->shape[0]),
                      scalar::str(rows_of(in, 1)));
  return in[0];
}

te::Tensors compute_add(const NoAttrs&, const te::Tensors& in, const Type&) {
  const Sparse s(in[1], in[2], in[3]);
  const DType wide = accumulator(in[0]->dtype);
  te::Tensor sum = te::reduce("sparse", in[0]->shape, {s.values()}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    Expr here = logical_and(s.in_row(r[0], i[0]), eq(s.column(r[0]), i[1]));
    return select(here, cast(wide, (*in[1])({r[0]})), number(0, wide));
  });
  return {elementwise("sparse_add", in[0],
                      [&](const Exprs& i) { return cast(in[0]->dtype, cast(wide, (*in[0])(i)) + (*sum)(i)); })};
}

Result<Type> infer_conv(const SparseConv2DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* dense, tensor_input(in, 0, "dense_data"));
  RELAY_RETURN_IF_ERROR(check_sparse(in, 1, true));
  const TensorType* data = as<TensorType>(in[1]);
  // (C2) dense_data is images of the values' type, in one of two layouts; the window is positive and fits.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", dense, 4, "dense_data"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", dense, "dense_data", data, "sparse_data"));
  if (a.layout != "NHWC" && a.layout != "NCHW")
    return constraint("C2", "layout must be \"NHWC\" or \"NCHW\", but is \"{}\"", a.layout);
  RELAY_ASSIGN(Ints k, per_axis("C2", "kernel_size", a.kernel_size, 2));
  Dims out = dense->shape;
  for (size_t d = 0; d < 2; ++d) {
    Dim& extent = out[a.layout.find("HW"[d])];
    extent = scalar::simplify(extent - (k[d] - 1));
    if (!at_least(extent, dim(1)))
      return constraint("C2", "the window {} is larger than dense_data {}", text(k), text(dense->shape));
  }
  out[a.layout.find('C')] = rows_of(in, 1);
  return ir::tensor_type(std::move(out), dense->dtype);
}

te::Tensors compute_conv(const SparseConv2DAttrs& a, const te::Tensors& in, const Type& out) {
  const Sparse s(in[1], in[2], in[3]);
  const DType wide = accumulator(in[0]->dtype);
  const size_t c = a.layout.find('C'), h = a.layout.find('H'), w = a.layout.find('W');
  const Ints k = per_axis(a.kernel_size, 2);
  const Expr& channels = in[0]->shape[c];
  // Columns of the weight: (ky, kx, channel).
  te::Tensor sum = te::reduce("sparse_conv2d", shape_of(out), {s.values(), s.block_columns}, Combiner::Sum,
                              [&](const Exprs& i, const Exprs& r) {
                                return product_term(s, i[c], channels * (k[0] * k[1]), r, wide, [&](const Expr& tap) {
                                  Exprs at = i;
                                  Expr place = floordiv(tap, channels);
                                  at[c] = floormod(tap, channels);
                                  at[h] = i[h] + floordiv(place, k[1]);
                                  at[w] = i[w] + floormod(place, k[1]);
                                  return (*in[0])(at);
                                });
                              });
  return {converted(sum, dtype_of(out))};
}

Result<Type> infer_transpose(const NoAttrs&, const Types& in) {
  RELAY_RETURN_IF_ERROR(check_sparse(in, 0, false));
  return ir::tuple_type({in[0], in[1], in[2]});
}

// Value k of the result is the one before which k others stand: in an earlier column, or in the same and before it.
te::Tensors compute_transpose(const NoAttrs&, const te::Tensors& in, const Type&) {
  const Sparse s(in[0], in[1], in[2]);
  const DType index = DType::int64();
  te::Tensor rank = te::reduce("rank", {s.values()}, {s.values()}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    Expr own = s.column(i[0]), other = s.column(r[0]);
    return cast(index, logical_or(lt(other, own), logical_and(eq(other, own), lt(r[0], i[0]))));
  });
  te::Tensor source =
      te::reduce("source", {s.values()}, {s.values()}, Combiner::Sum,
                 [&](const Exprs& i, const Exprs& r) { return select(eq((*rank)(r), i[0]), r[0], dim(0)); });
  auto place = [&](const Exprs& i) { return max(min((*source)(i), s.values() - 1), dim(0)); };
  te::Tensor data = te::compute("data", in[0]->shape, [&](const Exprs& i) { return (*in[0])({place(i)}); });
  // The row of a value: the rows that end at or before it.
  const Expr rows = in[2]->shape[0] - 1;
  te::Tensor row = te::reduce("row", {s.values()}, {rows}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    return cast(in[1]->dtype, le(s.pointer(r[0] + 1), place(i)));
  });
  te::Tensor pointers =
      te::reduce("indptr", in[2]->shape, {s.values()}, Combiner::Sum,
                 [&](const Exprs& i, const Exprs& r) { return cast(in[2]->dtype, lt(s.column(r[0]), i[0])); });
  return {data, row, pointers};
}

const std::vector<Input> inputs = {{"dense_data", "(m, k)"},
                                   {"sparse_data", "(values,), or blocks (values, rows, columns)"},
                                   {"sparse_indices", "(values,) integers: the columns"},
                                   {"sparse_indptr", "(rows + 1,) integers: where rows begin"}};

// Rows of sorted places would need ordered values: the oracle reads any.
const std::vector<std::pair<double, double>> ranges = {{-1, 1}, {-1, 1}, {0, 4}, {0, 6}};

std::vector<Reject> rejects(const char* dense) {
  return {{{dense, "(6, 1)", "(6,) int32", "(5,) int32"}, "", "C1"},
          {{dense, "(6,)", "(5,) int32", "(5,) int32"}, "", "C1"},
          {{dense, "(6,)", "(6,) int32", "(5,)"}, "", "C1"},
          {{dense, "(6,) float64", "(6,) int32", "(5,) int32"}, "", "C2"}};
}

OpDef product(const char* name, const char* doc) {
  return define<SparseDenseAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = inputs,
       .fusion = Fusion::OutputFusable,
       .infer = infer_dense,
       .compute = compute_dense,
       .oracle = "(lambda s: s @ dense_data.T if sparse_lhs else dense_data @ s.T)(from_csr(sparse_data, "
                 "sparse_indices, sparse_indptr, dense_data.shape[1]))",
       .examples = {{.inputs = {"(3, 5)", "(6,)", "(6,) int32", "(5,) int32"},
                     .symbolic = {"(n, 5)", "(v,)", "(v,) int32", "(5,) int32"},
                     .ranges = ranges},
                    {.inputs = {"(3, 5)", "(6,)", "(6,) int32", "(5,) int32"},
                     .attrs = "sparse_lhs=True",
                     .ranges = ranges},
                    {.inputs = {"(3, 10)", "(6, 3, 2)", "(6,) int32", "(4,) int32"}, .ranges = ranges}},
       .rejects = rejects("(3, 5)")},
      "SparseDenseAttrs");
}

}  // namespace

OpDef nn_sparse_dense() { return product("nn.sparse_dense", "A dense matrix times the transpose of a sparse one."); }

OpDef nn_internal_sparse_dense_padded() {
  OpDef def = product("nn.internal.sparse_dense_padded", "nn.sparse_dense by another name.");
  def.inputs[1].name = "weight_data", def.inputs[2].name = "weight_indices", def.inputs[3].name = "weight_indptr";
  def.inputs[0].name = "data";
  def.oracle =
      "(lambda s: s @ data.T if sparse_lhs else data @ s.T)(from_csr(weight_data, weight_indices, weight_indptr, "
      "data.shape[1]))";
  return def;
}

OpDef nn_sparse_add() {
  return define<NoAttrs>({.name = "nn.sparse_add",
                          .doc = "The sum of a dense and a sparse matrix.",
                          .inputs = inputs,
                          .fusion = Fusion::Opaque,
                          .infer = infer_add,
                          .compute = compute_add,
                          .oracle = "dense_data + from_csr(sparse_data, sparse_indices, sparse_indptr, "
                                    "dense_data.shape[1])",
                          .examples = {{.inputs = {"(4, 5)", "(6,)", "(6,) int32", "(5,) int32"},
                                        .symbolic = {"(4, m)", "(v,)", "(v,) int32", "(5,) int32"},
                                        .ranges = ranges}},
                          .rejects = rejects("(4, 5)")});
}

OpDef nn_sparse_conv2d() {
  std::vector<Reject> refused = rejects("(1, 4, 4, 5)");
  refused.push_back({{"(1, 4, 4, 5)", "(6,)", "(6,) int32", "(5,) int32"}, "layout=\"HWCN\"", "C2"});
  return define<SparseConv2DAttrs>(
      {.name = "nn.sparse_conv2d",
       .doc = "Two-dimensional convolution, without padding, with a sparse weight.",
       .inputs = {{"dense_data", "(N, H, W, C) or (N, C, H, W)"}, inputs[1], inputs[2], inputs[3]},
       .fusion = Fusion::OutputFusable,
       .infer = infer_conv,
       .compute = compute_conv,
       .oracle = "sparse_conv2d(dense_data, sparse_data, sparse_indices, sparse_indptr, layout, kernel_size)",
       .examples = {{.inputs = {"(1, 3, 4, 5)", "(6,)", "(6,) int32", "(5,) int32"},
                     .symbolic = {"(n, h, w, 5)", "(v,)", "(v,) int32", "(5,) int32"},
                     .ranges = ranges},
                    {.inputs = {"(1, 5, 3, 4)", "(6,)", "(6,) int32", "(5,) int32"},
                     .attrs = "layout=\"NCHW\"",
                     .ranges = ranges},
                    {.inputs = {"(1, 5, 5, 2)", "(6,)", "(6,) int32", "(5,) int32"},
                     .attrs = "kernel_size=[3, 3]",
                     .ranges = {{-1, 1}, {-1, 1}, {0, 17}, {0, 6}}}},
       .rejects = refused},
      "SparseConv2DAttrs");
}

OpDef nn_sparse_transpose() {
  return define<NoAttrs>(
      {.name = "nn.sparse_transpose",
       .doc = "A square sparse matrix transposed.",
       .inputs = {{"sparse_data", "(values,)"}, inputs[2], inputs[3]},
       .fusion = Fusion::Opaque,
       .infer = infer_transpose,
       .compute = compute_transpose,
       .oracle = "csr_transpose(sparse_data, sparse_indices, sparse_indptr)",
       .examples = {{.inputs = {"(7,)", "(7,) int32", "(5,) int32"},
                     .symbolic = {"(v,)", "(v,) int32", "(n,) int32"},
                     .ranges = {{-1, 1}, {0, 3}, {0, 7}}}},
       .rejects = {{{"(6, 1)", "(6,) int32", "(5,) int32"}, "", "C1"}, {{"(6,)", "(6,)", "(5,) int32"}, "", "C1"}}});
}

}  // namespace relay::ops
