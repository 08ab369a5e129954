#include "relay/transform/group/dataflow.h"

#include <algorithm>

#include "relay/ir/attribute_names.h"
#include "relay/ir/fields.h"
#include "relay/ir/rewrite.h"

namespace relay::transform {

using namespace ir;

bool is_closed(const Expr& e) {
  const Function* f = as<Function>(e);
  return f && (f->is_primitive() || f->attrs.count(ir::attribute::segment) != 0 ||
               f->attrs.count(ir::attribute::compiler) != 0);
}

void for_each_open_child(const Expr& e, function_ref<void(const Expr&)> f) {
  if (!is_closed(e)) for_each_child(e, f);
}

// True if child number `i` of e opens a scope.
static bool opens_scope(const Expr& e, size_t i, bool of_lets) {
  switch (e->kind) {
    case ExprKind::Function: return true;
    case ExprKind::Let: return of_lets && i > 0;
    case ExprKind::If:
    case ExprKind::Match: return i > 0;
    default: return false;
  }
}

Dataflow::Dataflow(const Expr& root, bool of_lets) {
  struct Frame {
    const Expr* e;
    int scope;
    bool leaving;
  };
  scope_parents.push_back(-1);
  std::vector<Frame> frames{{&root, 0, false}};
  while (!frames.empty()) {
    Frame frame = frames.back();
    const Expr& e = *frame.e;
    if (indices.contains(e.get())) {
      frames.pop_back();
    } else if (frame.leaving) {
      frames.pop_back();
      indices[e.get()] = size();
      nodes.push_back(e);
      scopes.push_back(frame.scope);
    } else {
      frames.back().leaving = true;
      size_t begin = frames.size(), i = 0;
      for_each_open_child(e, [&](const Expr& child) {
        int scope = frame.scope;
        if (opens_scope(e, i++, of_lets)) {
          scope = static_cast<int>(scope_parents.size());
          scope_parents.push_back(frame.scope);
        }
        frames.push_back({&child, scope, false});
      });
      std::reverse(frames.begin() + static_cast<ptrdiff_t>(begin), frames.end());
    }
  }
}

NodeSet captured_variables(const FunctionRef& root) {
  NodeSet captured;
  std::vector<const Function*> functions{root.get()};
  for (size_t i = 0; i < functions.size(); ++i) {
    const Function& f = *functions[i];
    NodeSet seen, bound;
    std::vector<const Expr*> work{&f.body}, used;
    for (const VarRef& p : f.params) bound.insert(p.get());
    while (!work.empty()) {
      const Expr& e = *work.back();
      work.pop_back();
      if (!seen.insert(e.get())) continue;
      if (e->kind == ExprKind::Var) used.push_back(&e);
      if (const Function* inner = as<Function>(e)) {
        if (!inner->is_primitive()) functions.push_back(inner);
        continue;
      }
      for_each_binder(e, [&](const VarRef& v) { bound.insert(v.get()); });
      for_each_child(e, [&](const Expr& child) { work.push_back(&child); });
    }
    for (const Expr* v : used)
      if (!bound.contains(v->get())) captured.insert(v->get());
  }
  return captured;
}

}  // namespace relay::transform
