// Limits on the work that a few bytes of a file can cause in an import (docs/security.md). They can be changed, by
// name.
#pragma once

#include <map>
#include <string>

#include "relay/base/diagnostics.h"

namespace relay::frontend {

struct ImportLimits {
  int64_t calls = 2'000'000;      // operator calls in the module; networks have thousands
  int64_t nodes = 250'000;        // converted nodes; those of functions and loops count each time
  int64_t constants = 256 << 20;  // bytes that are computed rather than read (ranges, masks)
};

using NamedLimits = std::map<std::string, int64_t>;

// The limits with these values; bad_option for an unknown name, and for a value below 1.
Result<ImportLimits> import_limits(const NamedLimits& named);

// "for a model that you trust, --import-limit calls=N .. allows more": the end of a message's help.
std::string how_to_allow(const char* limit);

}  // namespace relay::frontend
