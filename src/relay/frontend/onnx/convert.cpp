#include "relay/frontend/onnx/convert.h"

#include "relay/frontend/onnx/importer.h"

namespace relay::onnx {

// --- the table -------------------------------------------------------------------------------------------------------

using Table = std::map<std::string_view, Operator>;

static const Table& operators() {
  constexpr size_t any = Operator::any;
  static const Table table = [] {
    Table operators = {
#define RELAY_ONNX(name, min_inputs, max_inputs, max_outputs) \
  {#name, {#name, min_inputs, max_inputs, max_outputs, "", convert::name}},
#include "relay/frontend/onnx/operators.def"
#undef RELAY_ONNX
    };
#define RELAY_ONNX_ATTRIBUTES(name, names) operators.at(#name).attributes = names;
#include "relay/frontend/onnx/attributes.def"
#undef RELAY_ONNX_ATTRIBUTES
    return operators;
  }();
  return table;
}

// A room of operators that stand with their attributes in one list.
static const Table& microsoft_operators() {
  constexpr size_t any = Operator::any;
  static const Table table = {
#define RELAY_ONNX_MICROSOFT(name, min_inputs, max_inputs, max_outputs, attributes) \
  {#name, {#name, min_inputs, max_inputs, max_outputs, attributes, microsoft::name}},
#include "relay/frontend/onnx/microsoft/operators.def"
#undef RELAY_ONNX_MICROSOFT
  };
  return table;
}

static const Table& ml_operators() {
  constexpr size_t any = Operator::any;
  static const Table table = {
#define RELAY_ONNX_ML(name, min_inputs, max_inputs, max_outputs, attributes) \
  {#name, {#name, min_inputs, max_inputs, max_outputs, attributes, ml::name}},
#include "relay/frontend/onnx/ml/operators.def"
#undef RELAY_ONNX_ML
  };
  return table;
}

static const Table& preview_operators() {
  constexpr size_t any = Operator::any;
  static const Table table = {
#define RELAY_ONNX_PREVIEW(name, min_inputs, max_inputs, max_outputs, attributes) \
  {#name, {#name, min_inputs, max_inputs, max_outputs, attributes, preview::name}},
#include "relay/frontend/onnx/preview/operators.def"
#undef RELAY_ONNX_PREVIEW
  };
  return table;
}

// Null: a domain that nothing is known of.
static const Table* table_of(std::string_view domain) {
  if (domain.empty()) return &operators();
  if (domain == "com.microsoft") return &microsoft_operators();
  if (domain == "ai.onnx.ml") return &ml_operators();
  return domain == "ai.onnx.preview" || domain == "ai.onnx.preview.training" ? &preview_operators() : nullptr;
}

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const Table* table = table_of(domain);
  if (!table) return nullptr;
  auto it = table->find(name);
  return it == table->end() ? nullptr : &it->second;
}

std::vector<std::string> operator_names(std::string_view domain) {
  std::vector<std::string> names;
  if (const Table* table = table_of(domain))
    for (const auto& [name, op] : *table) names.emplace_back(name);
  return names;
}

// --- what ONNX has besides -------------------------------------------------------------------------------------------

Convert::Convert(Importer& importer, const Node& node, std::span<const Value> inputs, int64_t opset, Span place)
    : Conversion(importer, std::move(place), inputs, node.inputs), node(node), opset(opset), importer_(importer) {}

std::optional<AttributeView> Convert::attribute(std::string_view name) const {
  const Attribute* a = node.find(name);
  if (!a) return std::nullopt;
  AttributeView view{kind_name(a->value)};
  if (const int64_t* value = std::get_if<int64_t>(&a->value)) view.value = *value;
  if (const float* value = std::get_if<float>(&a->value)) view.value = static_cast<double>(*value);
  if (const std::string_view* value = std::get_if<std::string_view>(&a->value)) view.value = *value;
  if (const std::vector<int64_t>* value = std::get_if<std::vector<int64_t>>(&a->value))
    view.value = std::span<const int64_t>(*value);
  return view;
}

Tensor Convert::tensor(const TensorData& data) {
  Result<Tensor> value = tensor_value(importer_.model(), data);
  if (value) return *std::move(value);
  report(value.errors(), {});
  return {};
}

const Graph* Convert::graph(std::string_view attribute) {
  const Attribute* a = node.find(attribute);
  const std::shared_ptr<const Graph>* graph = a ? std::get_if<std::shared_ptr<const Graph>>(&a->value) : nullptr;
  if (!graph) {
    bad("it has no graph {}", attribute);
    return nullptr;
  }
  return graph->get();
}

std::optional<Values> Convert::tensors_of(const Graph& graph, const Values& inputs, Scopes::Enter enter) {
  std::optional<Values> outputs = body(graph, inputs, std::move(enter));
  for (size_t i = 0; outputs && i < outputs->size(); ++i)
    if ((*outputs)[i].list)
      return unsupported("output {} of graph '{}' is a sequence whose tensors are not known at import", i, graph.name);
  return outputs;
}

std::optional<Values> Convert::body(const Graph& graph, const Values& inputs, Scopes::Enter enter) {
  if (inputs.size() != graph.inputs.size()) {
    bad("graph '{}' has {}, but is given {}", graph.name,
        plural(static_cast<int64_t>(graph.inputs.size()), "input", "inputs"), inputs.size());
    return std::nullopt;
  }
  std::optional<Values> outputs = importer_.body(graph, inputs, std::move(enter), place());
  if (!outputs) fail();
  for (size_t i = 0; outputs && i < outputs->size(); ++i)
    if ((*outputs)[i].carried)
      return unsupported("output {} of graph '{}' is of {}, of which Relay has bytes and no arithmetic", i, graph.name,
                         element_name((*outputs)[i].carried));
  return outputs;
}

}  // namespace relay::onnx
