#include "relay/frontend/onnx/node_order.h"

#include <unordered_map>

namespace relay::onnx {

// The names that a node uses, last first: its inputs, and those used by graphs inside it.
static std::vector<std::string_view> used_names(const Node& node) {
  std::vector<std::string_view> names;
  std::vector<const Node*> work{&node};
  while (!work.empty()) {
    const Node& one = *work.back();
    work.pop_back();
    names.insert(names.end(), one.inputs.rbegin(), one.inputs.rend());
    for (const Attribute& a : one.attributes)
      if (const std::shared_ptr<const Graph>* sub = std::get_if<std::shared_ptr<const Graph>>(&a.value)) {
        for (const Node& inner : (*sub)->nodes) work.push_back(&inner);
        for (const ValueInfo& output : (*sub)->outputs) names.push_back(output.name);
      }
  }
  return names;
}

std::vector<size_t> in_order(const Graph& graph) {
  std::unordered_map<std::string_view, size_t> makers;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (std::string_view name : graph.nodes[i].outputs)
      if (!name.empty()) makers.try_emplace(name, i);
  std::vector<size_t> order;
  enum class State : uint8_t { Fresh, Open, Done };
  std::vector<State> states(graph.nodes.size(), State::Fresh);
  std::vector<std::pair<size_t, std::vector<std::string_view>>> open;  // nodes, and their used names that have not been
                                                                       // looked at
  auto begin = [&](size_t i) {
    states[i] = State::Open;
    open.emplace_back(i, used_names(graph.nodes[i]));
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (states[i] == State::Fresh) begin(i);
    while (!open.empty()) {
      auto& [node, names] = open.back();
      if (names.empty()) {
        states[node] = State::Done;
        order.push_back(node);
        open.pop_back();
        continue;
      }
      auto maker = makers.find(names.back());
      names.pop_back();
      if (maker != makers.end() && states[maker->second] == State::Fresh) begin(maker->second);
    }
  }
  return order;
}

}  // namespace relay::onnx
