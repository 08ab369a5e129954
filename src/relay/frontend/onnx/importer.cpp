#include "relay/frontend/onnx/importer.h"

#include <algorithm>

#include "relay/frontend/common/emit.h"

namespace relay::onnx {

static constexpr int64_t newest_opset = 25;

std::string node_label(const Node& node) {
  std::string op = node.domain.empty() ? std::string(node.op) : format("{}.{}", node.domain, node.op);
  if (!node.name.empty()) return format("{} '{}'", op, node.name);
  for (std::string_view output : node.outputs)
    if (!output.empty()) return format("{} that makes '{}'", op, output);
  return op;
}

Span Importer::span(const Node& node) const { return span(node_label(node)); }

int64_t Importer::opset(std::string_view domain, int64_t otherwise) const {
  auto found = model_.opsets.find(domain);
  return found == model_.opsets.end() ? otherwise : found->second;
}

static TensorInfo tensor_info(const ValueInfo& info) {
  return {.name = info.name,
          .is_tensor = info.is_tensor,
          .dtype = element_dtype(info.type),
          .element = info.type == static_cast<int32_t>(ElementType::Undefined) ? "" : element_name(info.type),
          .shape = info.shape};
}

static std::vector<std::string_view> output_names(const Graph& graph) {
  std::vector<std::string_view> names;
  for (const ValueInfo& info : graph.outputs) names.push_back(info.name);
  return names;
}

void Importer::report_unsupported_operators() {
  report_missing(operator_uses(), "opset", [](std::string_view domain, std::string_view op, Diagnostic& d) {
    if (std::optional<std::string> near = domain.empty() ? nearest(op, operator_names()) : std::nullopt)
      d.notes.push_back(format("there is an operator {}", *near));
    d.help = domain.empty()
                 ? "docs/add-an-onnx-operator.md shows how to add it: one function and one line"
                 : "export the model with ONNX's own operators, or add a converter (docs/add-an-onnx-operator.md)";
  });
}

void Importer::check_versions(const Span& place) {
  if (model_.opsets.find("") == model_.opsets.end() && model_.ir_version >= 3)
    report({DiagnosticKind::bad_model,
            "the model does not say which version of ONNX's operators it uses (opset_import)", place});
  for (const auto& [domain, version] : model_.opsets)
    if (version < 1)
      report({DiagnosticKind::bad_model,
              format("the model uses opset {} of {}, but the first is 1", version,
                     domain.empty() ? "ONNX's operators" : format("domain '{}'", domain)),
              place,
              {},
              {},
              "export the model again, with the opset that its operators are of (opset_import)"});
}

std::optional<ImportedModel> Importer::run() {
  const Graph& graph = model_.graph;
  Span place = span(graph.name.empty() ? "the graph" : format("graph '{}'", graph.name));
  if (graph.has_sparse)
    report(
        {DiagnosticKind::unsupported_operator, "the model has sparse initialisers, which cannot be imported", place});
  check_versions(place);
  report_unsupported_operators();
  read_initializers(graph);
  read_inputs(graph);
  convert_nodes(graph);
  const std::vector<std::string_view> names = output_names(graph);
  std::optional<Values> results = outputs(names, place);
  if (!results) return std::nullopt;
  for (size_t i = 0; i < results->size(); ++i)
    check_output(tensor_info(graph.outputs[i]), (*results)[i].expr,
                 "export the model again, or correct what it says of its outputs (onnx.shape_inference shows it)");
  ir::DictAttrs attrs;
  if (!model_.producer.empty()) attrs["producer"] = format("{} {}", model_.producer, model_.producer_version);
  std::optional<ImportedModel> result = finish(names, *results, std::move(attrs), place);
  if (int64_t version = opset("", 0); result && version > newest_opset)
    result->warnings.push_back(
        {DiagnosticKind::unsupported_operator,
         format("the model uses opset {}, newer than {}, the newest that this importer was written for", version,
                newest_opset),
         place,
         {},
         {},
         "compare results with ONNX Runtime",
         Severity::Warning});
  return result;
}

// --- operators -------------------------------------------------------------------------------------------------------

OperatorUses Importer::operator_uses() const {
  OperatorUses uses;
  std::vector<const Graph*> work{&model_.graph};
  while (!work.empty()) {
    const Graph* graph = work.back();
    work.pop_back();
    for (const Node& n : graph->nodes) {
      uses.add(n.domain, n.op, opset(n.domain, 0), find_operator(n.domain, n.op) != nullptr, [&] { return span(n); });
      for (const Attribute& a : n.attributes)
        if (const std::unique_ptr<Graph>* sub = std::get_if<std::unique_ptr<Graph>>(&a.value))
          work.push_back(sub->get());
    }
  }
  return uses;
}

// --- names -----------------------------------------------------------------------------------------------------------

void Importer::read_initializers(const Graph& graph) {
  for (const TensorData& data : graph.initializers) {
    auto make = [this, &data]() -> Value {
      Span place = span(format("initialiser '{}'", data.name));
      Result<Tensor> tensor = tensor_value(model_, data);
      if (tensor) return emit_constant(*std::move(tensor), place);
      for (Diagnostic d : tensor.errors()) {
        d.span = place;
        report(std::move(d));
      }
      return {};
    };
    define_lazily(data.name, make, span(format("initialiser '{}'", data.name)));
  }
}

void Importer::read_inputs(const Graph& graph) {
  std::vector<TensorInfo> inputs;
  for (const ValueInfo& info : graph.inputs)
    if (!scopes().is_defined_here(info.name))  // else a constant: old models list weights as inputs
      inputs.push_back(tensor_info(info));
  add_inputs(inputs);
}

// --- nodes -----------------------------------------------------------------------------------------------------------

void Importer::report_undefined(const Graph& graph, size_t node, std::string_view name) {
  const Node& user = graph.nodes[node];
  Diagnostic d{DiagnosticKind::bad_model, format("{} uses '{}', which nothing defines", node_label(user), name),
               span(user)};
  d.help = "the model is incomplete: export it again, or check it with onnx.checker";
  for (size_t i = node; i < graph.nodes.size(); ++i) {
    const std::vector<std::string_view>& outputs = graph.nodes[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), name) == outputs.end()) continue;
    d.message = i == node ? format("{} uses its own result '{}'", node_label(user), name)
                          : format("{} uses '{}' before it is defined", node_label(user), name);
    if (i != node) d.labels.push_back({span(graph.nodes[i]), "defined here"});
    d.help = "ONNX wants nodes in an order in which each uses results of earlier ones only: sort them, or export again";
    break;
  }
  report(std::move(d));
}

