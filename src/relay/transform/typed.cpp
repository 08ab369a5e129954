#include "relay/transform/typed.h"

#include "relay/op/conditions.h"

namespace relay::transform {

using namespace ir;

Expr try_call(const Expr& callee, Exprs args, Attrs attrs, const Span& span) {
  Types types;
  for (const Expr& arg : args) types.push_back(arg->type);
  op::Assumptions assumed;  // the call's constraints are known from its origin
  Result<Type> type = as<Op>(callee)->def->infer(attrs, types);
  if (!type) return nullptr;
  Expr made = call(callee, std::move(args), std::move(attrs), span);
  made->type = *type;
  return made;
}

Expr typed_call(std::string_view name, Exprs args, const op::AttrValues& attrs, const Span& span) {
  const op::OpDef* def = op::find(name);
  RELAY_CHECK(def, "there is no operator {}", name);
  Attrs values = attrs.empty() ? Attrs() : *op::attributes(*def, attrs);
  Expr made = try_call(op::node(*def), std::move(args), std::move(values), span);
  RELAY_CHECK(made, "{} does not accept the arguments that a pass gives it", name);
  return made;
}

Expr typed_get(const Expr& tuple, int64_t index, const Span& span) {
  if (const Tuple* written = as<Tuple>(tuple)) return written->elements[static_cast<size_t>(index)];
  Expr item = get(tuple, index, span);
  item->type = as<TupleType>(tuple->type)->fields[static_cast<size_t>(index)];
  return item;
}

Expr typed_tuple(Exprs elements, const Span& span) {
  Types types;
  for (const Expr& e : elements) types.push_back(e->type);
  Expr made = tuple(std::move(elements), span);
  made->type = tuple_type(std::move(types));
  return made;
}

Expr typed_scalar(double value, DType dtype) {
  Expr made = constant(value, dtype);
  made->type = tensor_type({}, dtype);
  return made;
}

}  // namespace relay::transform
