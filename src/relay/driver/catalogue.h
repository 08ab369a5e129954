// An example and a remedy for every kind of diagnostic, as `relay explain` and docs/diagnostics.md show them.
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::driver {

struct Explanation {
  const char* example;  // a Relay program without its version line, or a command line that begins with "$ relay"
  const char* remedy;
};
const Explanation& explain(DiagnosticKind kind);

}  // namespace relay::driver
