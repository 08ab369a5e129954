// Functions of a model: their nodes are converted at each call.
#include <algorithm>

#include "relay/frontend/onnx/importer.h"

namespace relay::onnx {

const Node* Importer::resolved(const Node& node, Node& copy, const Span& place) {
  auto refers = [](const Attribute& a) { return !a.ref.empty(); };
  const bool any = std::any_of(node.attributes.begin(), node.attributes.end(), refers);
  if (frames_.empty()) {
    if (!any) return &node;
    report({DiagnosticKind::bad_model,
            format("{}: an attribute refers to an attribute of a function, but the node is not in a function",
                   node_label(node)),
            place,
            {},
            {},
            "the model is broken: export it again"});
    return nullptr;
  }
  const Frame& frame = frames_.back();
  auto is_absent = [&](std::string_view name) { return frame.absent.count(name) != 0; };
  if (!any && std::none_of(node.inputs.begin(), node.inputs.end(), is_absent)) return &node;
  copy = node;
  copy.attributes.clear();
  for (const Attribute& a : node.attributes) {
    auto found = a.ref.empty() ? frame.attributes.end() : frame.attributes.find(a.ref);
    if (a.ref.empty())
      copy.attributes.push_back(a);
    else if (found != frame.attributes.end())
      copy.attributes.push_back({a.name, found->second.value});
  }
  for (std::string_view& name : copy.inputs)
    if (is_absent(name)) name = "";
  return &copy;
}

// The names that a graph uses and does not define, including those of graphs inside.
static std::set<std::string_view> names_from_outside(const Graph& graph) {
  std::set<std::string_view> own, used;
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const TensorData& data : graph.initializers) own.insert(data.name);
  for (const SparseData& data : graph.sparse_initializers) own.insert(data.values.name);
  for (const ValueInfo& output : graph.outputs) used.insert(output.name);
  for (const Node& node : graph.nodes) {
    own.insert(node.outputs.begin(), node.outputs.end());
    used.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute& a : node.attributes)
      if (is_graph(a)) used.merge(names_from_outside(*std::get<std::shared_ptr<const Graph>>(a.value)));
  }
  std::erase_if(used, [&](std::string_view name) { return name.empty() || own.count(name) != 0; });
  return used;
}

std::vector<const Graph*> Importer::pass_graphs(const Node& call) {
  std::vector<const Graph*> added;
  for (const Attribute& a : call.attributes) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&a.value);
    if (!graph || passed_.count(graph->get())) continue;  // or a function passes on its own argument
    Passed& passed = passed_[graph->get()];
    passed.frames = frames_.size() - 1;
    for (std::string_view name : names_from_outside(**graph))
      if (const Value* value = scopes().lookup(name)) passed.names[name] = *value;
    added.push_back(graph->get());
  }
  return added;
}

std::optional<Values> Importer::body(const Graph& graph, const Values& inputs, Scopes::Enter enter, const Span& place) {
  const auto passed = passed_.find(&graph);
  if (passed == passed_.end()) {
    Scopes::Inner scope(scopes(), Scopes::Sees::Outside, std::move(enter));
    return own_body(graph, inputs, place);
  }
  // It is inside a function, and belongs to the caller of that.
  const Passed at = passed->second;
  Scopes::Inner outside(scopes(), Scopes::Sees::Nothing);
  for (const auto& [name, value] : at.names) define(name, enter ? enter(value) : value, place);
  Scopes::Inner scope(scopes());
  const auto callees = frames_.begin() + static_cast<std::ptrdiff_t>(at.frames);
  std::vector<Frame> hidden(std::make_move_iterator(callees), std::make_move_iterator(frames_.end()));
  frames_.erase(callees, frames_.end());
  std::optional<Values> results = own_body(graph, inputs, place);
  frames_.insert(frames_.end(), std::make_move_iterator(hidden.begin()), std::make_move_iterator(hidden.end()));
  return results;
}

// Checks a call and creates its frame.
bool Importer::enter(const Function& function, const Node& node, const Values& inputs, const Span& place) {
  auto refuse = [&](DiagnosticKind kind, std::string what, std::string help) {
    report({kind, format("{}: {}", node_label(node), what), place, {}, {}, std::move(help)});
    return false;
  };
  for (const Frame& frame : frames_)
    if (frame.function == &function)
      return refuse(DiagnosticKind::bad_model, format("function '{}' calls itself", function.name),
                    "ONNX has no recursive functions: export the model again");
  if (depth_ >= max_depth)
    return refuse(DiagnosticKind::limit_exceeded,
                  format("calls of functions and graphs inside of graphs are nested more than {} deep", max_depth),
                  "export the model with its functions inlined (onnx.inliner)");
  if (inputs.size() > function.inputs.size())
    return refuse(DiagnosticKind::bad_model,
                  format("it passes {} inputs, but the function has {}", inputs.size(), function.inputs.size()),
                  "export the model again");
  Frame frame{&function, {}, {}};
  for (const Attribute& a : function.defaults) frame.attributes[a.name] = a;
  for (const Attribute& a : node.attributes) {
    const bool known =
        frame.attributes.count(a.name) ||
        std::find(function.attributes.begin(), function.attributes.end(), a.name) != function.attributes.end();
    if (!known)
      return refuse(DiagnosticKind::bad_model, format("the function has no attribute '{}'", a.name),
                    "correct the name, or leave it out");
    frame.attributes[a.name] = a;
  }
  for (size_t i = 0; i < function.inputs.size(); ++i)
    if (i >= inputs.size() || !inputs[i]) frame.absent.insert(function.inputs[i]);
  frames_.push_back(std::move(frame));
  return true;
}

// The function's nodes, converted at the call. They see only the call's inputs and attributes.
Values Importer::expand(const Function& function, const Node& node, const Values& inputs, const Span& place) {
  if (!enter(function, node, inputs, place)) return {};
  const std::vector<const Graph*> passed = pass_graphs(node);
  Scopes::Inner scope(scopes(), Scopes::Sees::Nothing);
  ++depth_;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) define(function.inputs[i], inputs[i], place);
  convert_nodes(function.graph);
  --depth_;
  Values results;
  for (std::string_view name : function.outputs) {
    const Value* value = scopes().lookup(name);
    if (!value && !frames_.back().absent.count(name))
      report({DiagnosticKind::bad_model,
              format("output '{}' of function '{}' is not computed by any of its nodes", name, function.name),
              place,
              {},
              {},
              "export the model again"});
    results.push_back(value ? *value : Value());
  }
  frames_.pop_back();
  for (const Graph* graph : passed) passed_.erase(graph);
  return results;
}

}  // namespace relay::onnx
