// Merges a sum with the convolution that computes one of its operands, which then never reaches memory.
#pragma once

#include "relay/accelerator/network.h"

namespace relay::accelerator {

// `outputs`: arrays that are needed outside. Layers are in order of computation, before and after.
void fuse_sums(Network& network, const std::vector<size_t>& outputs);

}  // namespace relay::accelerator
