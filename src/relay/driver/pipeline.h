// The default pipelines: which passes a program goes through at each optimisation level.
//
//   O0  as written, one kernel an operator: the first thing to compare with when an answer looks wrong
//   O1  fused, nothing rewritten
//   O2  the default: every rewrite that keeps the answer within rounding
//   O3  O2, and what costs more time to compile
#pragma once

#include "relay/transform/pass.h"

namespace relay::driver {

constexpr int default_opt_level = 2, max_opt_level = 3;

// What batch_norm and dropout mean.
enum class Mode : uint8_t {
  Inference,  // statistics that are given; nothing is dropped
  Training,   // statistics and masks of the batch (training_forms)
};
const char* name(Mode mode);  // "inference", "training"
Result<Mode> find_mode(const std::string& name);

struct Pipeline {
  std::vector<std::string> passes;
  std::map<std::string, ir::AttrValue> options;  // of passes
};
// 0 <= level <= max_opt_level
Pipeline pipeline(int level, Mode mode = Mode::Inference);

// What a program with control flow, functions or data goes through after them: from Relay to what exec/ makes code of.
const std::vector<std::string>& program_passes();

}  // namespace relay::driver
