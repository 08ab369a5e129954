// From the text after --target to a description of the machine.
//
//   find_target("native")             this machine, with the figures of its calibration if there is one
//   find_target("zen4,-avx512f")      a processor, without a feature
//   find_target("x86:haswell")        the same with the target named
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::driver {

const std::vector<codegen::TargetDef>& all_targets();
Result<TargetDesc> find_target(std::string_view text);
// True if the text stands for this machine, such as "native,-avx512f".
bool is_native(std::string_view text);

// "zen4, 64-byte vectors, +avx2 +avx512f ...": for the line that names the program and machine of a run. Has only
// features that change kernels.
std::string short_description(const TargetDesc& target);

}  // namespace relay::driver
