// The cycle model: the clock cycle at which each instruction begins and ends, without executing it.
//
// Counts the cycles in one pass over the stream. Every time is a recurrence over earlier instructions, because waits
// are for tokens that earlier instructions send, and each module works in order. The model equals the hardware
// (hardware/rtl) in every cycle.
#pragma once

#include "relay/accelerator/isa.h"

namespace relay::accelerator {

// The memory outside. Loads, stores and instructions have a port each.
struct Timing {
  int latency = 32;  // cycles from a request to its beat, and from a written beat to its acknowledgement; at least 1
  int interval = 1;  // cycles from one beat of 16 bytes to the next on the port of loads, and on that of stores
};

// Depths of queues in the hardware.
constexpr int fetch_depth = 8;    // instructions that are requested or wait for their queue
constexpr int queue_depth = 16;   // instructions of a module
constexpr int flight_depth = 64;  // beats of loads between request and buffer

struct Times {
  int64_t begin = 0, end = 0;  // the cycles at which it leaves its queue, and at which its tokens are sent
};

struct Cycles {
  int64_t total = 0;  // until Halt ends
  int64_t multiply_steps = 0, vector_steps = 0;
  int64_t load_bytes = 0, store_bytes = 0, instructions = 0;
  std::vector<Times> times{};  // of each instruction
  // The share of the cycles in which all multipliers work.
  double utilisation() const {
    return total == 0 ? 0 : static_cast<double>(multiply_steps) / static_cast<double>(total);
  }
};

// A stream that check() accepts.
Cycles count_cycles(const Stream& stream, const Timing& timing);

}  // namespace relay::accelerator
