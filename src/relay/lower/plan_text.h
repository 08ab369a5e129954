// The plan of a function as text (relay opt --emit plan).
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// A line for each array and each group. Arrays have numbers, which groups refer to:
//
//   array 3 fused_nn_conv2d: temporary float32[1, 32, 56, 56], 0,2,3,1 halo 2:1+1 3:1+1
//   group 1 fused_nn_conv2d: 3, 4 -> 5, in the form winograd
std::string str(const FunctionPlan& plan);

}  // namespace relay::lower
