#include "relay/ir/expr.h"

namespace relay::ir {

const char* name(ExprKind kind) {
  static const char* const names[] = {
#define RELAY_EXPR(kind) #kind,
#include "relay/ir/exprs.def"
#undef RELAY_EXPR
  };
  return names[static_cast<size_t>(kind)];
}

template <class T, class... Args>
static Ref<const T> build(Span span, Args&&... args) {
  T* node = new T(std::forward<Args>(args)...);
  node->span = std::move(span);
  return Ref<const T>(node);
}

// `span` if set, or that of the first child that has one.
static Span span_or(Span span, const Expr& first, const Exprs& rest = {}) {
  if (span) return span;
  if (first && first->span) return first->span;
  for (const Expr& e : rest)
    if (e->span) return e->span;
  return {};
}

Expr constant(Tensor value, Span span) { return build<Constant>(std::move(span), std::move(value)); }
Expr constant(double value, DType dtype) { return constant(Tensor::scalar(value, dtype)); }
VarRef var(std::string name, Type annotation, Span span) {
  if (as<HoleType>(annotation)) annotation = nullptr;  // `_` means no annotation
  return build<Var>(std::move(span), std::move(name), std::move(annotation));
}
Expr tuple(Exprs elements, Span span) {
  span = span_or(std::move(span), nullptr, elements);
  return build<Tuple>(std::move(span), std::move(elements));
}
Expr get(Expr tuple, int64_t index, Span span) {
  span = span_or(std::move(span), tuple);
  return build<TupleGetItem>(std::move(span), std::move(tuple), index);
}
Expr call(Expr callee, Exprs args, Attrs attrs, Span span) {
  span = span_or(std::move(span), callee, args);
  return build<Call>(std::move(span), std::move(callee), std::move(args), std::move(attrs));
}
Expr let(VarRef var, Expr value, Expr body, Span span) {
  span = span_or(std::move(span), value);
  return build<Let>(std::move(span), std::move(var), std::move(value), std::move(body));
}
Expr if_(Expr condition, Expr then_branch, Expr else_branch, Span span) {
  span = span_or(std::move(span), condition);
  return build<If>(std::move(span), std::move(condition), std::move(then_branch), std::move(else_branch));
}
FunctionRef function(std::vector<VarRef> params, Expr body, Type result, Types type_params, DictAttrs attrs,
                     Span span) {
  span = span_or(std::move(span), body);
  return build<Function>(std::move(span), std::move(params), std::move(body), std::move(result), std::move(type_params),
                         std::move(attrs));
}
Expr global(std::string name, Span span) { return build<GlobalVar>(std::move(span), std::move(name)); }

}  // namespace relay::ir
