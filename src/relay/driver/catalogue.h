// For every kind of diagnostic an example and the way out: what `relay explain` and docs/diagnostics.md show.
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::driver {

struct Explanation {
  const char* example;  // a Relay program without its version line, or a command line that begins with "$ relay"
  const char* remedy;
};
const Explanation& explain(DiagnosticKind kind);

}  // namespace relay::driver
