// Lowered functions as segments of a program.
#pragma once

#include "relay/exec/build_options.h"
#include "relay/exec/parts.h"
#include "relay/lower/plan/function.h"

namespace relay::exec {

Result<runtime::Segment> write_segment(const lower::LoweredFunction& lowered, const BuildOptions& options,
                                       Parts& parts);

}  // namespace relay::exec
