// The command line. Every verb is a file that adds its subcommand; see `relay --help`.
//
// Conventions of every verb: results go to stdout, messages to stderr, in lines that start with "relay:"; the last of
// them names the program and the machine that ran it. Errors are rendered on stderr and make the exit status 1 (2 for a
// command line that cannot be parsed).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "relay/driver/cli/terminal.h"

namespace relay::driver {
struct Options;
}  // namespace relay::driver

namespace relay::cli {

// Plants a fault for `relay verify` and `relay bisect` to find (test/tools/planted_faults.cpp).
using PlantFault = std::function<void(driver::Options&)>;

// The whole program: parses, runs and returns the exit status. Also called by `python -m relay`.
int run_command_line(int argc, const char* const* argv, const PlantFault& plant_fault = {});

// The action of the selected subcommand.
struct SelectedVerb {
  std::function<Status()> run;
  int failure = 1;      // the exit status if it fails
  std::string program;  // argv[0]
  PlantFault plant_fault;
};

#define RELAY_VERB(name) void add_##name(CLI::App& app, SelectedVerb& selected);
#include "relay/driver/cli/verbs.def"
#undef RELAY_VERB

// Adds a subcommand with its help; `examples` are shown at the end of --help, one per line.
CLI::App* add_verb(CLI::App& app, const char* name, const char* what, const char* examples);

// Milliseconds as text: "0.42 ms", "310 ms", "2.4 s".
std::string milliseconds(double ms);

}  // namespace relay::cli
