// The state of one import of an ONNX model. Converters access it through Convert.
#pragma once

#include "relay/frontend/common/node_fates.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

inline constexpr int64_t newest_opset = 28;
// About two are published per year: a larger number is damaged, rather than a model of a few years later.
inline constexpr int64_t newest_possible = newest_opset + 20;

class Importer final : public ConverterHost {
 public:
  Importer(const Model& model, const ImportOptions& options) : ConverterHost(model.path, options), model_(model) {}

  // The module; unset if a problem was reported.
  std::optional<ImportedModel> run();
  // The operators of the model, including those of graphs inside nodes.
  OperatorUses operator_uses() const;

  // --- for Convert ---------------------------------------------------------------------------------------------------
  Strings& strings() override { return strings_; }
  const ir::Module& prelude() override;
  Result<Tensor> tensor(const TensorData& data) override;
  Result<Tensor> dense(const SparseData& data) override;
  std::optional<Value> recomputed(const Node& node, std::string_view name,
                                  const std::map<std::string_view, Value>& given, const Span& place) override;
  std::optional<Values> body(const Graph& graph, const Values& inputs, Scopes::Enter enter, const Span& place) override;

 private:
  // A call of one of the model's functions, while its nodes are converted.
  struct Frame {
    const Function* function;
    std::map<std::string_view, Attribute> attributes;
    std::set<std::string_view> absent;  // inputs that the call omits
  };

  // A graph that a call passes to a function. Its names and frames are those at the place of the call.
  struct Passed {
    size_t frames;
    std::map<std::string_view, Value> names;  // from outside of the graph
  };

  void check_versions(const Span& place);
  void report_unsupported_operators();
  void read_inputs(const Graph& graph);
  void read_initializers(const Graph& graph);
  // An initialiser, as a constant or as a parameter.
  Value weight(std::string_view name, Tensor tensor, const Span& place);
  void convert_nodes(const Graph& graph);
  // The names of all tensors that the graph's nodes compute, and the nodes.
  std::vector<std::string_view> all_values(const Graph& graph, std::vector<std::string>& nodes);
  Values defined_inputs(const Node& node);
  // True if the operator supports inputs of element types that are carried as bytes.
  bool takes_elements(const Node& node, const Values& inputs, const Span& place);
  bool counts_fit(const Node& node, const Operator& op, const Span& place);
  // Fills in missing results of a failed node, with the types that the model declares.
  void stand_in_for_failed(const Node& node, Values& results, const Span& place);
  Values convert_node(const Graph& graph, size_t index, const Span& place);
  // For inputs that are maps: the size of the vocabulary of the node that reads them.
  std::map<std::string_view, DimInfo> map_widths(const Graph& graph) const;
  // Calls f with every node of the model, including those in graphs inside nodes and, once, those of functions that are
  // called.
  using Opsets = std::map<std::string_view, int64_t>;
  void for_each_node(function_ref<void(const Node&, const Opsets&)> f) const;
  // Adds the attributes of @main that describe strings, if the model has any.
  void describe_strings(const Graph& graph, const Values& results, ir::DictAttrs& attrs) const;
  // The node with its call's attributes and inputs substituted; null if a problem was reported.
  const Node* resolved(const Node& node, Node& copy, const Span& place);
  Values expand(const Function& function, const Node& node, const Values& inputs, const Span& place);
  // Keeps the values that the graphs of a call use from its place. Returns the graphs that were not known before.
  std::vector<const Graph*> pass_graphs(const Node& call);
  std::optional<Values> own_body(const Graph& graph, const Values& inputs, const Span& place);
  bool enter(const Function& function, const Node& node, const Values& inputs, const Span& place);
  void report_undefined(const Graph& graph, size_t node, std::string_view name);
  using ImportState::span;
  Span span(const Node& node) const;
  int64_t opset(std::string_view domain, int64_t otherwise) const;

  const Model& model_;
  ir::Module prelude_;
  Strings strings_;
  NodeFates fates_;
  std::vector<Frame> frames_;  // innermost last
  std::map<const Graph*, Passed> passed_;
  std::vector<const Graph*> graphs_;                       // graphs whose nodes are being converted, innermost last
  std::map<std::string_view, const ValueInfo*> declared_;  // the model's declarations of its values, filled in once a
                                                           // node failed
  int depth_ = 0;                                          // of graphs and functions
};

inline bool is_graph(const Attribute& a) { return std::holds_alternative<std::shared_ptr<const Graph>>(a.value); }

// "Conv 'conv_17'"
std::string node_label(const Node& node);

}  // namespace relay::onnx
