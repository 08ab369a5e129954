#include "relay/frontend/common/ops/matrix_product.h"

#include <algorithm>

#include "relay/frontend/common/ops/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::frontend {

using ir::Dims;
using ir::Expr;

// The number of sizes that are known only at run time.
static int64_t unknown(const Dims& sizes) { return std::count_if(sizes.begin(), sizes.end(), scalar::is_any); }

// All axes but the last two as one, without naming their sizes.
static Expr first_axes_joined(Conversion& c, Expr e) {
  for (int64_t axes = c.rank(e); e && axes > 3; --axes) {
    ir::Ints codes(static_cast<size_t>(axes - 1), 0);
    codes[0] = -3;
    e = c.emit("reshape", {e}, {{"newshape", codes}});
  }
  return e;
}

Expr matrix_product(Conversion& c, Expr a, Expr b) {
  return matrix_product(c, std::move(a), std::move(b),
                        {[&](const Expr& x, const Expr& y) { return c.emit("nn.matmul", {x, y}); },
                         [&](const Expr& x, const Expr& y) {
                           return c.emit("nn.batch_matmul", {x, y}, {{"transpose_a", false}, {"transpose_b", false}});
                         }});
}

Expr matrix_product(Conversion& c, Expr a, Expr b, const Multiply& multiply) {
  if (!c.expect_rank(a, 1, 32, "A") || !c.expect_rank(b, 1, 32, "B")) return {};
  // A vector is a row on the left, a column on the right; the added axis is removed from the result.
  bool row = c.rank(a) == 1, column = c.rank(b) == 1;
  if (row) a = c.reshape(a, {scalar::imm(1), c.shape(a)[0]});
  if (column) b = c.reshape(b, {c.shape(b)[0], scalar::imm(1)});
  if (!a || !b) return {};
  Expr product;
  if (c.rank(b) == 2) {
    product = multiply.by_matrix(a, b);
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
    product = multiply.in_batches(left, right);
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

}  // namespace relay::frontend
