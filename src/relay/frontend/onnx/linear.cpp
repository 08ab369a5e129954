// Matrix products.
#include <algorithm>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/quantise.h"
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
  const DType dtype = c.dtype(a);
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  Expr bias = c.has(2) && beta != 0 ? c.input(2) : Expr();
  // Sums of halves may be far larger than halves, before a factor makes them smaller.
  if (alpha != 1) {
    const DType exact = exact_type(c, a);
    a = c.cast(a, exact), b = c.cast(b, exact);
    if (bias) bias = c.cast(bias, exact);
  }
  Expr product = c.integer("transB", 0) ? c.emit("nn.dense", {a, b}) : c.emit("nn.matmul", {a, b});
  product = c.multiply(product, alpha);
  if (!bias) return {c.cast(product, dtype)};
  bias = c.multiply(bias, beta);
  if (c.rank(bias) == 1 && product && scalar::prove_equal(c.shape(bias)[0], c.shape(product)[1]) == true)
    return {c.cast(c.emit("nn.bias_add", {product, bias}, {{"axis", int64_t{1}}}), dtype)};
  return {c.cast(c.add(product, bias), dtype)};
}

Values MatMul(Convert& c) { return {matrix_product(c, c.input(0), c.input(1))}; }

Values MatMulInteger(Convert& c) {
  auto zero = [&](size_t i) { return c.has(i) ? c.input(i) : Expr(); };
  return {integer_product(c, c.input(0), zero(2), c.input(1), zero(3))};
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
