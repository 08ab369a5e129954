// A function in flat form: its nodes in post-order and the scope in which each is evaluated. Passes that consider many
// nodes at once work on these arrays.
//
// Scopes form a tree: bodies of functions, branches of an `if` and clauses of a `match` open one; the value and body of
// a `let` are in the scope of the `let`. A node that several scopes share belongs to the one that reaches it first.
// Primitive functions (the result of fuse_ops), segments (of form_segments) and functions for an external compiler are
// leaves: their bodies are opaque.
#pragma once

#include <vector>

#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"

namespace relay::transform {

// True for primitive functions, segments and functions for an external compiler.
bool is_closed(const ir::Expr& e);
// Calls f with the children, except those of closed functions.
void for_each_open_child(const ir::Expr& e, function_ref<void(const ir::Expr&)> f);

// The variables that a function inside of `root` uses and an enclosing function binds.
ir::NodeSet captured_variables(const ir::FunctionRef& root);

struct Dataflow {
  // `of_lets`: bodies of `let` open scopes as well, because the value cannot use the variable.
  explicit Dataflow(const ir::Expr& root, bool of_lets = false);

  std::vector<ir::Expr> nodes;     // inputs before users
  std::vector<int> scopes;         // by node
  std::vector<int> scope_parents;  // by scope; -1 for the first
  ir::NodeMap<int> indices;        // of nodes

  int index(const ir::Expr& e) const {
    const int* i = indices.find(e.get());
    return i ? *i : -1;
  }
  int size() const { return static_cast<int>(nodes.size()); }
};

}  // namespace relay::transform
