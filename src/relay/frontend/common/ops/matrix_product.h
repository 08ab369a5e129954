// Products of matrices, as numpy's matmul.
#pragma once

#include <functional>

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// The product of matrices in the last two axes; the other axes are broadcast as in numpy. A vector is a row on the left
// and a column on the right, whose axis the result lacks.
ir::Expr matrix_product(Conversion& c, ir::Expr a, ir::Expr b);

// The operators that multiply: (.., m, k) with (k, n), and (b, m, k) with (b, k, n).
struct Multiply {
  std::function<ir::Expr(const ir::Expr& a, const ir::Expr& b)> by_matrix, in_batches;
};
ir::Expr matrix_product(Conversion& c, ir::Expr a, ir::Expr b, const Multiply& multiply);

}  // namespace relay::frontend
