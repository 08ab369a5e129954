// Rounds the rows of a weight so that errors of earlier columns are compensated by later ones (GPTQ: Frantar et al.,
// 2022).
//
// A row w that is rounded to q has the error e = w - q, which adds e X to its product with the data X. The square of
// that is e H e^T, where H = X X^T has the sums of products of two elements of the data. With H = V D V^T, V upper
// triangular with ones on its diagonal, it is the sum over the columns c of
//   D[c] (e[c] + sum over j < c of e[j] V[j, c])^2,
// so q[c] is the number nearest to w[c] + sum e[j] V[j, c].
#pragma once

#include <cstdint>
#include <vector>

#include "relay/base/function_ref.h"

namespace relay::transform {

class Compensation {
 public:
  // `products`: the rows of H up to the diagonal, one after another.
  Compensation(std::vector<double> products, int64_t length);
  int64_t length() const { return length_; }
  // V[j, column] for j < column.
  const double* shares(int64_t column) const { return shares_.data() + column * (column + 1) / 2; }

 private:
  std::vector<double> shares_;
  int64_t length_;
};

// Calls round(row, column, x) for each element, columns of a row in order, and adds to `x` what compensates the errors
// of the columns before it. `value` returns the element, and `round` the number that replaces x. Without a compensation
// (null) x is the element itself.
void round_rows(int64_t rows, int64_t length, const Compensation* compensation,
                function_ref<double(int64_t row, int64_t column)> value,
                function_ref<double(int64_t row, int64_t column, double x)> round);

}  // namespace relay::transform
