// quantise(): turns a float program into one that computes on integers, where these are faster.
//
//   RELAY_ASSIGN(Quantised made, quantise(module, samples, {.compilation = options}));
//   made.module, made.plan, str(made.report)
//
// The float program runs on the samples while an observer counts the values that its layers read. Calibration chooses a
// range for each (quantise/calibration.h), annotate() puts layers between quantisation and dequantisation, and
// fake_quantization_to_integer makes integer operators of them.
#pragma once

#include <functional>

#include "relay/driver/quantise/report.h"
#include "relay/driver/quantise/runs.h"
#include "relay/quantise/plan.h"

namespace relay::driver {

enum class KeepFloat : uint8_t {
  Auto,   // measures both forms of each layer, and keeps float where integers are not faster
  Never,  // computes every layer on integers that has an integer form
};

struct QuantiseOptions {
  Options compilation{};
  quantise::Plan plan{};
  std::string plan_name = "the plan";  // for messages
  KeepFloat keep_float = KeepFloat::Auto;
  bool simulate = false;              // returns the annotated program, which computes in floats
  bool sensitivity = false;           // measures the error that each layer adds alone
  std::optional<double> max_error{};  // with sensitivity: keeps as few layers float as this error needs
  std::optional<double> max_drop{};   // the same for the loss of accuracy, 0.01 for one percent; needs labels
  double seconds = 1;                 // of each measurement of time; 0 measures nothing
  std::vector<Tensor> labels{};       // one tensor for each sample: classes, for the accuracy; empty if unknown
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

struct Quantised {
  ir::Module module;
  quantise::Plan plan;  // the settings and rules that were given, and all layers with their choices and ranges
  QuantiseReport report;
};

// The program in the form whose layers are quantised: normalisation is folded into weights, and weights that functions
// pass on are constants where they are used.
Result<ir::Module> prepare_quantisation(const ir::Module& module);

// Every sample must contain a value of the right type for each input. Samples may be empty if the plan has all ranges.
Result<Quantised> quantise(const ir::Module& module, const Samples& samples, const QuantiseOptions& options);

}  // namespace relay::driver
