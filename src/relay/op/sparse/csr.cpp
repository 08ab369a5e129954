// Products, sums and the transpose of sparse matrices in rows (CSR): row r has the values data[indptr[r]] to
// data[indptr[r + 1] - 1], in the columns indices[..]. Blocked (BSR): a value is a block of rows and columns.
//
// nn.sparse_dense: dense_data times the transposed sparse matrix: out[m, n] = sum(k) dense[m, k] * S[n, k]; with
//                  sparse_lhs out[m, n] = sum(k) S[m, k] * dense[n, k]
// nn.sparse_add:   dense_data + S
// nn.sparse_conv2d: a window of 1 x 1 (or the size given) over images with a sparse weight (O, KH * KW * C)
// nn.sparse_transpose: the transpose of a square matrix, in rows
//
// Columns outside of the matrix and pointers outside of the values are refused. Products and sums read the values of a
// row once; the transpose counts the values of each column and places them by column.
#include <algorithm>

#include "relay/op/gradient.h"
#include "relay/op/loops.h"

namespace relay::ops {
namespace csr_cpp {
namespace {

struct SparseDenseAttrs {
  bool sparse_lhs = false;
  static constexpr auto fields =
      std::tuple{field("sparse_lhs", &SparseDenseAttrs::sparse_lhs, "True if the sparse matrix is the left factor.")};
};

struct SparseConv2DAttrs {
  std::string layout = "NHWC";
  Ints kernel_size = {1, 1};
  static constexpr auto fields =
      std::tuple{field("layout", &SparseConv2DAttrs::layout, "Order of the axes: \"NHWC\" or \"NCHW\"."),
                 field("kernel_size", &SparseConv2DAttrs::kernel_size, "Extents of the window. There is no padding.")};
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

// The parts of a sparse matrix that loads need; blocks of 1 x 1 if it is not blocked.
struct Sparse {
  te::Tensor data, indices, pointers;
  Expr block_rows = dim(1), block_columns = dim(1);

