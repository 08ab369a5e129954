#include "relay/frontend/common/node_fates.h"

#include <algorithm>
#include <unordered_set>

#include "relay/ir/import_notes.h"
#include "relay/ir/rewrite.h"

namespace relay::frontend {

NodeFates::Node& NodeFates::node(const std::string& name) {
  auto [it, is_new] = index_.try_emplace(name, nodes_.size());
  if (is_new) nodes_.push_back({name, {}});
  return nodes_[it->second];
}

static bool is_known(const Value& v) { return v.known || v.none || ir::as<ir::Constant>(v.expr); }

// A sequence is made of its inputs without a call.
static bool is_one_of(const Value& v, const Values& inputs) {
  return v.list || std::any_of(inputs.begin(), inputs.end(), [&](const Value& input) {
           return (v.expr && v.expr == input.expr) || (v.known && v.known == input.known);
         });
}

void NodeFates::converted(const Span& place, const Values& inputs, const Values& results, bool has_nodes) {
  Node& n = node(*place.node);
  n.places.push_back(place.node);
  n.is_reached = true, n.has_nodes |= has_nodes;
  for (const Value& v : results) {
    if (!v) continue;
    n.is_known = n.is_known && is_known(v);
    n.is_passed_on = n.is_passed_on && is_one_of(v, inputs);
  }
}

void NodeFates::not_reached(const std::string& name) { node(name); }

void NodeFates::note(ir::Module& module) const {
  std::unordered_set<const void*> calls;
  for (const auto& [name, function] : module.functions)
    ir::visit(function, [&](const ir::Expr& e) {
      const ir::Call* call = ir::as<ir::Call>(e);
      if (call && call->callee->kind == ir::ExprKind::Op && e->span.node) calls.insert(e->span.node.get());
    });
  std::vector<std::string> names, fates;
  for (const Node& n : nodes_) {
    const bool has_call =
        std::any_of(n.places.begin(), n.places.end(), [&](const auto& place) { return calls.count(place.get()) != 0; });
    if (has_call) continue;
    names.push_back(n.name);
    fates.push_back(!n.is_reached    ? "it is in a branch that is never taken"
                    : n.is_known     ? "its value is known at import"
                    : n.is_passed_on ? "it returns its input unchanged"
                    : n.has_nodes    ? "the nodes inside replace it"
                                     : "nothing uses its result");
  }
  if (names.empty()) return;
  module.attrs[ir::imported_nodes] = std::move(names);
  module.attrs[ir::imported_fates] = std::move(fates);
}

}  // namespace relay::frontend
