// An example and a remedy for every kind of diagnostic, as `relay explain` and docs/diagnostics.md show them.
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::driver {

struct Explanation {
  const char* example;  // a Relay program without its version line, or a command line that begins with "$ relay"
  const char* remedy;
};
const Explanation& explain(DiagnosticKind kind);

// A code of a message with everything about it.
struct CodeInfo {
  const char* code;  // "R0302"; P for scripted Python functions
  const char* name;
  const char* sentence;
  const char* example;
  const char* remedy;
};
// The diagnostics of Relay (base/diagnostics.def), then those of scripted functions (script_problems.def).
const std::vector<CodeInfo>& all_codes();

}  // namespace relay::driver
