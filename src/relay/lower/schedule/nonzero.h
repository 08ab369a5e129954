// The ranges in which the body of a stage is not zero, because of zero padding in its inputs:
//
//   C[y, o] = sum(k, c) padded[y + 12 * k, c] * W[o, k, c]
//   padded[y, c] = select(12 <= y && y < 52, x[y - 12, c], 0)
//   not zero only where 0 <= y + 12 * k - 12 and 0 <= 51 - y - 12 * k
//
// A loop over k with :skip_padding (schedule.h) leaves out the steps in which that holds for no result of a tile. Zero
// times an infinity or NaN is not zero: the caller that requests such a loop knows that the other factors are finite.
#pragma once

#include <functional>
#include <set>

#include "relay/te/te.h"

namespace relay::lower {

using scalar::Expr;
using scalar::Exprs;

// Expressions over the stage's axes, all of which are non-negative where its body is not zero. Looks through copies,
// sums and products.
Exprs nonzero_where(const te::TensorNode& stage);

// The fraction of a window's taps that rows [begin, begin + count) read: the others are in the padding for all of these
// rows. With a dilation of 24 the first 16 of 40 rows read two of three rows of taps, the next eight one.
using PartOfTaps = std::function<double(int64_t begin, int64_t count)>;
// The taps for axis `row` of the sum r. The reduction axis that steps over the taps is added to `sums`. Empty if all
// taps are read, or nothing is known about them.
PartOfTaps taps_inside(const te::TensorNode& r, const std::string& row, std::set<std::string>& sums);
// The mean of `taps` over all rows, one by one; 1 if all are read.
double mean_part(const PartOfTaps& taps, int64_t rows);

}  // namespace relay::lower
