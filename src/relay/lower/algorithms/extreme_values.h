// Whether data may go through a fast algorithm, Winograd's or Strassen's. Such an algorithm adds a value to results
// that the direct sum computes without it, and subtracts it again. What is left is the value's rounding error, about
// 3e-7 of it, or NaN. The error that float32 has anyway hides that unless the value is extreme among those around it.
// So the largest value of each row of an image, or of the data of a product, is compared with the others. It is extreme
// if it is more than `max_ratio` times the geometric mean of the other rows' (rows of zeros left out), if it is `huge`
// or more, infinite or NaN. The size of the data does not matter.
#pragma once

#include "relay/lower/algorithms/algorithm.h"

namespace relay::lower {

// The largest absolute values of rows, NaN where there is one: of images (n, c, y, x) shape (n, y), of images one high
// (n, x); of anything else along its last dimension.
te::Tensor largest_values(const te::Tensor& data, bool images);
constexpr double max_ratio = 16;  // with random inputs, 264 layers of 11 networks had 2.1 at most
// Nothing overflows below it for weights whose absolute values sum up to less than `max_weight_sum`.
constexpr double huge = 0x1p80;
constexpr double max_weight_sum = 1e6;  // of a few thousand weights, what the largest trained ones sum up to
// One element each, bool: one of the two is true. Each image is looked at by itself.
struct ExtremeValues {
  te::Tensor absent, present;
};
ExtremeValues extreme_values(const te::Tensor& largest, bool images);

// The group's constants of float32, by name.
std::set<std::string> float_constants(const FunctionPlan& plan, const Group& g);
// Weights so large that sums of them may overflow, or NaN.
bool has_large_weights(const FunctionPlan& plan, const Group& g);

// If options.numerics asks for it: the site's group, which is in the form now, runs where `data` have no extreme
// values, and `direct`, the group as it was, runs behind it where they have some; never both.
void run_without_extremes(Site& site, Group direct, const te::Tensor& data);

}  // namespace relay::lower
