// Two builds of a model, profiled in turn, so that other load on the machine affects both.
//
//   RELAY_ASSIGN(TurnProfiles profiles, profile_in_turn(*a, *b, inputs, {.seconds = 2}));
//
// A round is a burst of each build, in an order that alternates. The first run of a burst is not counted: it finds the
// caches as the other build has left them. The fastest of the other runs counts, since those that another process
// interrupts say nothing about the build.
#pragma once

#include <map>

#include "relay/measure/profile.h"

namespace relay::measure {

// The fastest run of each round, in microseconds.
struct TurnProfile {
  std::vector<double> us;                              // of whole runs
  std::map<std::string, std::vector<double>> kernels;  // of all calls of a kernel in a run, by name
};

struct TurnProfiles {
  TurnProfile first, second;
  double largest_difference = 0;  // between their results, relative to the largest value; infinite for other shapes
};

// Both must take `inputs`. At least three rounds; options.seconds in total.
Result<TurnProfiles> profile_in_turn(runtime::Executable& first, runtime::Executable& second,
                                     const std::vector<runtime::Value>& inputs, const ProfileOptions& options);

}  // namespace relay::measure