  explicit Sparse(const te::Tensor& d, const te::Tensor& i, const te::Tensor& p) : data(d), indices(i), pointers(p) {
    if (d->shape.size() == 3) block_rows = d->shape[1], block_columns = d->shape[2];
  }
  const Expr& values() const { return data->shape[0]; }
  Expr column(const Expr& k) const { return cast(DType::int64(), (*indices)({k})); }
  // The first value of row r of blocks, clipped to the existing values.
  Expr pointer(const Expr& r) const { return max(min(cast(DType::int64(), (*pointers)({r})), values()), dim(0)); }
  // Element (row, column) of value k.
  Expr value(const Expr& k, const Expr& row, const Expr& column) const {
    return data->shape.size() == 3 ? (*data)({k, row, column}) : (*data)({k});
  }
  // body(k) for each value of row r of blocks.
  template <class Body>
  Stmt each_value(const Expr& r, Body&& body) const {
    return let("first", pointer(r), [&](const Expr& first) {
      return let("count", max(pointer(r + 1) - first, dim(0)), [&](const Expr& count) {
        return each("value", count, [&](const Expr& k) { return body(first + k); });
      });
    });
  }
};

// The checks of a matrix whose three tensors begin at `first`, with this many columns.
op::Checks checked(const Types& in, size_t first, const Dim& columns) {
  const Dims& data = as<TensorType>(in[first])->shape;
  const Dim width = data.size() == 3 ? max(data[2], dim(1)) : dim(1);
  return {{first + 1, {scalar::simplify(floordiv(columns + (width - 1), width))}, {no_axis}},
          {first + 2, {scalar::simplify(data[0] + 1)}, {no_axis}}};
}

Dim rows_of(const Types& in, size_t first) {
  const TensorType *data = as<TensorType>(in[first]), *pointers = as<TensorType>(in[first + 2]);
  return scalar::simplify((pointers->shape[0] - 1) * (data->shape.size() == 3 ? data->shape[1] : dim(1)));
}

// out[i] = sum(k) S[row(i), k] * dense(i, k), where dense has `columns` columns: one task per element.
te::Tensor product(const char* name, const Dims& shape, const Sparse& s, const Expr& columns, DType wide,
                   const std::function<Expr(const Exprs& i)>& row,
                   const std::function<Expr(const Exprs& i, const Expr& k)>& dense) {
  return te::program(name, shape, wide, axes_but(shape.size(), {}), [&](const Exprs& i, const BufferRef& result) {
    return with_cell("sum", number(0, wide), [&](const Cell& sum) {
      const Expr block = floordiv(row(i), s.block_rows), inner = floormod(row(i), s.block_rows);
      const Stmt add = s.each_value(block, [&](const Expr& k) {
        return each("c", s.block_columns, [&](const Expr& c) {
          return let("place", s.column(k) * s.block_columns + c, [&](const Expr& place) {
            const Expr term = cast(wide, s.value(k, inner, c)) * cast(wide, dense(i, place));
            return loop::if_(logical_and(le(dim(0), place), lt(place, columns)), sum.set(sum.get() + term));
          });
        });
      });
      return loop::block({add, loop::store(result, i, sum.get())});
    });
  });
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
  const te::Tensor sum = product(
      "sparse_dense", shape_of(out), s, in[0]->shape[1], wide, [&](const Exprs& i) { return i[a.sparse_lhs ? 0 : 1]; },
      [&](const Exprs& i, const Expr& k) { return (*in[0])({i[a.sparse_lhs ? 1 : 0], k}); });
  return {converted(sum, dtype_of(out))};
}

// The row of each value, from ascending pointers.
ir::Expr rows_of_values(const ir::Expr& data, const ir::Expr& pointers) {
  auto ints = [](const ir::Expr& t) { return grad::call("cast", {t}, {{"dtype", DType::int64()}}); };
  const ir::Expr behind =
      grad::call("searchsorted", {ints(pointers), grad::places(data, 0)}, {{"right", true}, {"dtype", DType::int64()}});
  return grad::minus(behind, ir::constant(1, DType::int64()));
}

// For values in rows of ascending pointers: with g(m, r) the gradient of row r, of values (row, column)
//   d data[v] = sum(m) g[m, row(v)] * dense[m, column(v)],   d dense[m, c] = sum(column(v) = c) g[m, row(v)] * data[v]
// over blocks: rows are (rows of blocks, rows of a block), and each column of a block has its index. Elements outside
// of the matrix count as zero.
ir::Exprs gradient_dense(const SparseDenseAttrs& a, const Adjoint& of) {
  const ir::Expr &dense = of.inputs[0], &data = of.inputs[1], &indices = of.inputs[2], &pointers = of.inputs[3];
  const Dims& block = grad::tensor(data).shape;
  const bool is_blocks = block.size() == 3;
  if (is_blocks && scalar::is_any(block[1])) return {};
  auto shaped = [](const ir::Expr& t, const Dims& shape) { return grad::call("reshape", {t}, {{"newshape", shape}}); };
  auto einsum = [](const char* equation, const ir::Expr& x, const ir::Expr& y) {
    return grad::call("einsum", {ir::tuple({x, y})}, {{"equation", equation}});
  };
  auto both = [](const ir::Expr& x, const ir::Expr& y) { return grad::call("logical_and", {x, y}); };
  auto behind = [](const ir::Expr& t) { return grad::call("expand_dims", {t}, {{"axis", int64_t{-1}}}); };
  auto taken = [](const ir::Expr& t, const ir::Expr& places) {
    return grad::call("take", {t, places}, {{"axis", int64_t{1}}});
  };
  const ir::Expr none = ir::constant(0, DType::int64()), zero = grad::number(0, dense);
  const ir::Expr row = rows_of_values(data, pointers);
  ir::Expr column = behind(grad::call("cast", {indices}, {{"dtype", DType::int64()}}));  // (values, columns)
  if (is_blocks) column = grad::plus(grad::times(column, grad::extent(data, 2)), grad::places(data, 2));
  auto inside = [&](const ir::Expr& at, const ir::Expr& last) {
    return both(grad::call("less_equal", {none, at}), grad::call("less", {at, last}));
  };
  const ir::Expr in_rows = inside(row, grad::call("max", {grad::places(pointers, 0)})),
                 in_matrix = both(inside(column, grad::extent(dense, 1)), behind(in_rows));
  const ir::Expr to = grad::call("where", {in_matrix, column, none});
  const ir::Expr g = a.sparse_lhs ? grad::transposed(of.gradient, 2) : of.gradient;
  const ir::Expr of_value =
      taken(shaped(g, {dim(0), dim(-1), is_blocks ? block[1] : dim(1)}), row);        // (m, values, height)
  const ir::Expr factors = grad::call("where", {in_matrix, taken(dense, to), zero});  // (m, values, width)
  const ir::Expr d_data = grad::shaped_as(einsum("mvi,mvj->vij", of_value, factors), data);
  const ir::Expr values = is_blocks ? data : shaped(data, {dim(-1), dim(1), dim(1)});
  const ir::Expr terms = grad::call("where", {behind(in_matrix), einsum("mvi,vij->vjm", of_value, values), zero});
  const ir::Expr sums = grad::call(
      "scatter_nd",
      {grad::zeros_like(grad::transposed(dense, 2)), grad::call("expand_dims", {to}, {{"axis", int64_t{0}}}), terms},
      {{"mode", "add"}});
  return {grad::transposed(sums, 2), d_data, nullptr, nullptr};
}

// A value gets the gradient at its place, or none if that is outside of the matrix.
ir::Exprs gradient_add(const NoAttrs&, const Adjoint& of) {
  const ir::Expr &dense = of.inputs[0], &data = of.inputs[1], &pointers = of.inputs[3];
  auto zero = [] { return ir::constant(0, DType::int64()); };
  auto both = [](const ir::Expr& x, const ir::Expr& y) { return grad::call("logical_and", {x, y}); };
  const ir::Expr row = rows_of_values(data, pointers);
  const ir::Expr column = grad::call("cast", {of.inputs[2]}, {{"dtype", DType::int64()}});
  const ir::Expr last_row = grad::call("max", {grad::places(dense, 0)}),
                 last_column = grad::call("max", {grad::places(dense, 1)});
  auto inside = [&](const ir::Expr& at, const ir::Expr& last) {
    return both(grad::call("less_equal", {zero(), at}), grad::call("less_equal", {at, last}));
  };
  const ir::Expr good = both(inside(row, last_row), inside(column, last_column));
  auto kept = [&](const ir::Expr& at) { return grad::call("where", {good, at, zero()}); };
  const ir::Expr places = grad::call("stack", {ir::tuple({kept(row), kept(column)})}, {{"axis", int64_t{0}}});
  const ir::Expr found = grad::call("gather_nd", {of.gradient, places});
  return {of.gradient, grad::call("where", {good, found, grad::number(0, data)}), nullptr, nullptr};
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
  const Expr& columns = in[0]->shape[1];
  const te::Tensor sum =
      te::program("sparse_add", in[0]->shape, wide, {0}, [&](const Exprs& i, const BufferRef& result) {
        const Stmt copy = each("c", columns, [&](const Expr& c) {
          return loop::store(result, {i[0], c}, cast(wide, (*in[0])({i[0], c})));
        });
        const Stmt add = s.each_value(i[0], [&](const Expr& k) {
          return let("column", s.column(k), [&](const Expr& c) {
            const Expr more = scalar::load(result, {i[0], c}) + cast(wide, (*in[1])({k}));
            return loop::if_(logical_and(le(dim(0), c), lt(c, columns)), loop::store(result, {i[0], c}, more));
          });
        });
        return loop::block({copy, add});
      });
  return {converted(sum, in[0]->dtype)};
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
  const te::Tensor sum = product(
      "sparse_conv2d", shape_of(out), s, channels * (k[0] * k[1]), wide, [&](const Exprs& i) { return i[c]; },
      [&](const Exprs& i, const Expr& tap) {
        Exprs at = i;
        const Expr place = floordiv(tap, channels);
        at[c] = floormod(tap, channels);
        at[h] = i[h] + floordiv(place, k[1]);
        at[w] = i[w] + floormod(place, k[1]);
        return (*in[0])(at);
      });
  return {converted(sum, dtype_of(out))};
}

Result<Type> infer_transpose(const NoAttrs&, const Types& in) {
  RELAY_RETURN_IF_ERROR(check_sparse(in, 0, false));
  return ir::tuple_type({in[0], in[1], in[2]});
}

// The number of the k-th value when sorted by column, stably; values in no column come last, or first if their column
// is negative. After the values there is a counter cell for each column.
te::Tensor order_by_column(const Sparse& s, const Expr& columns) {
  const Expr& n = s.values();
  return te::program("order", {n + columns + 2}, DType::int64(), {}, [&](const Exprs&, const BufferRef& table) {
    auto at = [&](const Expr& i) { return scalar::load(table, {i}); };
    auto cell = [&](const Expr& k) { return n + 1 + max(min(s.column(k), columns), dim(-1)); };
    const Stmt clear = each("i", n + columns + 2, [&](const Expr& i) { return loop::store(table, {i}, dim(0)); });
    const Stmt count = each("k", n, [&](const Expr& k) {
      return let("cell", cell(k), [&](const Expr& c) { return loop::store(table, {c}, at(c) + 1); });
    });
    const Stmt begin = with_cell("next", dim(0), [&](const Cell& next) {
      return each("c", columns + 2, [&](const Expr& c) {
        return let("values", at(n + c), [&](const Expr& values) {
          return loop::block({loop::store(table, {n + c}, next.get()), next.set(next.get() + values)});
        });
      });
    });
    const Stmt put = each("k", n, [&](const Expr& k) {
      return let("cell", cell(k), [&](const Expr& c) {
        return let("to", max(min(at(c), n - 1), dim(0)), [&](const Expr& to) {
          return loop::block({loop::store(table, {to}, k), loop::store(table, {c}, to + 1)});
        });
      });
    });
    return loop::block({clear, count, begin, put});
  });
}

te::Tensors compute_transpose(const NoAttrs&, const te::Tensors& in, const Type&) {
  const Sparse s(in[0], in[1], in[2]);
  // The row of a value: the number of rows that end at or before it.
  const Expr rows = in[2]->shape[0] - 1;
  const te::Tensor source = order_by_column(s, rows);
  auto place = [&](const Exprs& i) { return max(min((*source)(i), s.values() - 1), dim(0)); };
  te::Tensor data = te::compute("data", in[0]->shape, [&](const Exprs& i) { return (*in[0])({place(i)}); });
  const te::Tensor row_of =
      te::program("row_of", {s.values()}, in[1]->dtype, {}, [&](const Exprs&, const BufferRef& r) {
        const Stmt clear =
            each("k", s.values(), [&](const Expr& k) { return loop::store(r, {k}, imm(0, in[1]->dtype)); });
        const Stmt mark = each("row", rows, [&](const Expr& row) {
          return let("end", max(cast(DType::int64(), (*in[2])({row + 1})), dim(0)), [&](const Expr& end) {
            const Expr more = scalar::load(r, {end}) + imm(1, in[1]->dtype);
            return loop::if_(lt(end, s.values()), loop::store(r, {end}, more));
          });
        });
        const Stmt sum = each("k", s.values(), [&](const Expr& k) {
          const Expr before = scalar::load(r, {max(k - 1, dim(0))});
          return loop::if_(lt(dim(0), k), loop::store(r, {k}, scalar::load(r, {k}) + before));
        });
        return loop::block({clear, mark, sum});
      });
  te::Tensor row = te::compute("row", {s.values()}, [&](const Exprs& i) { return (*row_of)({place(i)}); });
  // The beginning of a column: the cell of the previous column, which has moved to its end.
  te::Tensor pointers = te::compute("indptr", in[2]->shape,
                                    [&](const Exprs& i) { return cast(in[2]->dtype, (*source)({s.values() + i[0]})); });
  return {data, row, pointers};
}

// The values are moved: their numbers are transposed the same way.
ir::Exprs gradient_transpose(const NoAttrs&, const Adjoint& of) {
  const ir::Expr sources =
      ir::get(grad::call("nn.sparse_transpose", {grad::element_numbers(of.inputs[0]), of.inputs[1], of.inputs[2]}), 0);
  return {grad::scattered(ir::get(of.gradient, 0), sources, of.inputs[0]), nullptr, nullptr};
}

// The windows as rows of a matrix, times the sparse one.
ir::Expr definition_of_conv(const SparseConv2DAttrs& a, const ir::Exprs& in) {
  const Ints k = per_axis(a.kernel_size, 2);
  const Dims& shape = grad::tensor(in[0]).shape;
  const Dim &height = shape[a.layout.find('H')], &width = shape[a.layout.find('W')], &images = shape[0];
  const Dim filters = rows_of({in[0]->type, in[1]->type, in[2]->type, in[3]->type}, 1);
  for (const Dim& d : {height, width, images, filters})
    if (scalar::is_any(d)) return nullptr;
  ir::Expr data = in[0];
  if (a.layout == "NHWC") data = grad::call("transpose", {data}, {{"axes", Ints{0, 3, 1, 2}}});
  const ir::Expr all = grad::call("nn.im2col", {data}, {{"block_shape", k}});
  const ir::Expr apart = grad::call("reshape", {all}, {{"newshape", Ints{0, -4, -1, k[0] * k[1], 0}}});
  const ir::Expr transposed = grad::call("transpose", {apart}, {{"axes", Ints{0, 3, 2, 1}}});  // (N, places, taps, C)
  const ir::Expr matrix = grad::call("reshape", {transposed}, {{"newshape", Ints{-3, -3}}});
  const ir::Expr product = grad::call("nn.sparse_dense", {matrix, in[1], in[2], in[3]});
  const ir::Expr out = grad::call(
      "reshape", {product}, {{"newshape", simplified(Dims{images, height - (k[0] - 1), width - (k[1] - 1), filters})}});
  return a.layout == "NHWC" ? out : grad::call("transpose", {out}, {{"axes", Ints{0, 3, 1, 2}}});
}

const std::vector<Input> inputs = {{"dense_data", "(m, k)"},
                                   {"sparse_data", "(values,), or blocks (values, rows, columns)"},
                                   {"sparse_indices", "(values,) integers: the columns"},
                                   {"sparse_indptr", "(rows + 1,) integers: the position at which each row begins"}};

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
       // Fusion of nn.internal.sparse_dense_padded, nn.sparse_dense: output fusable in the reference; how many values a
       // row has is data.
       .fusion = Fusion::Opaque,
       .infer = infer_dense,
       .compute = compute_dense,
       .checked = [](const SparseDenseAttrs&,
                     const Types& in) { return checked(in, 1, as<TensorType>(in[0])->shape[1]); },
       .gradient = gradient_dense,
       .oracle = "(lambda s: s @ dense_data.T if sparse_lhs else dense_data @ s.T)(from_csr(sparse_data, "
                 "sparse_indices, sparse_indptr, dense_data.shape[1]))",
       .examples = {{.inputs = {"(3, 5)", "(6,)", "(6,) int32", "(5,) int32"},
                     .symbolic = {"(n, 5)", "(v,)", "(v,) int32", "(5,) int32"},
                     .ranges = ranges},
                    {.inputs = {"(3, 5)", "(6,)", "(6,) int32", "(5,) int32"},
                     .attrs = "sparse_lhs=True",
                     .ranges = ranges},
                    {.inputs = {"(3, 10)", "(6, 3, 2)", "(6,) int32", "(4,) int32"}, .ranges = ranges},
                    {.inputs = {"(3, 7)", "(6, 2, 3)", "(6,) int32", "(4,) int32"},
                     .ranges = {{-1, 1}, {-1, 1}, {0, 2}, {0, 6}}}},
       .rejects = rejects("(3, 5)")},
      "SparseDenseAttrs");
}

}  // namespace
}  // namespace csr_cpp

