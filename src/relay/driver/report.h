// Diagnostics as JSON, for tools and for Python.
//
//   [{"severity": "error", "kind": "constraint", "code": "R0302", "message": "...", "node": null, "file": "net.relay",
//     "line": 3, "column": 14, "labels": [], "notes": ["constraint (C2)"], "help": "", "text": "error[R0302]: ..."}]
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::driver {

std::string json(const Diagnostics& diagnostics);

}  // namespace relay::driver
