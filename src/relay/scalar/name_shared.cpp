#include "relay/scalar/name_shared.h"

#include <unordered_map>
#include <unordered_set>

namespace relay::scalar {
namespace {

struct Facts {
  int uses = 0;
  bool safe = true;  // no load that may be out of bounds
};
using FactsOf = std::unordered_map<const Node*, Facts>;

double tree_size(const Expr& root) {
  std::unordered_map<const Node*, double> size;
  visit(root, [&](const Expr& e) {
    double& nodes = size[e.get()] = 1;
    for (const Expr& a : e->args) nodes += size.at(a.get());
  });
  return size.at(root.get());
}

// The nodes that are computed whatever the conditions of selects are.
std::unordered_set<const Node*> always_computed(const Expr& root) {
  std::unordered_set<const Node*> found;
  std::vector<const Node*> work{root.get()};
  while (!work.empty()) {
    const Node* e = work.back();
    work.pop_back();
    if (!found.insert(e).second) continue;
    for (size_t i = 0; i < (e->kind == Kind::Select ? 1 : e->args.size()); ++i) work.push_back(e->args[i].get());
  }
  return found;
}

FactsOf facts_of(const Expr& root, function_ref<bool(const Expr&)> is_safe) {
  FactsOf facts;
  visit(root, [&](const Expr& e) {
    Facts& own = facts[e.get()];
    own.safe = e->kind != Kind::Load || is_safe(e);
    for (const Expr& a : e->args) {
      Facts& of_arg = facts.at(a.get());
      ++of_arg.uses;
      facts[e.get()].safe &= of_arg.safe;
    }
  });
  return facts;
}

}  // namespace

Named name_shared(const Expr& e, function_ref<bool(const Expr& load)> is_safe,
                  function_ref<std::string(size_t part)> name) {
  if (tree_size(e) <= largest_tree) return {{}, e};
  constexpr double least = 8;  // nodes that are worth a name
  const FactsOf facts = facts_of(e, is_safe);
  const std::unordered_set<const Node*> always = always_computed(e);
  Named out;
  std::unordered_map<const Node*, Expr> done;    // the new form of each node
  std::unordered_map<const Node*, double> size;  // of its tree
  visit(e, [&](const Expr& old) {
    Exprs args;
    double nodes = 1;
    for (const Expr& a : old->args) args.push_back(done.at(a.get())), nodes += size.at(a.get());
    Expr now = with_args(old, std::move(args));
    const Facts& f = facts.at(old.get());
    if (f.uses > 1 && nodes >= least && now->kind != Kind::Tuple && (f.safe || always.count(old.get()))) {
      out.parts.push_back({var_like(name(out.parts.size()), now), now});
      now = out.parts.back().var, nodes = 1;
    }
    done.emplace(old.get(), now);
    size[old.get()] = nodes;
  });
  out.value = done.at(e.get());
  return out;
}

}  // namespace relay::scalar
