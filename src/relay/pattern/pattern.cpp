#include "relay/pattern/pattern.h"

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

}  // namespace relay::pattern
