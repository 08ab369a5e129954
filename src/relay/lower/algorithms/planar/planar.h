// Convolutions of images with few channels to few outputs, whose channels would leave lanes empty. The images are
// stored by channels, as a network's input is, or are copied so. Lanes run along the rows of images instead, and each
// weight is multiplied by vectors of neighbours.
//
//   for each image, each row y, each 64 pixels x of the row
//     acc[o, x] = sum(c, ky, kx) data[c, y + ky, x + kx] * weight[o, c, ky, kx]        5 x 4 accumulators of 16 pixels
//
// Precondition: neighbours of the result read neighbours of the data (a stride of one along the rows).
#pragma once

#include "relay/lower/algorithms/algorithm.h"
#include "relay/lower/schedule/schedule_rules.h"

namespace relay::lower {

// Called before a rule schedules the reduction: stores the reduction's data by channels (schedule.cpp).
void store_by_channels(ScheduleDraft& plan, const te::Tensor& reduction);
inline constexpr FormSchedule planar_schedule{.rule = Rule::Planar, .reads = store_by_channels};

}  // namespace relay::lower
