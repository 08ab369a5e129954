#include "relay/frontend/common/emit.h"

#include "relay/op/infer.h"
#include "relay/op/registry.h"
#include "relay/typing/typing.h"

namespace relay::frontend {

using ir::Expr;

Result<Expr> emit_call(const char* name, ir::Exprs args, const EmitAttrs& attrs, const Span& place) {
  const op::OpDef* def = op::find(name);
  if (!def) {
    Diagnostic d{DiagnosticKind::unsupported_operator,
                 format("it needs Relay's operator {}, which this build does not have", name)};
    d.help = format("add {} as docs/add-an-operator.md shows", name);
    return d;
  }
  ir::Types types;
  for (const Expr& a : args) types.push_back(a->type);
  RELAY_ASSIGN(Expr made, op::call(name, std::move(args), attrs, place));
  RELAY_ASSIGN(ir::Type type, op::infer(*def, ir::as<ir::Call>(made)->attrs, types));
  RELAY_RETURN_IF_ERROR(typing::valid_sizes(type));
  made->type = type;
  return made;
}

Expr emit_constant(Tensor value, Span place) {
  ir::Dims shape;
  for (int64_t extent : value.shape()) shape.push_back(scalar::imm(extent));
  ir::Type type = ir::tensor_type(std::move(shape), value.dtype());
  Expr made = ir::constant(std::move(value), std::move(place));
  made->type = type;
  return made;
}

Expr emit_tuple(ir::Exprs elements, const Span& place) {
  ir::Types types;
  for (const Expr& e : elements) types.push_back(e->type);
  Expr made = ir::tuple(std::move(elements), place);
  made->type = ir::tuple_type(std::move(types));
  return made;
}

Expr emit_get(const Expr& tuple, int64_t index, const Span& place) {
  const ir::TupleType* type = ir::as<ir::TupleType>(tuple->type);
  RELAY_CHECK(type && index >= 0 && index < static_cast<int64_t>(type->fields.size()), "{} has no field {}",
              ir::str(tuple->type), index);
  Expr made = ir::get(tuple, index, place);
  made->type = type->fields[static_cast<size_t>(index)];
  return made;
}

Expr emit_if(const Expr& condition, const Expr& then_side, const Expr& else_side, const Span& place) {
  Expr made = ir::if_(condition, then_side, else_side, place);
  made->type = then_side->type;
  return made;
}

}  // namespace relay::frontend
