// The use of tuning records (cache/tuning_records.h) in compilations, and the JSON that `relay tune` reads.
#pragma once

#include "relay/driver/compile.h"

namespace relay::driver {

// "znver4-1b0c...": the processor, its features and its cache sizes. Records of one machine hold for all that have the
// same name. Measured figures of a calibration do not enter it.
std::string tuning_machine(const TargetDesc& target);

// Reads the records that the options name, unless no_tuned is set, into options.lower.tuned.
Status load_tuning_records(Options& options);

// The choices of every group with their options and estimates, the names of its kernels, and the machine.
std::string tuning_json(const Compiled& compiled);

// The candidates of each group, the default first: estimated time in microseconds on one core, and the decision.
std::string candidates_text(std::span<const lower::LoweredFunction> segments);

}  // namespace relay::driver
