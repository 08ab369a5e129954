// Traversals of expressions, which may share nodes: each node is visited once, arguments first, without recursion.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory_resource>
#include <utility>
#include <vector>

#include "relay/scalar/expr.h"
#include "relay/scalar/node_table.h"
#include "relay/scalar/parts.h"

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

// A node under way, and its next argument.
using Path = std::pmr::vector<std::pair<const Expr*, size_t>>;

}  // namespace

// A node that only one node refers to is reached once. No table is needed for it.
static bool may_be_shared(const Expr& e) { return e->use_count() > 1; }

void visit(const Expr& root, function_ref<void(const Expr&)> f) {
  const Expr held = root;  // keeps all nodes alive, whatever f does
  if (held->args.empty()) return f(held);
  struct Nothing {};
  TraversalMemory memory;
  NodeTable<Nothing> done(&memory);
  Path path(&memory);
  path.reserve(16);
  // Returns false if the node has arguments, which come first.
  auto reach = [&](const Expr& e) {
    if (may_be_shared(e)) {
      if (done.find(e.get())) return;
      if (e->args.empty()) done.add(e.get(), {});
    }
    if (e->args.empty()) return f(e);
    path.push_back({&e, 0});
  };
  reach(held);
  while (!path.empty()) {
    const Expr& e = *path.back().first;
    if (size_t& next = path.back().second; next < e->args.size()) {
      reach(e->args[next++]);
      continue;
    }
    path.pop_back();
    if (may_be_shared(e)) done.add(e.get(), {});
    f(e);
  }
}

Expr rewrite(const Expr& root, function_ref<Expr(const Expr&)> rule) {
  if (root->args.empty()) return rule(root);
  const Expr held = root;
  TraversalMemory memory;
  NodeTable<Expr> done(&memory);
  Path path(&memory);
  std::pmr::vector<Expr> results(&memory);  // of the arguments of the nodes under way, in order
  path.reserve(16), results.reserve(16);
  auto reach = [&](const Expr& e) {
    const bool shared = may_be_shared(e);
    if (shared)
      if (const Expr* known = done.find(e.get())) return results.push_back(*known);
    if (!e->args.empty()) return path.push_back({&e, 0});
    results.push_back(rule(e));
    if (shared) done.add(e.get(), results.back());
  };
  reach(held);
  while (!path.empty()) {
    const Expr& e = *path.back().first;
    if (size_t& next = path.back().second; next < e->args.size()) {
      reach(e->args[next++]);
      continue;
    }
    path.pop_back();
    const auto first = results.end() - static_cast<std::ptrdiff_t>(e->args.size());
    Expr made = std::equal(first, results.end(), e->args.begin())
                    ? rule(e)
                    : rule(with_args(e, Exprs(std::make_move_iterator(first), std::make_move_iterator(results.end()))));
    results.erase(first, results.end());
    if (may_be_shared(e)) done.add(e.get(), made);
    results.push_back(std::move(made));
  }
  return results[0];
}

Expr substitute(const Expr& e, const std::vector<Binding>& bindings) {
  return rewrite(e, [&](const Expr& n) -> Expr {
    if (n->kind == Kind::Var)
      for (const Binding& b : bindings)
        if (b.var == n) return b.value;
    return n;
  });
}

int64_t count_parts(const Expr& e, int64_t most) {
  if (e->args.empty()) return 1;
  int64_t count = 0;
  std::vector<const Expr*> work{&e};
  for (; !work.empty() && count < most; ++count) {
    const Expr& n = *work.back();
    work.pop_back();
    for (const Expr& a : n->args) work.push_back(&a);
  }
  return count;
}

Exprs free_vars(const Expr& e) {
  Exprs vars;
  visit(e, [&](const Expr& n) {
    if (n->kind == Kind::Var) vars.push_back(n);
  });
  return vars;
}

}  // namespace relay::scalar
