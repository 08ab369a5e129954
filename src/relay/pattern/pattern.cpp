#include "relay/pattern/pattern.h"

#include "relay/ir/node_map.h"
#include "relay/op/registry.h"

namespace relay::pattern {

static Ref<Node> node(Kind kind, Patterns parts = {}) { return Ref<Node>(new Node(kind, std::move(parts))); }

static Patterns before(Pattern first, Patterns rest) {
  rest.insert(rest.begin(), std::move(first));
  return rest;
}

Pattern wildcard() { return node(Kind::Wildcard); }
Pattern expr(ir::Expr e) {
  Ref<Node> n = node(Kind::Expr);
  n->expr = std::move(e);
  return n;
}
Pattern op(std::string_view name) {
  const op::OpDef* def = op::find(name);
  RELAY_CHECK(def, "there is no operator {}", name);
  return expr(op::node(*def));
}
Pattern var(std::string name) {
  Ref<Node> n = node(Kind::Var);
  n->name = std::move(name);
  return n;
}
Pattern constant() { return node(Kind::Constant); }
Pattern call(Pattern callee, Patterns args) { return node(Kind::Call, before(std::move(callee), std::move(args))); }
Pattern any_call(Pattern callee) {
  Ref<Node> n = node(Kind::Call, {std::move(callee)});
  n->any = true;
  return n;
}
Pattern function(Patterns params, Pattern body) {
  return node(Kind::Function, before(std::move(body), std::move(params)));
}
Pattern any_function(Pattern body) {
  Ref<Node> n = node(Kind::Function, {std::move(body)});
  n->any = true;
  return n;
}
Pattern if_(Pattern condition, Pattern then_branch, Pattern else_branch) {
  return node(Kind::If, {std::move(condition), std::move(then_branch), std::move(else_branch)});
}
Pattern let(Pattern var, Pattern value, Pattern body) {
  return node(Kind::Let, {std::move(var), std::move(value), std::move(body)});
}
Pattern tuple(Patterns elements) { return node(Kind::Tuple, std::move(elements)); }
Pattern any_tuple() {
  Ref<Node> n = node(Kind::Tuple);
  n->any = true;
  return n;
}
Pattern get(Pattern tuple, int64_t index) {
  Ref<Node> n = node(Kind::Get, {std::move(tuple)});
  n->index = index;
  return n;
}
Pattern either(Pattern one, Pattern other) { return node(Kind::Either, {std::move(one), std::move(other)}); }
Pattern has_type(Pattern p, ir::Type type) {
  Ref<Node> n = node(Kind::Type, {std::move(p)});
  n->type = std::move(type);
  return n;
}
Pattern has_dtype(Pattern p, DType dtype) {
  Ref<Node> n = node(Kind::DType, {std::move(p)});
  n->dtype = dtype;
  return n;
}
Pattern has_shape(Pattern p, ir::Dims shape) {
  Ref<Node> n = node(Kind::Shape, {std::move(p)});
  n->shape = std::move(shape);
  return n;
}
Pattern has_attrs(Pattern p, ir::DictAttrs attrs) {
  Ref<Node> n = node(Kind::Attrs, {std::move(p)});
  n->attrs = std::move(attrs);
  return n;
}
Pattern where(Pattern p, std::function<bool(const ir::Expr&)> guard) {
  Ref<Node> n = node(Kind::Guard, {std::move(p)});
  n->guard = std::move(guard);
  return n;
}
Pattern dominates(Pattern parent, Pattern path, Pattern child) {
  return node(Kind::Dominates, {std::move(parent), std::move(path), std::move(child)});
}

// --- redirection -----------------------------------------------------------------------------------------------------
namespace {

// Calls f with every node of a pattern; if f returns false, the nodes below are skipped.
template <class F>
void for_each_node(const Pattern& root, F f) {
  ir::NodeSet seen;
  std::vector<const Node*> work{root.get()};
  while (!work.empty()) {
    const Node* p = work.back();
    work.pop_back();
    if (!seen.insert(p) || !f(*p)) continue;
    for (const Pattern& part : p->parts) work.push_back(part.get());
  }
}

bool reaches(const Pattern& root, const Node* wanted) {
  bool found = false;
  for_each_node(root, [&](const Node& p) { return found = found || &p == wanted, !found; });
  return found;
}

// True if matching `root` leads to matching `wanted` on the same expression.
bool asks_the_same(const Pattern& root, const Node* wanted) {
  ir::NodeSet seen;
  std::vector<const Node*> work{root.get()};
  while (!work.empty()) {
    const Node* p = work.back();
    work.pop_back();
    if (p == wanted) return true;
    if (!seen.insert(p)) continue;
    switch (p->kind) {
      case Kind::Wildcard:
      case Kind::Either:
      case Kind::Type:
      case Kind::DType:
      case Kind::Shape:
      case Kind::Attrs:
      case Kind::Guard:
        for (const Pattern& part : p->parts) work.push_back(part.get());
        break;
      case Kind::Dominates: work.push_back(p->parts[2].get()); break;
      default: break;
    }
  }
  return false;
}

Diagnostic refused(std::string message, std::string help) {
  return {DiagnosticKind::not_supported, std::move(message), {}, {}, {}, std::move(help)};
}

}  // namespace

Status redirect(const Pattern& wildcard, const Pattern& target) {
  Node& w = const_cast<Node&>(*wildcard);
  if (w.kind != Kind::Wildcard)
    return refused("only a wildcard can be redirected to another pattern",
                   "redirect a wildcard() inside of this pattern");
  w.parts.clear();
  if (!target) return ok();
  if (asks_the_same(target, &w))
    return refused("the wildcard would stand for a pattern that matches itself against the same expression without end",
                   "put a call or a tuple around the wildcard inside of the pattern that it is redirected to");
  bool repeats = false;
  for_each_node(target, [&](const Node& p) {
    if (p.kind == Kind::Dominates) repeats = repeats || reaches(p.parts[0], &w) || reaches(p.parts[1], &w);
    return !repeats;
  });
  if (repeats)
    return refused("the parent or the path of dominates() contains the wildcard that is redirected to the pattern",
                   "redirect to a pattern without dominates(), or use another wildcard in its parent and path");
  w.parts.push_back(target);
  return ok();
}

bool needs_types(const Pattern& pattern) {
  bool needed = false;
  for_each_node(pattern, [&](const Node& p) {
    needed = needed || p.kind == Kind::Type || p.kind == Kind::DType || p.kind == Kind::Shape;
    return !needed;
  });
  return needed;
}

}  // namespace relay::pattern
