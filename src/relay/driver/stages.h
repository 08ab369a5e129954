// The stages below Relay as text: te, schedule, loops, C, LLVM, assembly, of one group, or of all groups of all
// segments.
//
//   RELAY_ASSIGN(std::string text, stage_text(lowered, target, Stage::Schedule, "fused_nn_conv2d"));
#pragma once

#include <map>
#include <span>

#include "relay/lower/lower.h"

namespace relay::driver {

enum class Stage : uint8_t { Te, Schedule, Loop, C, Llvm, Assembly, Ptx };

// bad_option if the target's kernels are not PTX.
Status check_has_ptx(const TargetDesc& target);

// `which`: a group's or a kernel's name or number; empty for all. An unknown one is a diagnostic that lists them.
Result<std::string> stage_text(std::span<const lower::LoweredFunction> segments, const TargetDesc& target, Stage stage,
                               const std::string& which);

// The schedules in a text, by group, which is a name or a number as text: those of all groups as stage_text() writes
// them, each behind its line "# group 0 fused_nn_dense"; or one without such a line, of group 0.
Result<std::map<std::string, std::string>> schedules_of(const std::string& text);

}  // namespace relay::driver
