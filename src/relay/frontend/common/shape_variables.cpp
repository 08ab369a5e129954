#include "relay/frontend/common/shape_variables.h"

#include "relay/frontend/common/emit.h"

namespace relay::frontend {

using ir::Expr;

std::optional<int64_t> ShapeVariables::value(std::string_view name) const {
  auto found = dims_.find(name);
  return found != dims_.end() && is_int(found->second) ? std::optional(found->second->ivalue) : std::nullopt;
}

ir::Dim ShapeVariables::named(std::string_view name) {
  auto found = dims_.find(name);
  if (found == dims_.end()) found = dims_.emplace(std::string(name), fresh(name)).first;
  return found->second;
}

void ShapeVariables::add_parameter(const ir::VarRef& param) {
  const ir::TensorType* type = ir::as<ir::TensorType>(param->type);
  for (size_t axis = 0; type && axis < type->shape.size(); ++axis)
    if (is_var(type->shape[axis])) places_.push_back({type->shape[axis], param, static_cast<int64_t>(axis)});
}

static const char* operator_of(scalar::BinaryOp op) {
  switch (op) {
    case scalar::BinaryOp::Add: return "add";
    case scalar::BinaryOp::Sub: return "subtract";
    case scalar::BinaryOp::Mul: return "multiply";
    case scalar::BinaryOp::Div: return "divide";
    case scalar::BinaryOp::FloorDiv: return "floor_divide";
    case scalar::BinaryOp::FloorMod: return "floor_mod";
    case scalar::BinaryOp::TruncDiv: return "trunc_divide";
    case scalar::BinaryOp::TruncMod: return "trunc_mod";
    case scalar::BinaryOp::Min: return "minimum";
    case scalar::BinaryOp::Max: return "maximum";
    default: return nullptr;
  }
}

Expr ShapeVariables::expression(const ir::Dim& size, const Span& place, DType real) const {
  std::unordered_map<const scalar::Node*, Expr> made;
  auto number = [&](int64_t value) {
    return emit_constant(Tensor::from_ints({}, DType::int64(), std::span(&value, 1)), place);
  };
  scalar::visit(size, [&](const scalar::Expr& e) {
    Expr& out = made[e.get()];
    if (e->kind == scalar::Kind::Int) out = number(e->ivalue);
    if (e->kind == scalar::Kind::Float) out = emit_constant(Tensor::scalar(e->fvalue, real), place);
    if (e->kind == scalar::Kind::Cast && e->dtype.is_float() && made[e->args[0].get()])
      if (Result<Expr> value = emit_call("cast", {made[e->args[0].get()]}, {{"dtype", real}}, place)) out = *value;
    if (e->kind == scalar::Kind::Var)
      for (const Place& p : places_) {
        if (p.dim != e) continue;
        Result<Expr> sizes = emit_call("shape_of", {p.param}, {{"dtype", DType::int64()}}, place);
        if (!sizes) break;
        Result<Expr> taken = emit_call("take", {*sizes, number(p.axis)}, {{"axis", int64_t{0}}}, place);
        if (taken) out = *taken;
        break;
      }
    const char* name = e->kind == scalar::Kind::Binary ? operator_of(e->binary) : nullptr;
    if (!name) return;
    const Expr &a = made[e->args[0].get()], &b = made[e->args[1].get()];
    if (!a || !b) return;
    if (Result<Expr> value = emit_call(name, {a, b}, {}, place)) out = *value;
  });
  return made[size.get()];
}

}  // namespace relay::frontend
