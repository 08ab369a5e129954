// The number of threads that a process should use, by the machine's cores, the process's affinity and its CPU quota.
#include "relay/runtime/threads/topology.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "relay/base/text.h"
#include "relay/runtime/threads/thread_pool.h"

namespace relay::runtime {

// Physical cores of which at least one hardware thread is in the affinity mask.
static int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int logical = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return logical;
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  int cores = 0;
  if (hwloc_topology_load(topology) == 0) {
    for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr;) {
      bool usable = false;
      for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(core->cpuset, cpu))
        usable |= cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed);
      cores += usable;
    }
  }
  hwloc_topology_destroy(topology);
  return cores > 0 ? std::min(cores, logical) : logical;
}

static std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number of CPUs in a cgroup's quota; 0 if unlimited.
static double quota_at(const std::string& folder, bool v2) {
  double quota = 0, period = 0;
  if (v2) {
    std::istringstream(first_line(folder + "/cpu.max")) >> quota >> period;  // "max 100000" reads no number
  } else {
    std::istringstream(first_line(folder + "/cpu.cfs_quota_us")) >> quota;  // -1 if unlimited
    std::istringstream(first_line(folder + "/cpu.cfs_period_us")) >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

// The smallest quota from this process's cgroup up to the root. /proc/self/cgroup has lines "0::/a/b" (version 2) and
// "2:cpu,cpuacct:/a/b" (version 1).
static double cgroup_quota() {
  double least = 0;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() < 3) continue;
    bool v2 = fields[0] == "0" && fields[1].empty(), v1 = false;
    for (std::string_view controller : split(fields[1], ',')) v1 |= controller == "cpu";
    if (!v2 && !v1) continue;
    std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    std::string path(fields[2] == "/" ? std::string_view() : fields[2]);
    while (true) {
      double quota = quota_at(root + path, v2);
      if (quota > 0) least = least > 0 ? std::min(least, quota) : quota;
      if (path.empty()) break;
      path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
    }
  }
  return least;
}

// Nullopt if it is not a valid number of threads.
static std::optional<int> thread_setting() {
  const char* given = std::getenv("RELAY_THREADS");
  std::string_view text = given ? given : "";
  int threads = 0;
  if (text.empty()) return 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || stop != text.data() + text.size() || !check_threads(threads)) return std::nullopt;
  return threads;
}

Status check_threads(int threads) {
  if (threads >= 0 && threads <= max_threads) return ok();
  return Diagnostic{DiagnosticKind::bad_option,
                    format("{} is not a number of threads", threads),
                    {},
                    {},
                    {},
                    format("give 1 to {}, or 0 for all cores that this process may use", max_threads)};
}

Status check_thread_setting() {
  if (thread_setting()) return ok();
  return Diagnostic{
      DiagnosticKind::bad_option,
      format("RELAY_THREADS is '{}', which is not a number of threads",
             std::string_view(std::getenv("RELAY_THREADS")).substr(0, 40)),
      {},
      {},
      {},
      format("set it to 1 to {}, or to 0 or nothing for all cores that this process may use", max_threads)};
}

int usable_cores() {
  if (int threads = thread_setting().value_or(0); threads > 0) return threads;
  int cores = physical_cores();
  double quota = cgroup_quota();
  if (quota > 0) cores = std::min(cores, std::max(1, static_cast<int>(std::ceil(quota - 0.01))));
  return std::max(cores, 1);
}

}  // namespace relay::runtime