OpDef nn_sparse_dense() {
  using namespace csr_cpp;
  return product("nn.sparse_dense", "The product of a dense matrix and the transpose of a sparse matrix.");
}

OpDef nn_internal_sparse_dense_padded() {
  using namespace csr_cpp;
  OpDef def = product("nn.internal.sparse_dense_padded", "nn.sparse_dense under another name.");
  def.inputs[1].name = "weight_data", def.inputs[2].name = "weight_indices", def.inputs[3].name = "weight_indptr";
  def.inputs[0].name = "data";
  def.oracle =
      "(lambda s: s @ data.T if sparse_lhs else data @ s.T)(from_csr(weight_data, weight_indices, weight_indptr, "
      "data.shape[1]))";
  return def;
}

OpDef nn_sparse_add() {
  using namespace csr_cpp;
  return define<NoAttrs>(
      {.name = "nn.sparse_add",
       .doc = "The sum of a dense and a sparse matrix.",
       .inputs = inputs,
       .fusion = Fusion::Opaque,
       .infer = infer_add,
       .compute = compute_add,
       .checked = [](const NoAttrs&, const Types& in) { return checked(in, 1, as<TensorType>(in[0])->shape[1]); },
       .gradient = gradient_add,
       .oracle = "dense_data + from_csr(sparse_data, sparse_indices, sparse_indptr, "
                 "dense_data.shape[1])",
       .examples = {{.inputs = {"(4, 5)", "(6,)", "(6,) int32", "(5,) int32"},
                     .symbolic = {"(4, m)", "(v,)", "(v,) int32", "(5,) int32"},
                     .ranges = ranges}},
       .rejects = rejects("(4, 5)")});
}

