// Limits of this machine's speed, measured or as described.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/machine/target_desc.h"

namespace relay::measure {

// Ceilings of this machine. The bandwidth of all cores is the number of cores times that of one, except for data beyond
// all caches.
struct Ceilings {
  double fma_gflops = 0;  // per core
  double l2_gbps = 0, l3_gbps = 0, memory_gbps = 0;
  int64_t l2_bytes = 0, l3_bytes = 0;
  struct Aged {
    double us, gbps;
  };
  std::vector<Aged> l3_after{};  // L3 after that time without use, during which others may have used it
};
Ceilings measure_ceilings(const TargetDesc& target);
// Adds `l3_after`, which takes another tenth of a second.
void measure_ageing(Ceilings& ceilings);
// The figures of the target's description, which schedule rules use.
Ceilings described_ceilings(const TargetDesc& target);

}  // namespace relay::measure
