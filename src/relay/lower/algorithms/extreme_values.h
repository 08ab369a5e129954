// Checks if data may go through a fast algorithm, Winograd's or Strassen's. Such an algorithm adds a value to results
// that the direct sum computes without it, and subtracts it later. That leaves the value's rounding error, about 3e-7
// of it, or NaN. The rounding error of float32 hides it unless the value is extreme among those around it. So the
// largest value of each row of an image, or of the data of a product, is compared with the others. It is extreme if it
// is more than `max_ratio` times the geometric mean of the other rows' (rows of zeros left out), if it is at least
// `huge`, infinite or NaN. The magnitude of the data as a whole does not matter.
#pragma once

#include "relay/lower/algorithms/algorithm.h"

namespace relay::lower {

// The largest absolute value of each row, NaN if the row contains one. Images (n, c, y, x) give shape (n, y), images of
// height one (n, x); all other data is reduced along its last dimension.
te::Tensor largest_values(const te::Tensor& data, bool images);
constexpr double max_ratio = 16;  // 264 layers of 11 networks had at most 2.1 with random inputs
// Values below it cannot overflow with weights whose absolute values sum up to less than `max_weight_sum`.
constexpr double huge = 0x1p80;
constexpr double max_weight_sum = 1e6;  // the largest sum of a few thousand trained weights
// A bool element each, exactly one of which is true. Each image is judged by itself.
struct ExtremeValues {
  te::Tensor absent, present;
};
ExtremeValues extreme_values(const te::Tensor& largest, bool images);

// The names of the group's constants of float32, or of shorter floats.
std::set<std::string> float_constants(const FunctionPlan& plan, const Group& g);
// True if sums of the weights may overflow or a weight is NaN.
bool has_large_weights(const FunctionPlan& plan, const Group& g);

// If options.numerics asks for it: runs the site's group, which has the new form, where `data` has no extreme values,
// and `direct`, the group as it was, after it where it has some; never both.
void run_without_extremes(Site& site, Group direct, const te::Tensor& data);

}  // namespace relay::lower
