#include "relay/ir/rewrite.h"

#include <algorithm>

#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"

namespace relay::ir {

void for_each_child(const Expr& e, function_ref<void(const Expr&)> f) {
  dispatch(*e, [&](const auto& node) {
    for_each_field(node, [&](const auto& field) { for_each_child_of_field(field, f); });
  });
}

Expr with_children(const Expr& e, const Exprs& children) {
  size_t i = 0;
  bool changed = false, keep_type = true;
  for_each_child(e, [&](const Expr& child) {
    RELAY_CHECK(i < children.size(), "{} given too few children", name(e->kind));
    const Expr& now = children[i++];
    if (now == child) return;
    changed = true;
    keep_type = keep_type && now->type && child->type && equal(now->type, child->type);
  });
  RELAY_CHECK(i == children.size(), "{} given too many children", name(e->kind));
  if (!changed) return e;
  return dispatch(*e, [&](const auto& node) -> Expr {
    using Node = std::remove_cvref_t<decltype(node)>;
    Node* copy = new Node(node);
    Ref<const ExprNode> owner(copy);
    size_t next = 0;
    for_each_field(
        *copy, [&](auto& field) { for_each_child_of_field(field, [&](Expr& child) { child = children[next++]; }); });
    if (!keep_type) {
      copy->type = nullptr;
      if constexpr (std::is_same_v<Node, Call>) copy->type_args.clear();
    }
    return owner;
  });
}

void for_each_var(const Pattern& pattern, function_ref<void(const VarRef&)> f) {
  if (pattern->var) f(pattern->var);
  for (const Pattern& p : pattern->patterns) for_each_var(p, f);
}

void for_each_binder(const Expr& e, function_ref<void(const VarRef&)> f) {
  if (const Function* function = as<Function>(e))
    for (const VarRef& p : function->params) f(p);
  if (const Let* let = as<Let>(e)) f(let->var);
  if (const Match* match = as<Match>(e))
    for (const Clause& c : match->clauses) for_each_var(c.pattern, f);
}

// Nodes wait on an explicit stack: first to be entered (their children are pushed), then to be left.
namespace {
struct Frame {
  const Expr* e;
  bool leaving;
};
struct Stack {
  std::vector<Frame> frames;
  // Pushes the children so that the first is on top.
  void push_children(const Expr& e) {
    size_t begin = frames.size();
    for_each_child(e, [&](const Expr& child) { frames.push_back({&child, false}); });
    std::reverse(frames.begin() + static_cast<ptrdiff_t>(begin), frames.end());
  }
};
}  // namespace

void visit(const Expr& root, function_ref<void(const Expr&)> f) {
  NodeSet done;
  Stack stack;
  stack.frames.push_back({&root, false});
  while (!stack.frames.empty()) {
    Frame frame = stack.frames.back();
    if (done.contains(frame.e->get())) {
      stack.frames.pop_back();
    } else if (frame.leaving) {
      stack.frames.pop_back();
      done.insert(frame.e->get());
      f(*frame.e);
    } else {
      stack.frames.back().leaving = true;
      stack.push_children(*frame.e);
    }
  }
}

Expr rewrite(const Expr& root, function_ref<Expr(const Expr&)> rule) {
  return rewrite(root, [&](const Expr&, const Expr& now) { return rule(now); });
}

Expr rewrite(const Expr& root, function_ref<Expr(const Expr& before, const Expr& now)> rule) {
  NodeMap<Expr> done;
  Exprs children;
  visit(root, [&](const Expr& e) {
    children.clear();
    bool changed = false;
    for_each_child(e, [&](const Expr& child) {
      children.push_back(*done.find(child.get()));
      changed |= !(children.back() == child);
    });
    Expr result = rule(e, changed ? with_children(e, children) : e);
    done[e.get()] = std::move(result);
  });
  return *done.find(root.get());
}

void walk(const Expr& root, function_ref<bool(const Expr&)> enter, function_ref<void(const Expr&)> leave) {
  Stack stack;
  stack.frames.push_back({&root, false});
  while (!stack.frames.empty()) {
    Frame frame = stack.frames.back();
    if (frame.leaving || !enter(*frame.e)) {
      stack.frames.pop_back();
      if (frame.leaving) leave(*frame.e);
    } else {
      stack.frames.back().leaving = true;
      stack.push_children(*frame.e);
    }
  }
}

std::unordered_map<const ExprNode*, size_t> use_counts(const Expr& root) {
  std::unordered_map<const ExprNode*, size_t> counts;
  counts[root.get()] = 1;
  visit(root, [&](const Expr& e) { for_each_child(e, [&](const Expr& child) { ++counts[child.get()]; }); });
  return counts;
}

Expr substitute(const Expr& e, const VarMap& values) {
  if (values.empty()) return e;
  return rewrite(e, [&](const Expr& n) -> Expr {
    if (n->kind != ExprKind::Var) return n;
    VarMap::const_iterator found = values.find(n.get());
    return found == values.end() ? n : found->second;
  });
}

std::vector<VarRef> bound_vars(const Expr& e) {
  std::vector<VarRef> vars;
  NodeSet seen;
  visit(e, [&](const Expr& n) {
    for_each_binder(n, [&](const VarRef& v) {
      if (seen.insert(v.get())) vars.push_back(v);
    });
  });
  return vars;
}

// A variable is bound in one place, so a variable that is bound anywhere below is not free.
std::vector<VarRef> free_vars(const Expr& e) {
  NodeSet bound;
  std::vector<VarRef> used, vars;
  visit(e, [&](const Expr& n) {
    for_each_binder(n, [&](const VarRef& v) { bound.insert(v.get()); });
    if (n->kind == ExprKind::Var) used.push_back(as_var(n));
  });
  for (const VarRef& v : used)
    if (!bound.contains(v.get())) vars.push_back(v);
  return vars;
}

FunctionRef with_body(const FunctionRef& f, Expr body) {
  if (f->body == body) return f;
  Function* copy = new Function(*f);
  bool keep_type = f->body->type && body->type && equal(f->body->type, body->type);
  copy->body = std::move(body);
  if (!keep_type) copy->type = nullptr;
  return FunctionRef(copy);
}

}  // namespace relay::ir
