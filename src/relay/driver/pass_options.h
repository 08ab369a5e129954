// The options of passes for a compilation.
#pragma once

#include <map>
#include <string>

#include "relay/driver/options.h"

namespace relay::driver {

// Returns the options of the pipeline, and those that depend on the target.
std::map<std::string, ir::AttrValue> pass_options(const Options& options);

// States that the precision asked for is not faster on the target; empty if it may be.
std::string precision_note(const Options& options);

}  // namespace relay::driver
