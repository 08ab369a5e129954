// The compilation of a network to memory: constants, arrays and an instruction stream that computes all layers, one
// after the other.
#pragma once

#include "relay/accelerator/cycles.h"
#include "relay/accelerator/network.h"

namespace relay::accelerator {

struct Program {
  std::vector<uint8_t> constants;   // at byte 0
  std::vector<uint32_t> addresses;  // of the arrays
  Stream stream;
  uint32_t stream_address = 0;  // behind all arrays
  uint64_t memory_bytes = 0;    // with the stream
  int64_t multiply_adds = 0;    // of the network, without those of padding
  std::vector<size_t> ends;     // for each layer, the number of instructions up to its end; Sync of the next included
};

// Unset, with the reason, if the memory would be larger than 4 GiB.
std::optional<Program> compile(const Network& network, const Timing& timing, std::string* problem);

}  // namespace relay::accelerator
