// A compilation as JSON: its modules by pass, kernels, texts and figures, for the explorer and other tools. The page
// docs/compilation-json.md describes the form. Weights are never a part of it.
//
//   Recording recording;
//   options.trace = [&](const transform::PassTrace& trace) { recording.see(trace); };
//   RELAY_ASSIGN(Compiled compiled, compile(module, options));
//   RELAY_ASSIGN(CompilationJson json, compilation_json({.model = "net.onnx", .recording = recording, .compiled =
//                                                        compiled}));
#pragma once

#include <string>

#include "relay/driver/compile.h"
#include "relay/driver/group_errors.h"
#include "relay/driver/recording.h"
#include "relay/measure/profile.h"

namespace relay::driver {

constexpr int compilation_json_version = 1;

struct CompilationJsonOf {
  std::string model;  // its name
  const Recording& recording;
  const Compiled& compiled;
  const measure::Profile* profile = nullptr;  // of a run, with operations and ceilings; null if it was not measured
  const GroupErrors* errors = nullptr;        // of a run's values; null if they were not compared
  bool texts = true;                          // tensor expressions, schedules, loops, C and assembly
};

struct CompilationJson {
  std::string graph;        // an object
  std::string texts;        // the object of the key "texts"; apart because it is large and most of it is never read
  std::string all() const;  // one object
};

Result<CompilationJson> compilation_json(const CompilationJsonOf& of);

}  // namespace relay::driver
