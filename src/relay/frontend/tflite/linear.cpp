// Products of matrices.
#include <numeric>

#include "relay/frontend/common/ops/matrix_product.h"
#include "relay/frontend/tflite/quantize.h"
#include "relay/frontend/tflite/shape.h"
#include "relay/scalar/simplify.h"

namespace relay::tflite::convert {

using ir::Dims;
using ir::Expr;

// A weight (outputs, inputs). The data is a matrix of rows of as many inputs, whatever its axes; with keep_num_dims the
// result has its axes.
Values FULLY_CONNECTED(Convert& c) {
  if (c.integer("weights_format", 0) != 0) return c.unsupported("a weight in the order SHUFFLED4x16INT8");
  Expr x = c.input(0), weight = real_weight(c, 1, 0);
  if (!c.expect_rank(weight, 2, 2, "the weight")) return {};
  const Dims from = c.shape(x), matrix = c.shape(weight);
  ir::Dim rows = scalar::imm(1);
  for (const ir::Dim& d : from) rows = rows * d;
  if (!is_int(matrix[1]) || is_int(matrix[1], 0)) return c.bad("the weight is {}", ir::str(weight->type));
  Dims flat{scalar::simplify(floordiv(rows, matrix[1])), matrix[1]};
  if (!from.empty() && scalar::prove_equal(from.back(), matrix[1]) == true) {
    flat[0] = scalar::imm(1);
    for (size_t i = 0; i + 1 < from.size(); ++i) flat[0] = scalar::simplify(flat[0] * from[i]);
  } else if (is_int(rows) && rows->ivalue % matrix[1]->ivalue) {
    return c.bad("data {} for a weight {}", ir::str(x->type), ir::str(weight->type));
  }
  if (from.size() != 2) x = c.reshape(x, flat);
  Values results;
  if (c.is_quantized_input(0)) {
    results = quantized_product(c, "qnn.dense", x, weight, {}, 0);
  } else {
    Expr sum = c.emit("nn.dense", {x, weight});
    if (c.has(2)) sum = c.emit("nn.bias_add", {sum, c.input(2)}, {{"axis", int64_t{1}}});
    results = {c.activated(sum)};
  }
  if (!c.flag("keep_num_dims") || from.size() == 2 || results.empty()) return results;
  Dims to(from.begin(), from.end() - (from.empty() ? 0 : 1));
  to.push_back(matrix[0]);
  return {c.reshape(results[0].expr, to)};
}

// Products of the last two axes; the others broadcast.
Values BATCH_MATMUL(Convert& c) {
  const bool in_integers = c.is_quantized_input(0);
  Expr a = c.input(0), b = c.input(1);
  if (!in_integers && c.is_quantized_input(1)) b = dequantized(c, b, c.input_entry(1));
  if (!c.expect_rank(a, 2, 32, "A") || !c.expect_rank(b, 2, 32, "B")) return {};
  auto turned = [&](const Expr& e) {
    ir::Ints order(static_cast<size_t>(c.rank(e)));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return c.transpose(e, order);
  };
  if (c.flag("adj_x")) a = turned(a);
  if (c.flag("adj_y")) b = turned(b);
  return {in_integers ? quantized_matrix_product(c, a, b) : matrix_product(c, a, b)};
}

}  // namespace relay::tflite::convert
