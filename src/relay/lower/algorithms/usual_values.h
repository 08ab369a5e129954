// Whether data may go through a form with fewer multiplications, Winograd's or Strassen's. Such a form adds a value to
// results that the direct sum keeps apart from it, and takes it away again: what is left is its rounding error, about
// 3e-7 of it, or NaN. That is lost in the error that float32 has there anyway unless the value stands out from those
// around it. So the largest value of each row of an image, or of the data of a product, is compared with the others':
// data are unusual if a row's largest is more than `most_ratio` times the geometric mean of the other rows' (those of
// zeros left out), or `most_value` or more, infinite or NaN. The size of the data does not matter.
#pragma once

#include "relay/lower/algorithms/algorithm.h"

namespace relay::lower {

// The largest absolute values of rows, NaN where there is one: of images (n, c, y, x) shape (n, y), of images one high
// (n, x); of anything else along its last dimension.
te::Tensor largest_values(const te::Tensor& data, bool images);
constexpr double most_ratio = 16;  // with random inputs, 264 layers of 11 networks had 2.1 at most
// Nothing overflows below it for weights whose absolute values sum up to less than `most_weight`.
constexpr double most_value = 0x1p80;
constexpr double most_weight = 1e6;  // of a few thousand weights, what the largest trained ones sum up to
// One element each, bool: one of the two is true. Each image is looked at by itself.
struct UsualValues {
  te::Tensor usual, unusual;
};
UsualValues usual_values(const te::Tensor& largest, bool images);

// The group's constants of float32, by name.
std::set<std::string> float_constants(const GraphPlan& plan, const PlannedGroup& g);
// Weights so large that sums of them may overflow, or NaN.
bool has_large_weights(const GraphPlan& plan, const PlannedGroup& g);

// If options.numerics asks for it: the site's group, which is in the form now, runs where `data` are usual, and
// `direct`, the group as it was, behind it where they are not, never both.
void run_where_usual(Site& site, PlannedGroup direct, const te::Tensor& data);

}  // namespace relay::lower
