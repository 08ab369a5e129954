// Matrix products.
#include <algorithm>

#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/window.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx {
namespace convert {

using ir::Dims;
using ir::Expr;

// alpha * A' * B' + beta * C, where A' and B' are optionally transposed. A weight that is used transposed is Relay's
// nn.dense.
Values Gemm(Convert& c) {
  Expr a = c.input(0), b = c.input(1);
  // The oldest exporters pass A with more axes and mean a matrix.
  if (c.opset < 7 && c.rank(a) > 2) a = c.emit("nn.batch_flatten", {a});
  if (!c.expect_rank(a, 2, 2, "A") || !c.expect_rank(b, 2, 2, "B")) return {};
  if (c.integer("transA", 0)) a = c.transpose(a, {1, 0});
  Expr product = c.integer("transB", 0) ? c.emit("nn.dense", {a, b}) : c.emit("nn.matmul", {a, b});
  product = c.multiply(product, c.real("alpha", 1));
  double beta = c.real("beta", 1);
  if (!c.has(2) || beta == 0) return {product};
  Expr bias = c.multiply(c.input(2), beta);
  if (c.rank(bias) == 1 && product && scalar::prove_equal(c.shape(bias)[0], c.shape(product)[1]) == true)
    return {c.emit("nn.bias_add", {product, bias}, {{"axis", int64_t{1}}})};
  return {c.add(product, bias)};
}

}  // namespace convert

using ir::Dims;
using ir::Expr;

// The number of sizes that are known only at run time.
static int64_t unknown(const Dims& sizes) { return std::count_if(sizes.begin(), sizes.end(), scalar::is_any); }

// All axes but the last two as one, without naming their sizes.
static Expr first_axes_joined(Convert& c, Expr e) {
  for (int64_t axes = c.rank(e); e && axes > 3; --axes) {
    ir::Ints codes(static_cast<size_t>(axes - 1), 0);
    codes[0] = -3;
    e = c.emit("reshape", {e}, {{"newshape", codes}});
  }
  return e;
}

Expr matrix_product(Convert& c, Expr a, Expr b) {
  if (!c.expect_rank(a, 1, 32, "A") || !c.expect_rank(b, 1, 32, "B")) return {};
  // A vector is a row on the left, a column on the right; the added axis is removed from the result.
  bool row = c.rank(a) == 1, column = c.rank(b) == 1;
  if (row) a = c.reshape(a, {scalar::imm(1), c.shape(a)[0]});
  if (column) b = c.reshape(b, {c.shape(b)[0], scalar::imm(1)});
  if (!a || !b) return {};
  Expr product;
  if (c.rank(b) == 2) {
    product = c.emit("nn.matmul", {a, b});
  } else {
    Dims batch_a(c.shape(a).begin(), c.shape(a).end() - 2), batch_b(c.shape(b).begin(), c.shape(b).end() - 2), batch;
    size_t rank = std::max(batch_a.size(), batch_b.size());
    batch_a.insert(batch_a.begin(), rank - batch_a.size(), scalar::imm(1));
    batch_b.insert(batch_b.begin(), rank - batch_b.size(), scalar::imm(1));
    scalar::Expr count = scalar::imm(1);
    for (size_t i = 0; i < rank; ++i) {
      batch.push_back(is_int(batch_a[i], 1) ? batch_b[i] : batch_a[i]);
      count = count * batch[i];
    }
    // The batch, and the last two axes of e, if some are known only at run time.
    auto computed_shape = [&](const Expr& e) {
      ir::Exprs sizes;
      for (size_t i = 0; i < rank; ++i) {
        const Expr& of = is_int(batch_a[i], 1) ? b : a;
        const int64_t axis = c.rank(of) - 2 - static_cast<int64_t>(rank - i);
        sizes.push_back(is_int(batch[i]) ? c.integer_scalar(batch[i]->ivalue) : c.size_of(of, axis));
      }
      for (int64_t axis : {2, 1}) sizes.push_back(c.size_of(e, c.rank(e) - axis));
      for (Expr& size : sizes) size = c.expand(size, 0);
      return c.concatenate(sizes, 0);
    };
    // Each operand as (batch, m, k): broadcast only if it is neither whole nor one matrix for all.
    auto flat = [&](const Expr& e, const Dims& own) {
      Dims matrix(c.shape(e).end() - 2, c.shape(e).end());
      bool one = true, whole = true;
      for (size_t i = 0; i < rank; ++i) {
        one = one && is_int(own[i], 1);
        whole = whole && (is_int(own[i], 1) == is_int(batch[i], 1));
      }
      if (one) return c.reshape(e, {scalar::imm(1), matrix[0], matrix[1]});
      Dims full = batch;
      full.insert(full.end(), matrix.begin(), matrix.end());
      const Expr all = whole ? e : unknown(full) ? computed_expand(c, e, computed_shape(e)) : c.broadcast_to(e, full);
      const Dims joined = {scalar::simplify(count), matrix[0], matrix[1]};
      return unknown(joined) < 2 ? c.reshape(all, joined) : first_axes_joined(c, all);
    };
    Expr left = flat(a, batch_a), right = flat(b, batch_b);
    product = c.emit("nn.batch_matmul", {left, right}, {{"transpose_a", false}, {"transpose_b", false}});
    if (!product) return {};
    Dims shape = batch;
    shape.push_back(c.shape(product)[1]), shape.push_back(c.shape(product)[2]);
    if (unknown(shape) < 2) {
      product = c.reshape(product, shape);
    } else {
      product = computed_reshape(c, product, computed_shape(product), true);
    }
  }
  if (!product || (!row && !column)) return product;
  Dims shape = c.shape(product);
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return c.reshape(product, shape);
}

