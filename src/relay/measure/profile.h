// The time of a run by kernel, compared with the machine's limits.
//
//   RELAY_ASSIGN(Profile profile, measure_profile(*compiled.executable, inputs, {.seconds = 1}));
//   describe(profile, compiled.lowered, compiled.built.lowered_steps);    operations and rules, which only a compiled
//                                                                         model has
//   find_ceilings(profile, measure_ceilings(target));          the share of what is possible
//
// A kernel needs at least the time of its operations at the speed of multiply-adds, and at least the time of reading
// and writing each of its arrays once at the speed of the memory that holds it when the kernel begins (the roofline
// model; residency.h). Its share is the larger of both divided by its measured time. Winograd's form counts its own
// operations, and a lookup counts the whole table.
#pragma once

#include <span>

#include "relay/lower/lower.h"
#include "relay/measure/ceilings.h"
#include "relay/measure/residency.h"
#include "relay/runtime/devices/device.h"
#include "relay/runtime/executable.h"

namespace relay::measure {

enum class Bound : uint8_t { Unknown, Arithmetic, L2, L3, Memory };
const char* name(Bound bound);

struct KernelProfile {
  std::string name, rule;            // rule: the maker of its schedule, and the reason
  std::vector<std::string> nodes{};  // nodes of the model that it computes
  std::string device{};              // "cpu:0"; of a copy between memories, its destination
  int64_t calls = 0;                 // per run
  int threads = 1;                   // the largest number
  double us = 0;                     // of all calls of a run, in microseconds: the median over runs
  double flops = 0;                  // of all calls; 0 if unknown
  int64_t bytes = 0;                 // of all calls
  double min_us = 0;                 // of all calls at the ceiling
  double estimate_us = 0;  // the same by the target's description; arrays are where they were in the measured run
  Bound bound = Bound::Unknown;
  double share() const { return us > 0 ? min_us / us : 0; }
};

struct Profile {
  std::vector<KernelProfile> kernels;  // the slowest first
  double us = 0;                       // the median run, and ...
  double kernels_us = 0;               // ... the sum of the rows
  // The rest of the run: waits for threads that other processes held up, and the time between kernels. The rows and
  // this one add up to total_us().
  double waiting_us = 0;
  double total_us() const { return kernels_us + waiting_us; }
  int64_t runs = 0;
  std::vector<runtime::StepTime> last, before;  // the steps of the last run, and of the one before
  // Operations of devices that can tell, in a run that does not wait after each step: copies run beside kernels.
  struct DeviceOperations {
    std::string device;
    std::vector<runtime::DeviceSpan> spans;
  };
  std::vector<DeviceOperations> devices;
};

struct ProfileOptions {
  int threads = 0;
  double seconds = 1;  // of runs, at least three; runs that plan and choose numbers of threads come before
};
Result<Profile> measure_profile(runtime::Executable& executable, const std::vector<runtime::Value>& inputs,
                                const ProfileOptions& options);
// `lowered_steps`: exec::Built::lowered_steps.
void describe(Profile& profile, std::span<const lower::LoweredFunction> segments,
              const std::vector<std::vector<int>>& lowered_steps);
void find_ceilings(Profile& profile, const Ceilings& measured, const Ceilings& described);
// The correlation of the kernels' estimated times with their measured ones. Unset with fewer than three kernels.
std::optional<double> estimate_rank_correlation(const Profile& profile);

// The last run, and one of the devices' operations, for chrome://tracing and ui.perfetto.dev: a JSON list of events
// with times in microseconds.
std::string chrome_trace(const Profile& profile);

}  // namespace relay::measure
