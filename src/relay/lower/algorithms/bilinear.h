// Shared by the forms with fewer multiplications (winograd.h, strassen.h): products of sums, and sums of those
// products, with constant matrices.
#pragma once

#include "relay/lower/schedule/layout.h"
#include "relay/te/te.h"

namespace relay::lower {

using Matrix = std::vector<std::vector<double>>;

te::Axis new_axis(const char* name, Expr extent);
// A stage without a reduction, of the body's type.
te::Tensor new_stage(const std::string& name, std::vector<te::Axis> axes, Expr body);

// matrix[row] . values, as a select by the row's variable, which the schedule unrolls. Even and odd terms are summed
// separately: in Winograd's matrices, the rows for a point and its negative share both sums. Matrices for integers hold
// integers.
Expr transformed(const Matrix& matrix, const Expr& row, const Exprs& values);

}  // namespace relay::lower
