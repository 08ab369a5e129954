// Images of few channels that are stored by channels, as a network's input is given, or are copied so: a convolution to
// few outputs, whose channels would leave lanes empty, takes lanes along the rows of images instead, and each weight
// times vectors of neighbours.
//
//   for each image, each row y, each 64 pixels x of it
//     acc[o, x] = sum(c, ky, kx) data[c, y + ky, x + kx] * weight[o, c, ky, kx]        5 x 4 accumulators of 16 pixels
//
// Precondition: neighbours of the result read neighbours of the data (a stride of one along the rows).
#pragma once

#include <functional>

#include "relay/base/target_desc.h"
#include "relay/te/te.h"

namespace relay::lower {

// Whether the group `outputs` is such a convolution. `stored_by_channels`: of a parameter that is not constant.
bool prefers_planar(const te::Tensors& outputs, const TargetDesc& target,
                    const std::function<bool(const te::Tensor&)>& stored_by_channels,
                    const std::function<bool(const te::Tensor&)>& is_constant);

}  // namespace relay::lower