OpDef nn_sparse_conv2d() {
  using namespace csr_cpp;
  std::vector<Reject> refused = rejects("(1, 4, 4, 5)");
  refused.push_back({{"(1, 4, 4, 5)", "(6,)", "(6,) int32", "(5,) int32"}, "layout=\"HWCN\"", "C2"});
  return define<SparseConv2DAttrs>(
      {.name = "nn.sparse_conv2d",
       .doc = "Two-dimensional convolution, without padding, with a sparse weight.",
       .inputs = {{"dense_data", "(N, H, W, C) or (N, C, H, W)"}, inputs[1], inputs[2], inputs[3]},
       // Fusion of nn.sparse_conv2d: output fusable in the reference; how many values a row has is data.
       .fusion = Fusion::Opaque,
       .infer = infer_conv,
       .compute = compute_conv,
       .checked =
           [](const SparseConv2DAttrs& a, const Types& in) {
             const Dim& channels = as<TensorType>(in[0])->shape[a.layout.find('C')];
             const Ints k = per_axis(a.kernel_size, 2);
             return checked(in, 1, channels * (k[0] * k[1]));
           },
       .definition = definition_of_conv,
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
  using namespace csr_cpp;
  return define<NoAttrs>(
      {.name = "nn.sparse_transpose",
       .doc = "The transpose of a square sparse matrix.",
       .inputs = {{"sparse_data", "(values,)"}, inputs[2], inputs[3]},
       // Fusion of nn.sparse_transpose: output fusable in the reference; how many values a row has is data.
       .fusion = Fusion::Opaque,
       .infer = infer_transpose,
       .compute = compute_transpose,
       .checked = [](const NoAttrs&, const Types& in) { return checked(in, 0, rows_of(in, 0)); },
       .gradient = gradient_transpose,
       .oracle = "csr_transpose(sparse_data, sparse_indices, sparse_indptr)",
       .examples = {{.inputs = {"(7,)", "(7,) int32", "(5,) int32"},
                     .symbolic = {"(v,)", "(v,) int32", "(n,) int32"},
                     .ranges = {{-1, 1}, {0, 3}, {0, 7}}}},
       .rejects = {{{"(6, 1)", "(6,) int32", "(5,) int32"}, "", "C1"}, {{"(6,)", "(6,)", "(5,) int32"}, "", "C1"}}});
}

}  // namespace relay::ops