namespace convert {

Values MatMul(Convert& c) { return {matrix_product(c, c.input(0), c.input(1))}; }

Values MatMulInteger(Convert& c) {
  Expr a = c.cast(c.input(0), DType::int32()), b = c.cast(c.input(1), DType::int32());
  if (c.has(2)) {
    Expr zero = c.cast(c.input(2), DType::int32());
    // A zero point per row of A.
    if (c.rank(zero) == 1 && !is_int(c.shape(zero)[0], 1)) zero = c.reshape(zero, {c.shape(zero)[0], scalar::imm(1)});
    a = c.subtract(a, zero);
  }
  if (c.has(3)) b = c.subtract(b, c.cast(c.input(3), DType::int32()));
  return {matrix_product(c, a, b)};
}

// Determinants of (.., M, M), by elimination: each step puts the row with the largest first element first, and the rows
// below it lose their first column.
Values Det(Convert& c) {
  Expr x = c.input(0);
  constexpr int64_t limit = 64;
  if (!c.expect_rank(x, 2, 32, "X")) return {};
  const DType dtype = c.dtype(x);
  Dims outer = c.shape(x);
  std::optional<int64_t> rows = c.extent(x, c.rank(x) - 2), columns = c.extent(x, c.rank(x) - 1);
  if (!rows || !columns) return c.unsized("X is {}, but matrices of a fixed size are needed", ir::str(x->type));
  if (*rows != *columns) return c.bad("X is {}, but must contain square matrices", ir::str(x->type));
  if (*rows > limit) return c.unsupported("matrices of {} rows; at most {} can be imported", *rows, limit);
  outer.resize(outer.size() - 2);
  ir::Dim many = scalar::imm(1);
  for (const ir::Dim& d : outer) many = many * d;
  many = scalar::simplify(many);
  x = c.reshape(x, {many, scalar::imm(*rows), scalar::imm(*rows)});
  Expr one = c.scalar(1, dtype), zero = c.scalar(0, dtype), result = c.broadcast_to(one, {many});
  for (int64_t left = *rows; left > 0; --left) {
    Expr first = c.squeeze(c.slice(x, 2, 0, 1), 2);
    Expr place = c.cast(c.emit("argmax", {c.emit("abs", {first})}, {{"axis", ir::Ints{1}}}), DType::int64());
    Expr chosen = c.expand(c.emit("equal", {c.count_up(x, 1), c.expand(place, 1)}), 2);
    Expr row = c.reduce("sum", c.emit("where", {chosen, x, zero}), {1}, true);
    Expr pivot = c.slice(row, 2, 0, 1),
         sign = c.emit("where", {c.emit("equal", {place, c.integer_scalar(0)}), one, c.scalar(-1, dtype)});
    result = c.multiply(result, c.multiply(sign, c.reshape(pivot, {many})));
    if (left == 1) break;
    Expr rest = c.slice(c.emit("where", {chosen, c.slice(x, 1, 0, 1), x}), 1, 1, left);
    Expr divisor = c.emit("where", {c.emit("equal", {pivot, zero}), one, pivot});
    Expr factor = c.divide(c.slice(rest, 2, 0, 1), divisor);
    x = c.subtract(c.slice(rest, 2, 1, left), c.multiply(factor, c.slice(row, 2, 1, left)));
  }
  return {c.reshape(result, outer)};
}

}  // namespace convert
}  // namespace relay::onnx
