#include "relay/measure/ceilings.h"

#include <algorithm>

#include "relay/measure/measure.h"

namespace relay::measure {

Ceilings measure_ceilings(const TargetDesc& target) {
  int64_t l3 = std::min<int64_t>(target.l3_bytes, 256 << 20);
  return {.fma_gflops = measure_fma_gflops(target.vector_bytes),
          .l2_gbps = measure_read_gbps(target.l2_bytes / 2),
          .l3_gbps = measure_read_gbps(std::min<int64_t>(l3 / 2, 16 << 20)),
          .memory_gbps = measure_read_gbps(std::max<int64_t>(256 << 20, 2 * l3)),
          .l2_bytes = target.l2_bytes,
          .l3_bytes = target.l3_bytes};
}

void measure_ageing(Ceilings& ceilings) {
  constexpr int64_t bytes = 4 << 20;
  if (2 * bytes > ceilings.l3_bytes) return;
  for (double us : {1e3, 3e3, 1e4}) ceilings.l3_after.push_back({us, measure_read_gbps_after(bytes, us * 1e-6)});
}

Ceilings described_ceilings(const TargetDesc& t) {
  return {.fma_gflops = 2 * t.fma_per_cycle * t.ghz * t.vector_bytes / 4,
          .l2_gbps = t.l2_gbps,
          .l3_gbps = t.l3_gbps,
          .memory_gbps = t.dram_gbps,
          .l2_bytes = t.l2_bytes,
          .l3_bytes = t.l3_bytes};
}

}  // namespace relay::measure