void Importer::convert_nodes(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Span place = span(graph.nodes[i]);
    define_results(graph.nodes[i].outputs, convert_node(graph, i, place), place);
  }
}

// Absent ones at the end do not count.
static size_t given(const std::vector<std::string_view>& names) {
  size_t count = names.size();
  while (count > 0 && names[count - 1].empty()) --count;
  return count;
}

bool Importer::counts_fit(const Node& node, const Operator& op, const Span& place) {
  auto fits = [&](size_t count, size_t most, const char* one, const char* many) {
    if (count <= most) return true;
    report({DiagnosticKind::bad_model,
            format("{} has {}, but {} has at most {}", *place.node, plural(static_cast<int64_t>(count), one, many),
                   op.name, most),
            place,
            {},
            {},
            "export the model again, or check it with onnx.checker"});
    return false;
  };
  return fits(given(node.inputs), op.max_inputs, "input", "inputs") &&
         fits(given(node.outputs), op.max_outputs, "output", "outputs");
}

Values Importer::convert_node(const Graph& graph, size_t index, const Span& place) {
  const Node& node = graph.nodes[index];
  const Operator* op = find_operator(node.domain, node.op);
  if (!op) return {};  // reported with all the others
  if (!counts_fit(node, *op, place)) return {};
  std::optional<Values> inputs =
      operands(node.inputs, [&](std::string_view name) { report_undefined(graph, index, name); });
  if (!inputs || !expect_inputs(*inputs, op->min_inputs, place)) return {};
  std::vector<std::string_view> attributes;
  for (const Attribute& a : node.attributes) attributes.push_back(a.name);
  if (!check_attributes(node.op, attributes, attribute_names(std::string(node.op)), place)) return {};
  Convert convert(*this, node, *inputs, opset(node.domain, 1), place);
  return convert.finish(op->convert(convert), node.outputs);
}

std::optional<Values> Importer::subgraph(const Graph& graph, const Span& place) {
  if (!graph.inputs.empty()) {
    report({DiagnosticKind::unsupported_operator, "a graph with inputs of its own cannot be imported here", place});
    return std::nullopt;
  }
  Scopes::Inner scope(scopes());
  read_initializers(graph);
  convert_nodes(graph);
  return outputs(output_names(graph), place);
}

}  // namespace relay::onnx
