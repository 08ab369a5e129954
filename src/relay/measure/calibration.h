// The figures measured by `relay doctor --calibrate`, kept for this machine next to the cache of compiled models. The
// target "native" then has these figures instead of the described ones.
#pragma once

#include "relay/base/diagnostics.h"
#include "relay/machine/target_desc.h"

namespace relay::measure {

struct Calibration {
  std::string processor, cpu;                      // of the processor: the system's name and LLVM's name
  std::string date;                                // "2026-11-23"
  double ghz = 0;                                  // clock rate while multiply-adds run
  double l2_gbps = 0, l3_gbps = 0, dram_gbps = 0;  // read by one core
  OperationCycles float32_cycles, float64_cycles;
};

struct Calibrated {
  Calibration figures;
  double busy_cores = 0;  // kept busy by others meanwhile
  double spread = 0;      // the largest relative distance of a figure's median below its best sample
};
// Takes a few seconds. Uses the best of several samples for each figure, since machines are shared.
Calibrated calibrate(const TargetDesc& native);

// bad_option if there is no cache folder.
Result<std::string> calibration_file();
Status save(Calibration calibration);

struct SavedCalibration {
  std::optional<Calibration> figures;
  std::string ignored;  // reason why an existing file is ignored: "has no ghz"; "" if there is none or it is used
};
// The calibration of this machine, which `native` describes.
SavedCalibration saved_calibration(const TargetDesc& native);

void apply(Calibration calibration, TargetDesc& target);
// True if the target has the saved figures.
bool is_calibrated(TargetDesc target);

// The name in /proc/cpuinfo: "AMD EPYC".
std::string processor_name();

}  // namespace relay::measure
