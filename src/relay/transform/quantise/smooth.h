// Moves magnitudes of channels from data into weights (SmoothQuant: Xiao et al., 2022), so that one scale suffices for
// all channels of the data:
//
//   nn.dense(%x, weight)
//     becomes   nn.dense(multiply(%x, 1 / s), weight * s)
#pragma once

#include <span>

#include "relay/transform/quantise/layers.h"

namespace relay::transform {

// The largest magnitude of a product's weight at each index of the sum. The layer has a summed_axis.
std::vector<double> weight_magnitudes(const Layer& layer);
// s for each channel: data^strength / weight^(1 - strength), rounded to a power of two, by which floats are multiplied
// without rounding. A channel of zeros has the factor 1.
std::vector<float> smoothing_factors(std::span<const double> data, std::span<const double> weights, double strength);
// Applies factors to layers, which are null for those that stay. Layers with the same operand and factors share the
// product of both. The result is untyped.
ir::Module smooth(const ir::Module& module, const std::vector<Layer>& layers,
                  function_ref<const std::vector<float>*(const Layer& layer)> factors_of);

}  // namespace relay::transform
