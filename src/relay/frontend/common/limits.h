// Limits on what few bytes of a file can ask of an import (docs/security.md): they can be given other values, by name.
#pragma once

#include <map>
#include <string>

#include "relay/base/diagnostics.h"

namespace relay::frontend {

struct ImportLimits {
  int64_t calls = 2'000'000;      // of operators, that the module has; networks have thousands
  int64_t nodes = 250'000;        // that are converted, those of functions and loops each time
  int64_t constants = 256 << 20;  // bytes that are computed rather than read (ranges, masks)
};

using NamedLimits = std::map<std::string, int64_t>;

// The limits with these values; bad_option for a name that none has, and for a value below 1.
Result<ImportLimits> import_limits(const NamedLimits& named);

// "for a model that you trust, --import-limit calls=N .. allows more": the end of a message's help.
std::string how_to_allow(const char* limit);

}  // namespace relay::frontend
