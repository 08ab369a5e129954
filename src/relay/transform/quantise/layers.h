// The layers of a program that may be computed on integers.
//
//   std::vector<Layer> layers = find_layers(module);          "main/conv2d_0", "main/dense_0", ...
//
// Contractions (nn.conv2d, nn.dense, ...) are layers. An addition, product, concatenation or average between them is
// one if integer layers compute its operands and read its result: its operands are then stored as integers. Operators
// that only move or compare values (nn.relu, reshape, ...) belong to the layer before them.
#pragma once

#include <string>
#include <vector>

#include "relay/ir/expr.h"

namespace relay::transform {

// The operands of a layer with a weight.
constexpr size_t data_operand = 0, weight_operand = 1;

struct Layer {
  std::string name;      // unique in the module: function, operator, and number of its calls before this one
  std::string function;  // that contains it
  std::string op;
  ir::Expr call;                   // typed
  std::vector<ir::Expr> operands;  // that are quantised; those of a tuple for a concatenation
  std::vector<size_t> weights;     // positions of constant operands
  std::string reason;              // the reason why it has no integer form; empty if it has one
  bool integer = false;            // true if it is computed on integers
  bool is_contraction() const;     // false for layers between contractions
  bool is_weight(size_t operand) const;
  // The axis of a weight along which scales may vary; -1 if one scale serves all of it.
  int64_t weight_axis(size_t operand) const;
  // The axis of the sum in the weight of a product of rank 2; -1 for other layers.
  int64_t summed_axis(size_t operand) const;
};

// All layers, functions by name and each in the order of evaluation. `stays_float` is asked for layers with an integer
// form. Layers for which it is true are not integer, nor are additions (and so on) that would have read their integers.
// The module is typed and in graph normal form.
std::vector<Layer> find_layers(const ir::Module& module, function_ref<bool(const Layer&)> stays_float);

// Replaces each operand of an integer layer. `replacement(layer, operand, now)` returns the new operand; `now` is the
// operand with its own operands replaced. The result is untyped.
ir::Module replace_operands(
    const ir::Module& module, const std::vector<Layer>& layers,
    function_ref<ir::Expr(const Layer& layer, size_t operand, const ir::Expr& now)> replacement);
// The module whose layers have their names as their places, so that kernels are reported under them.
ir::Module with_names_as_places(const ir::Module& module, const std::vector<Layer>& layers);

}  // namespace relay::transform
