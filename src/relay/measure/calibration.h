// What `relay doctor --calibrate` measured, kept for this machine beside the cache of compiled models: "native" then
// has these figures in place of the described ones.
#pragma once

#include "relay/base/diagnostics.h"
#include "relay/base/target_desc.h"

namespace relay::measure {

struct Calibration {
  std::string processor, cpu;                      // whose figures these are: the system's name of it, and LLVM's
  std::string date;                                // "2026-11-23"
  double ghz = 0;                                  // at which multiply-adds are done
  double l2_gbps = 0, l3_gbps = 0, dram_gbps = 0;  // read by one core
  OperationCycles float32_cycles, float64_cycles;
};

struct Calibrated {
  Calibration figures;
  double busy_cores = 0;  // that others kept busy meanwhile
  double spread = 0;      // the most by which a figure's median was below its best sample, in parts of it
};
// Some seconds. The best of several samples each, since machines are shared.
Calibrated calibrate(const TargetDesc& native);

// bad_option: there is to be no cache folder.
Result<std::string> calibration_file();
Status save(Calibration calibration);

struct SavedCalibration {
  std::optional<Calibration> figures;
  std::string ignored;  // why a file that is there is not used: "has no ghz"; "" where none is there, or it is used
};
// Of this machine, which `native` describes.
SavedCalibration saved_calibration(const TargetDesc& native);

void apply(Calibration calibration, TargetDesc& target);
// True if the target has the figures that are saved.
bool is_calibrated(TargetDesc target);

// As /proc/cpuinfo has it: "AMD EPYC".
std::string processor_name();

}  // namespace relay::measure
