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
  if (const std::vector<int64_t>* list = std::get_if<std::vector<int64_t>>(&value))
    return AttributeView{"ints", std::span<const int64_t>(*list)};
  return AttributeView{"floats"};
}

std::vector<double> Convert::floats(std::string_view name) const {
  auto found = node.options.find(name);
  const std::vector<double>* list =
      found == node.options.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  return list ? *list : std::vector<double>();
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

const Subgraph* Convert::subgraph(int64_t index, size_t inputs) {
  const std::vector<Subgraph>& all = host_.model().subgraphs;
  if (index < 0 || index >= std::ssize(all)) {
    bad("it enters subgraph {}, but the model has {}", index, plural(std::ssize(all), "subgraph", "subgraphs"));
    return nullptr;
  }
  const Subgraph& graph = all[static_cast<size_t>(index)];
  if (graph.inputs.size() == inputs) return &graph;
  bad("subgraph {} ('{}') has {}, but is given {}", index, graph.name,
      plural(std::ssize(graph.inputs), "input", "inputs"), inputs);
  return nullptr;
}

std::optional<Values> Convert::body(std::string_view attribute, const Values& inputs) {
  return body(integer(attribute, -1), inputs);
}

std::optional<Values> Convert::body(int64_t index, const Values& inputs) {
  const Subgraph* graph = subgraph(index, inputs.size());
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

Expr Convert::state(size_t i) {
  if (!has(i)) return bad("input {}, which has the state, is absent", i);
  const TensorEntry& entry = input_entry(i);
  if (!entry.is_variable) return bad("input {} ('{}') is not a variable tensor", i, entry.name);
  return read_variable(variable_number(std::string(entry.name)), entry);
}

void Convert::set_state(size_t i, const Expr& value) {
  if (value) assign_variable(variable_number(std::string(input_entry(i).name)), value);
}

void Convert::initialise(std::string_view name) {
  const Subgraph* graph = subgraph(integer(name, -1), 0);
  if (graph && !host_.initialise(graph->index, place())) fail();
}

}  // namespace relay::tflite
