// The memory accesses of a warp, counted from a kernel's loops: how well they are coalesced, and conflicts of banks.
#pragma once

#include "relay/loop/loop.h"

namespace relay::loop {

// Figures of a GPU's memory that hold since 2010 (CUDA C++ Programming Guide, compute capabilities): 32 threads run in
// step; memory is moved in sectors of 32 bytes; shared memory has 32 banks of 4 bytes, and an access of more than 4
// bytes by each thread takes several turns.
inline constexpr int64_t warp_threads = 32, sector_bytes = 32, shared_banks = 32, bank_bytes = 4;

struct AccessFigures {
  int64_t threads = 1;       // of a block; 1 for kernels whose threads are tasks
  int64_t shared_bytes = 0;  // of a block
  // The sectors that hold the bytes of an access to the device's memory, over the sectors that the warp touches, as a
  // mean over all such accesses: 1 if neighbours read neighbours, 1/8 if each thread of float32 touches its own sector.
  // -1 if there are none.
  double coalesced = -1;
  // Turns that an access to shared memory takes, over those that it would take without conflicts of banks, as a mean
  // over all such accesses: at least 1. -1 if there are none.
  double bank_turns = -1;
  // The accesses whose places depend on data, as a part of all; they are in neither of the means.
  double unknown = 0;
};

// Counts the first warp of the first block, in the first iteration of each loop, as often as the loop has iterations.
// Sizes that are unknown count as 256.
AccessFigures access_figures(const Kernel& kernel);

}  // namespace relay::loop
