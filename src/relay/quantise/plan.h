// The plan of a quantisation: settings for all layers, rules for some, and the layers with their choices. It is written
// as a JSON file, edited, and read again; docs/quantisation.md describes the file.
//
//   {"settings": {"bits": 8, "calibration": "maximum"},
//    "rules": [{"op": "nn.dense", "integer": false}, {"layer": "main/conv2d_*", "weight_bits": 4}],
//    "layers": [{"layer": "main/conv2d_0", "integer": true, "ranges": [[-1.5, 3.25], null]}]}
//
// A layer follows the settings, then each rule that matches it, in order, then its own entry.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/quantise/calibration.h"
#include "relay/transform/quantise/layers.h"

namespace relay::quantise {

constexpr int most_bits = 16, most_weight_bits = 8;

// Unset fields follow the level above.
struct Choice {
  std::optional<bool> integer{};
  std::optional<int> bits{}, weight_bits{};  // 2 to most_bits, 2 to most_weight_bits
  std::optional<bool> symmetric{};           // of values that are computed; weights always are
  std::optional<bool> per_channel{};         // a scale for each output channel of a weight
  std::optional<bool> weights_only{};        // computes in floats, and stores weights as integers
  std::optional<int> group{};                // with weights_only: weights of a row that share a scale; 0: all of them
  std::optional<std::string> calibration{};  // a name in calibrations.def
  std::optional<double> percentile{};        // of the calibration of this name, above 50 and at most 100
  std::optional<double> smooth{};            // the part of magnitudes that moves from data into weights, 0 to 1
  std::optional<bool> compensate{};          // errors of rounded weights are compensated by the next ones of the row
};

struct Rule {
  std::string layer = "*", op = "*";  // patterns: * stands for any text; `layer` is of the name or the place
  Choice choice{};
};

struct LayerPlan {
  std::string layer;
  Choice choice{};
  std::vector<std::optional<Range>> ranges{};  // by operand; unset: a weight, or to be calibrated
  std::string op{}, place{}, reason{};         // for the reader of the file
};

struct Plan {
  Choice settings{};
  std::vector<Rule> rules{};
  std::vector<LayerPlan> layers{};
};

// All choices made.
struct LayerChoice {
  bool integer = true;
  int bits = 8, weight_bits = 8;
  int group = 0;  // unless chosen: 32 for weights of at most 4 bits, which one scale for a row would make too coarse
  bool symmetric = false, per_channel = true, weights_only = false;
  std::string calibration = "maximum";
  double percentile = 99.99;
  double smooth = 0;        // 0 unless the layer is a product with a weight of rank 2
  bool compensate = false;  // false unless it is one
  std::vector<std::optional<Range>> ranges{};
  std::string reason{};  // why it stays float, in the words of the plan; empty if it does not
};
LayerChoice choice_for(const Plan& plan, const transform::Layer& layer);

// Diagnoses unknown fields, values out of range, and ranges that are not finite or not in order. `name`: of the file.
Result<Plan> parse_plan(const std::string& text, const std::string& name);
std::string str(const Plan& plan);
// Checks that every entry and rule of the plan matches a layer.
Status check_plan(const Plan& plan, const std::vector<transform::Layer>& layers, const std::string& name);
// True if the rule is for the layer.
bool matches(const Rule& rule, const transform::Layer& layer);

}  // namespace relay::quantise
