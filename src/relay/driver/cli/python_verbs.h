// Verbs that are written in Python (python_verbs.def), and how the command line goes on in Python.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "relay/base/diagnostics.h"

namespace relay::cli {

struct PythonVerb {
  const char* name;      // "serve"
  const char* function;  // "relay.serve.__main__:main"
  const char* what;
};
const std::vector<PythonVerb>& python_verbs();

// Adds a subcommand for each, so that help, completion and suggestions know them.
void add_python_verbs(CLI::App& app);

// Replaces this process by `python -m relay` with the arguments from argv[first] on, by an interpreter that has these
// packages. Returns only if that fails. `reason` begins the message: "x.h5 is a Keras model".
Diagnostic continue_in_python(int argc, const char* const* argv, int first, const std::vector<std::string>& packages,
                              const std::string& reason);

}  // namespace relay::cli
