#include "relay/frontend/onnx/convert.h"

#include <algorithm>

namespace relay::onnx {

using ir::Expr;

// --- additions of ONNX -----------------------------------------------------------------------------------------------

Convert::Convert(ConverterHost& host, const Node& node, std::span<const Value> inputs, int64_t opset, Span place)
    : Conversion(host, std::move(place), inputs, node.inputs), node(node), opset(opset), host_(host) {}

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

Tensor Convert::tensor(const SparseData& data) { return taken(host_.dense(data)); }
Tensor Convert::tensor(const TensorData& data) { return taken(host_.tensor(data)); }

Tensor Convert::taken(Result<Tensor> value) {
  if (value) return *std::move(value);
  report(value.errors(), {});
  return {};
}

int64_t Convert::code(std::string_view text) { return host_.strings().code(text); }

Tensor Convert::codes(const std::vector<std::string_view>& strings) { return host_.strings().codes(strings); }

Value Convert::strings(Expr codes) {
  Value value(std::move(codes));
  value.carried = static_cast<int32_t>(ElementType::String);
  return value;
}

Values Convert::as_onnx(Values (*converter)(Convert&), int64_t version, const Values& inputs) {
  Convert other(host_, node, inputs, version, place());
  Values results = converter(other);
  if (other.failed()) fail();
  return failed() ? Values() : std::move(results);
}

Values Convert::all_values() const {
  Values all;
  for (size_t i = 0; i < inputs(); ++i) all.push_back(value(i));
  return all;
}

std::optional<Value> Convert::recomputed(std::string_view name, const std::map<std::string_view, Value>& given) {
  std::optional<Value> value = host_.recomputed(node, name, given, place());
  if (!value) fail();
  return value;
}

Expr Convert::constructor(std::string_view name) {
  for (const auto& [type, definition] : host_.prelude().types)
    for (const Ref<const ir::Constructor>& c : definition.constructors)
      if (c->name == name) return c;
  return nullptr;
}

Expr Convert::prelude_function(const char* name) {
  host_.prelude();
  return ir::global(name, place());
}

void Convert::report_all(Diagnostics problems) {
  fail();
  for (Diagnostic& d : problems) host_.report(std::move(d));
}

bool Convert::attempt(function_ref<bool()> f) {
  const bool good = host_.attempt(f) && !failed();
  clear_failure();
  return good;
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

std::optional<Values> Convert::tensors_of(const Graph& graph, const Values& inputs, Scopes::Enter enter, bool strings) {
  std::optional<Values> outputs = body(graph, inputs, std::move(enter));
  for (size_t i = 0; outputs && i < outputs->size(); ++i) {
    const Value& v = (*outputs)[i];
    if (v.none)
      unsupported("output {} of graph '{}' is an absent optional value", i, graph.name);
    else if (v.list)
      unsupported("output {} of graph '{}' is a sequence whose tensors are not known at import", i, graph.name);
    else if (v.carried && !strings)
      unsupported("output {} of graph '{}' has elements of {}, for which Relay has no arithmetic", i, graph.name,
                  element_name(v.carried));
  }
  return failed() ? std::nullopt : outputs;
}

std::optional<Values> Convert::branch(const Graph& graph, Diagnostics* contradictions) {
  if (failed()) return std::nullopt;
  std::optional<Values> outputs;
  Diagnostics problems = host_.problems_of([&] { outputs = body(graph, {}); });
  const bool only_sizes = std::all_of(problems.begin(), problems.end(), [](const Diagnostic& d) {
    return d.kind == DiagnosticKind::bad_model || d.kind == DiagnosticKind::constraint;
  });
  if (!problems.empty() && only_sizes && !host_.options().shapes.empty()) {
    clear_failure();
    *contradictions = std::move(problems);
    return std::nullopt;
  }
  for (Diagnostic& d : problems) host_.report(std::move(d));
  return outputs;
}

std::string Convert::given_shapes() const {
  std::vector<std::string> all;
  for (const auto& [name, shape] : host_.options().shapes) all.push_back(format("{} is ({})", name, join(shape, ", ")));
  return format("{}", join(all, ", "));
}

std::optional<Values> Convert::body(const Graph& graph, const Values& inputs, Scopes::Enter enter) {
  if (inputs.size() != graph.inputs.size()) {
    bad("graph '{}' has {}, but is given {}", graph.name,
        plural(static_cast<int64_t>(graph.inputs.size()), "input", "inputs"), inputs.size());
    return std::nullopt;
  }
  std::optional<Values> outputs;
  host_.conditionally([&] { outputs = host_.body(graph, inputs, std::move(enter), place()); });
  if (!outputs) fail();
  return outputs;
}

}  // namespace relay::onnx
