// The interface of converters. A converter turns one TFLite operator into Relay expressions:
//
//   // LEAKY_RELU: x where x >= 0, alpha * x elsewhere.
//   Values LEAKY_RELU(Convert& c) {
//     return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("alpha", 0)}})};
//   }
//
// It is named after the operator, is in the file of its family and has one line in operators.def. Its argument is a
// Conversion (frontend/common/conversion.h) with the additions below. Attributes are the fields of the operator's
// options, all of which have a value.
#pragma once

#include "relay/frontend/common/conversion.h"
#include "relay/frontend/tflite/model.h"

namespace relay::tflite {

using namespace frontend;  // shared by importers

// Keys, in ascending order, and their values: tensors of one axis; unset until they are known. Texts are their numbers.
struct HashTable {
  Tensor keys, values;
};

// The services of an import that its converters use (importer.h).
class ConverterHost : public ImportState {
 public:
  using ImportState::ImportState;

  // Converts the nodes of a subgraph in a new scope in which no outer name is visible. Returns its outputs in order;
  // unset if one failed.
  virtual std::optional<Values> body(size_t subgraph, const Values& inputs, const Span& place) = 0;
  virtual const Model& model() const = 0;
  // The number of a variable, by its name.
  virtual size_t variable_number(const std::string& name) = 0;
  // Null, reported, if a variable cannot be read or assigned at this place.
  virtual ir::Expr read_variable(size_t number, const TensorEntry& declared, const Span& place) = 0;
  virtual bool assign_variable(size_t number, const ir::Expr& value, const Span& place) = 0;
  // body() of a subgraph whose assignments are the first values of variables.
  virtual bool initialise(size_t subgraph, const Span& place) = 0;
  // A table that looks keys up, by its number in the model.
  virtual HashTable& hash_table(int64_t number) = 0;
};

class Convert final : public Conversion {
 public:
  Convert(ConverterHost& host, const Subgraph& graph, const Node& node, std::span<const Value> inputs, Span place)
      : Conversion(host, std::move(place), inputs, node.input_names), node(node), host_(host), graph_(graph) {}

  const Node& node;
  const Model& model() const { return host_.model(); }

  // The declarations of a present input and of an output, which the node must have.
  const TensorEntry& input_entry(size_t i) const { return graph_.tensors[static_cast<size_t>(node.inputs[i])]; }
  const TensorEntry& output_entry(size_t i) const { return graph_.tensors[static_cast<size_t>(node.outputs[i])]; }
  // That of an array inside the node, which it must have.
  const TensorEntry& intermediate_entry(size_t i) const {
    return graph_.tensors[static_cast<size_t>(node.intermediates[i])];
  }
  bool is_quantized_input(size_t i) const { return has(i) && input_entry(i).is_quantized(); }
  bool is_quantized_output() const { return !node.outputs.empty() && output_entry(0).is_quantized(); }

  // ints() of places in an axis: numbers beyond every axis are cut to +-2^40, so that sums of two do not overflow.
  std::optional<ir::Ints> places(size_t i, const char* what);
  bool flag(std::string_view name) { return integer(name, 0) != 0; }
  std::vector<double> floats(std::string_view name) const;  // an option; empty if it has none
  // The real result of a node with its fused activation.
  ir::Expr activated(const ir::Expr& e);
  // The element type of a number of TensorType in an attribute; unset, reported, if Relay has no tensors of it.
  std::optional<DType> type_attribute(std::string_view name);

  HashTable& hash_table(int64_t number) { return host_.hash_table(number); }
  size_t variable_number(const std::string& name) { return host_.variable_number(name); }
  ir::Expr read_variable(size_t number, const TensorEntry& declared);
  void assign_variable(size_t number, const ir::Expr& value);
  // The subgraph whose index is an attribute gives variables their first values.
  void initialise(std::string_view attribute);
  // The value of input i, a tensor that keeps its value from run to run, at this node, and its new value after it.
  ir::Expr state(size_t i);
  void set_state(size_t i, const ir::Expr& value);

  // body() of a subgraph whose index is an attribute. Unset if a problem was reported.
  std::optional<Values> body(std::string_view attribute, const Values& inputs);
  std::optional<Values> body(int64_t index, const Values& inputs);

 private:
  std::optional<AttributeView> attribute(std::string_view name) const override;
  // A subgraph; null, reported, if there is none or it has another number of inputs.
  const Subgraph* subgraph(int64_t index, size_t inputs);

  ConverterHost& host_;
  const Subgraph& graph_;
};

}  // namespace relay::tflite
