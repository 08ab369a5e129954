// The cores of the machine that this program runs on, for descriptions named "native".
#pragma once

#include <sched.h>

#include <algorithm>

namespace relay::target {

// The number of cores in the affinity mask of the process, at least 1.
inline int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace relay::target
