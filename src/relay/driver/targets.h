// From what a user writes after --target to a description of the machine.
//
//   find_target("native")             this machine, with the figures of its calibration if there is one
//   find_target("zen4,-avx512f")      a processor, without a feature
//   find_target("x86:haswell")        the same with the target named
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::driver {

const std::vector<codegen::TargetDef>& all_targets();
Result<TargetDesc> find_target(std::string_view text);
// Whether such a text means this machine: "native,-avx512f".
bool is_native(std::string_view text);

// "zen4, 64-byte vectors, +avx2 +avx512f ...": for the line that says what ran where. Only features that change
// kernels.
std::string short_description(const TargetDesc& target);

}  // namespace relay::driver
