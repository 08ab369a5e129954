// Traversals of expressions, which may share nodes: each node is visited once, arguments first, without recursion.
#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <unordered_map>
#include <unordered_set>

#include "relay/scalar/expr.h"

namespace relay::scalar {

namespace {

// Memory for the tables of a traversal, on the stack: most expressions have few nodes, and there are very many of them.
class TraversalMemory {
 public:
  std::pmr::memory_resource* operator&() { return &pool_; }

 private:
  std::byte first_[4096];
  std::pmr::monotonic_buffer_resource pool_{first_, sizeof first_};
};

}  // namespace

void visit(const Expr& root, function_ref<void(const Expr&)> f) {
  const Expr held = root;  // keeps all nodes alive, whatever f does
  if (held->args.empty()) return f(held);
  TraversalMemory memory;
  std::pmr::unordered_set<const Node*> done(&memory);
  std::pmr::vector<std::pair<const Expr*, bool>> work(&memory);
  work.push_back({&held, false});
  while (!work.empty()) {
    const auto [at, expanded] = work.back();
    const Expr& e = *at;
    work.pop_back();
    if (!expanded && !e->args.empty()) {
      if (done.count(e.get())) continue;
      work.push_back({at, true});
      for (size_t i = e->args.size(); i-- > 0;) work.push_back({&e->args[i], false});
      continue;
    }
    if (done.insert(e.get()).second) f(e);
  }
}

Expr rewrite(const Expr& root, function_ref<Expr(const Expr&)> rule) {
  if (root->args.empty()) return rule(root);
  TraversalMemory memory;
  std::pmr::unordered_map<const Node*, Expr> done(&memory);
  visit(root, [&](const Expr& e) {
    const bool same = std::all_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return done.at(a.get()) == a; });
    if (same) return void(done.emplace(e.get(), rule(e)));
    Exprs args;
    args.reserve(e->args.size());
    for (const Expr& a : e->args) args.push_back(done.at(a.get()));
    done.emplace(e.get(), rule(with_args(e, std::move(args))));
  });
  return done.at(root.get());
}

Expr substitute(const Expr& e, const std::vector<Binding>& bindings) {
  return rewrite(e, [&](const Expr& n) -> Expr {
    if (n->kind == Kind::Var)
      for (const Binding& b : bindings)
        if (b.var == n) return b.value;
    return n;
  });
}

Exprs free_vars(const Expr& e) {
  Exprs vars;
  visit(e, [&](const Expr& n) {
    if (n->kind == Kind::Var) vars.push_back(n);
  });
  return vars;
}

}  // namespace relay::scalar
