#include "relay/frontend/tflite/convert.h"

#include <algorithm>

namespace relay::tflite {

using ir::Expr;

std::optional<AttributeView> Convert::attribute(std::string_view name) const {
  auto found = node.options.find(name);
  if (found == node.options.end()) return std::nullopt;
  const OptionValue& value = found->second;
  if (const int64_t* i = std::get_if<int64_t>(&value)) return AttributeView{"int", *i};
  if (const double* d = std::get_if<double>(&value)) return AttributeView{"float", *d};
  if (const std::string_view* s = std::get_if<std::string_view>(&value)) return AttributeView{"string", *s};
  return AttributeView{"ints", std::span<const int64_t>(std::get<std::vector<int64_t>>(value))};
}

std::optional<ir::Ints> Convert::places(size_t i, const char* what) {
  constexpr int64_t most = int64_t{1} << 40;
  std::optional<ir::Ints> values = ints(i, what);
  for (size_t k = 0; values && k < values->size(); ++k) (*values)[k] = std::clamp((*values)[k], -most, most);
  return values;
}

// Numbers of the schema's ActivationFunctionType.
Expr Convert::activated(const Expr& e) {
  switch (integer("fused_activation_function", 0)) {
    case 0: return e;
    case 1: return emit("nn.relu", {e});
    case 2: return emit("clip", {e}, {{"a_min", -1.0}, {"a_max", 1.0}});
    case 3: return emit("clip", {e}, {{"a_min", 0.0}, {"a_max", 6.0}});
    case 4: return emit("tanh", {e});
    case 5: return unsupported("the fused activation SIGN_BIT");
    default: return bad("the fused activation is number {}", integer("fused_activation_function", 0));
  }
}

std::optional<DType> Convert::type_attribute(std::string_view name) {
  const int64_t type = integer(name, 0);
  if (std::optional<DType> dtype = type_dtype(type)) return dtype;
  return unsupported("{} is {}, which Relay has no tensors of", name, type_name(type));
}

const Subgraph* Convert::subgraph(std::string_view name, size_t inputs) {
  const int64_t index = integer(name, -1);
  const std::vector<Subgraph>& all = host_.model().subgraphs;
  if (index < 0 || index >= std::ssize(all)) {
    bad("{} is {}, but the model has {}", name, index, plural(std::ssize(all), "subgraph", "subgraphs"));
    return nullptr;
  }
  const Subgraph& graph = all[static_cast<size_t>(index)];
  if (graph.inputs.size() == inputs) return &graph;
  bad("subgraph {} ('{}') has {}, but is given {}", index, graph.name,
      plural(std::ssize(graph.inputs), "input", "inputs"), inputs);
  return nullptr;
}

std::optional<Values> Convert::body(std::string_view name, const Values& inputs) {
  const Subgraph* graph = subgraph(name, inputs.size());
  if (!graph) return std::nullopt;
  std::optional<Values> outputs;
  host_.conditionally([&] { outputs = host_.body(graph->index, inputs, place()); });
  if (!outputs) fail();
  return outputs;
}

// --- variables -------------------------------------------------------------------------------------------------------

Expr Convert::read_variable(size_t number, const TensorEntry& declared) {
  Expr value = host_.read_variable(number, declared, place());
  if (!value) fail();
  return value;
}

void Convert::assign_variable(size_t number, const Expr& value) {
  if (!host_.assign_variable(number, value, place())) fail();
}

void Convert::initialise(std::string_view name) {
  const Subgraph* graph = subgraph(name, 0);
  if (graph && !host_.initialise(graph->index, place())) fail();
}

}  // namespace relay::tflite
