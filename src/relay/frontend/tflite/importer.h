// The state of one import of a TFLite model. Converters access it through Convert.
#pragma once

#include "relay/frontend/common/node_fates.h"
#include "relay/frontend/tflite/convert.h"
#include "relay/frontend/tflite/custom_node.h"
#include "relay/frontend/tflite/operators.h"

namespace relay::tflite {

// Importing one model, in the order of its file. The nodes of subgraphs are converted where control flow enters them.
class Importer final : public ConverterHost {
 public:
  Importer(const Model& model, const ImportOptions& options, const CustomConverters& customs)
      : ConverterHost(model.path, options), model_(model), customs_(customs) {}

  // The module; unset if a problem was reported.
  std::optional<ImportedModel> run();
  // The operators of all subgraphs.
  OperatorUses operator_uses() const;

  // --- for Convert ---------------------------------------------------------------------------------------------------
  const Model& model() const override { return model_; }
  std::optional<Values> body(size_t subgraph, const Values& inputs, const Span& place) override;
  size_t variable_number(const std::string& name) override;
  ir::Expr read_variable(size_t number, const TensorEntry& declared, const Span& place) override;
  bool assign_variable(size_t number, const ir::Expr& value, const Span& place) override;
  bool initialise(size_t subgraph, const Span& place) override;
  HashTable& hash_table(int64_t number) override { return tables_[number]; }

 private:
  Span span(const Subgraph& graph, const Node& node) const;
  using ConverterHost::span;

  void report_unsupported_operators();
  // Defines the constants of a subgraph.
  void read_constants(const Subgraph& graph);
  Value weight(const TensorEntry& entry, Tensor tensor, const Span& place);
  // The value before a run of a tensor that keeps its value from run to run.
  Value variable_tensor(const TensorEntry& entry, const Span& place);
  void read_inputs(const Subgraph& graph);
  void convert_nodes(const Subgraph& graph);
  Result<Tensor> constant_value(const TensorEntry& entry);
  // True if the operator can take the texts among a node's inputs.
  bool takes_texts(const Node& node, const Operator& op, const Values& inputs, const Span& place);
  void describe_texts(const Subgraph& graph, ir::DictAttrs& attrs) const;
  Values convert_node(const Subgraph& graph, const Node& node, const Span& place);
  // The results of a node by the user's function (custom.cpp).
  Values convert_custom(const Subgraph& graph, const Node& node, const CustomConverter& function, const Span& place);
  // True if the operator has a form for the node's quantised tensors.
  bool takes_quantized(const Subgraph& graph, const Node& node, const Operator& op, const Span& place);
  bool counts_fit(const Node& node, const Operator& op, const Span& place);
  bool options_fit(const Node& node, const Operator& op, const Span& place);
  void report_undefined(const Subgraph& graph, const Node& node, std::string_view name, const Span& place);
  std::vector<std::string_view> all_values(const Subgraph& graph, std::vector<std::string>& nodes);

  // A variable of the model. `value` is null before it is first read or assigned.
  struct Variable {
    std::string name;
    ir::Expr value;
    std::optional<Tensor> first;  // the value before the first run
    bool is_assigned = false;
  };

  // The names of variables, and the number that all elements of each have before the first run.
  void describe_variables(ir::DictAttrs& attrs);

  const Model& model_;
  const CustomConverters& customs_;
  NodeFates fates_;
  std::deque<Variable> variables_;
  std::map<int64_t, HashTable> tables_;
  // Texts are int64: places in one list, which callers have too (ir/interface_names.h). Equal texts have one place.
  std::vector<std::string> texts_;
  std::map<std::string_view, int64_t> text_places_;
  bool initialising_ = false;
  std::vector<size_t> active_;  // subgraphs whose nodes are being converted, outermost first
};

// The declaration of a tensor, in the terms that all importers share.
frontend::TensorInfo tensor_info(const TensorEntry& entry);

// "CONV_2D #3 that computes 'x'": an operator, its index in its subgraph, its first output.
std::string node_label(const Subgraph& graph, const Node& node);

}  // namespace relay::tflite
