#include "relay/transform/control/forgotten_sizes.h"

#include <algorithm>

#include "relay/scalar/expr.h"

namespace relay::transform {

using namespace ir;

Types types_inside(const Type& type) {
  if (const TupleType* tuple = as<TupleType>(type)) return tuple->fields;
  if (const TypeCall* call = as<TypeCall>(type)) return call->args;
  if (const RefType* reference = as<RefType>(type)) return {reference->value};
  Types out;
  if (const FuncType* f = as<FuncType>(type)) out = f->args, out.push_back(f->result);
  return out;
}

bool has_unknown_size(const Type& type) {
  if (const TensorType* t = as<TensorType>(type)) return std::ranges::any_of(t->shape, scalar::is_any);
  return std::ranges::any_of(types_inside(type), has_unknown_size);
}

static bool forgets(const Type& type, const Type& value) {
  const TensorType *to = as<TensorType>(type), *from = as<TensorType>(value);
  if (to && from)
    return !std::ranges::equal(to->shape, from->shape,
                               [](const Dim& t, const Dim& f) { return !scalar::is_any(t) || scalar::is_any(f); });
  return !std::ranges::equal(types_inside(type), types_inside(value), std::not_fn(forgets));
}

bool forgets_sizes(const Type& type, const Type& value) {
  return type && value && has_unknown_size(type) && forgets(type, value);
}

bool forgets_sizes(const Var& var, const Expr& value) { return forgets_sizes(var.annotation, value->type); }

static bool determines_type(const Type& annotation) {
  if (!annotation || as<TensorType>(annotation)) return false;
  const TupleType* tuple = as<TupleType>(annotation);
  return !tuple || std::ranges::any_of(tuple->fields, determines_type);
}

bool needs_annotation(const Let& let) {
  return determines_type(let.var->annotation) || forgets_sizes(*let.var, let.value);
}

Expr with_type(const Expr& value, const Type& type, const Type& known) {
  if (!forgets_sizes(type, known)) return value;
  const VarRef v = var("v", type, value->span);
  return let(v, value, v, value->span);
}

}  // namespace relay::transform
