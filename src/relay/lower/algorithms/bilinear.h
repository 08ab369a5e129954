// What the forms with fewer multiplications share (winograd.h, strassen.h): products of sums, and sums of those
// products, with constant matrices.
#pragma once

#include "relay/lower/schedule/layout.h"
#include "relay/te/te.h"

namespace relay::lower {

using Matrix = std::vector<std::vector<double>>;

te::Axis new_axis(const char* name, Expr extent);
// A float32 stage without a reduction.
te::Tensor new_stage(const std::string& name, std::vector<te::Axis> axes, Expr body);

// matrix[row] . values, as a choice by the row's variable, which the schedule unrolls. Even and odd terms are summed
// apart:
// of Winograd's matrices, rows for a point and its negative share both sums.
Expr transformed(const Matrix& matrix, const Expr& row, const Exprs& values);

}  // namespace relay::lower
