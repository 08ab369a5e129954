// What this machine can do at most, measured or as it is described.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/base/target_desc.h"

namespace relay::measure {

// Of this machine. Memory of all cores is that of one times their number, except for what no cache holds.
struct Ceilings {
  double fma_gflops = 0;  // of one core
  double l2_gbps = 0, l3_gbps = 0, memory_gbps = 0;
  int64_t l2_bytes = 0, l3_bytes = 0;
  struct Aged {
    double us, gbps;
  };
  std::vector<Aged> l3_after{};  // of L3 after that time without use, which others may have used
};
Ceilings measure_ceilings(const TargetDesc& target);
// Adds `l3_after`: a tenth of a second more.
void measure_ageing(Ceilings& ceilings);
// As the target's description has them: what schedule rules reckon with.
Ceilings described_ceilings(const TargetDesc& target);

}  // namespace relay::measure
