#include "relay/transform/gradient/reverse_mode.h"

#include <algorithm>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/gradient/checkpoints.h"

namespace relay::transform {

using namespace ir;

VarRef Lets::bind(std::string name, Expr value, const Type& type) {
  VarRef v = var(std::move(name), nullptr, value->span);
  v->type = type;
  bindings_.push_back({v, std::move(value)});
  return v;
}

Expr Lets::around(Expr body) const {
  for (size_t i = bindings_.size(); i-- > 0;)
    body = let(bindings_[i].var, bindings_[i].value, std::move(body), bindings_[i].value->span);
  return body;
}

Scope scope_of(const Expr& body) {
  Scope scope;
  Expr rest = body;
  for (const Let* l = as<Let>(rest); l; l = as<Let>(rest)) {
    scope.bindings.push_back({l->var, l->value});
    rest = l->body;
  }
  if (rest->kind != ExprKind::Var && rest->kind != ExprKind::Constant && rest->kind != ExprKind::GlobalVar) {
    VarRef result = var("result", nullptr, rest->span);
    result->type = rest->type;
    scope.bindings.push_back({result, rest});
    rest = result;
  }
  scope.result = rest;
  return scope;
}

bool is_data(const Type& type) {
  if (const TupleType* t = as<TupleType>(type)) return std::all_of(t->fields.begin(), t->fields.end(), is_data);
  return as<TensorType>(type) != nullptr;
}

bool has_floats(const Type& type) {
  if (const TupleType* t = as<TupleType>(type)) return std::any_of(t->fields.begin(), t->fields.end(), has_floats);
  const TensorType* t = as<TensorType>(type);
  return t && t->dtype.is_float();
}

bool is_dataflow(const Expr& value) {
  const Call* call = as<Call>(value);
  if (call ? !as<Op>(call->callee) : !as<Tuple>(value) && !as<TupleGetItem>(value)) return false;
  bool data = is_data(value->type);
  size_t i = 0;
  for_each_child(value, [&](const Expr& child) { data = data && ((call && i++ == 0) || is_data(child->type)); });
  return data;
}

void ReverseMode::look_at(const std::vector<Binding>& bindings) {
  for (const Binding& b : bindings) {
    bool depends = false;
    for_each_child(b.value, [&](const Expr& child) { depends = depends || is_followed(child); });
    if (depends && has_floats(b.value->type)) follow(b.var);
  }
}

void ReverseMode::add(const Expr& operand, const Expr& gradient) {
  if (const Var* v = as<Var>(operand); v && is_followed(operand))
    add(slots_[v], gradient, operand->type, "d" + v->name);
}

void ReverseMode::add(Slot& slot, const Expr& gradient, const Type& type, const std::string& name) {
  if (const TupleType* fields = as<TupleType>(type)) {
    slot.fields.resize(fields->fields.size());
    const Tuple* parts = as<Tuple>(gradient);
    const Expr whole = parts || as<Var>(gradient) ? gradient : Expr(out_.bind(name, gradient, type));
    for (size_t i = 0; i < fields->fields.size(); ++i) {
      if (!has_floats(fields->fields[i])) continue;
      add(slot.fields[i], parts ? parts->elements[i] : get(whole, static_cast<int64_t>(i)), fields->fields[i], name);
    }
    return;
  }
  if (!has_floats(type)) return;
  const Expr sum = slot.tensor ? op::make("add", {slot.tensor, gradient}) : gradient;
  slot.tensor = as<Var>(sum) ? sum : Expr(out_.bind(name, sum, type));
}

Expr ReverseMode::whole(const Slot& slot, const Expr& value, const Type& type) {
  if (slot.tensor) return slot.tensor;
  const TupleType* fields = as<TupleType>(type);
  if (!fields) return op::make("zeros_like", {value});
  Exprs parts;
  for (size_t i = 0; i < fields->fields.size(); ++i)
    parts.push_back(whole(i < slot.fields.size() ? slot.fields[i] : Slot(), get(value, static_cast<int64_t>(i)),
                          fields->fields[i]));
  return tuple(std::move(parts));
}

Expr ReverseMode::gradient(const VarRef& v, const std::vector<int64_t>& path) const {
  const Slot* slot = slots_.find(v.get());
  for (int64_t i : path)
    slot = slot && static_cast<size_t>(i) < slot->fields.size() ? &slot->fields[static_cast<size_t>(i)] : nullptr;
  return slot ? slot->tensor : nullptr;
}

Expr ReverseMode::gradient_or_zeros(const VarRef& v) {
  const Slot* slot = slots_.find(v.get());
  return whole(slot ? *slot : Slot(), v, v->type);
}

void ReverseMode::through_call(const Call& call, const VarRef& v, const Slot& slot) {
  const op::OpDef& def = *as<Op>(call.callee)->def;
  if (!def.gradient) {
    errors_.push_back({DiagnosticKind::not_supported,
                       format("{} cannot be differentiated", def.name),
                       call.span,
                       {},
                       {},
                       "apply it only to values without a gradient, write it in other operators, or define a gradient "
                       "if it is your own operator"});
    return;
  }
  const Expr gradient = whole(slot, v, v->type);
  const VarRef dy = as<Var>(gradient) ? as_var(gradient) : out_.bind("d" + v->name, gradient, v->type);
  const Exprs gradients = def.gradient(call.attrs, op::Adjoint{call.args, v, dy});
  if (gradients.size() != call.args.size()) {
    errors_.push_back({DiagnosticKind::not_supported,
                       format("this form of {} cannot be differentiated", def.name),
                       call.span,
                       {},
                       {},
                       "use other attributes or fixed sizes, or write it in other operators"});
    return;
  }
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i]) add(call.args[i], gradients[i]);
}

void ReverseMode::through_checkpoint(const std::vector<Binding>& bindings, const std::vector<size_t>& piece,
                                     const Binding& b, const Slot& slot) {
  const Recomputed recomputed = recompute(bindings, piece, as<Call>(b.value)->args[0]);
  for (const auto& [outside, inside] : recomputed.inputs) {
    out_.push({inside, op::make("annotation.checkpoint", {outside}, {}, outside->span)});
    if (is_followed(outside)) follow(inside);
  }
  look_at(recomputed.bindings);
  for (const Binding& one : recomputed.bindings) out_.push(one);
  add(recomputed.value, whole(slot, b.var, b.var->type));
  run(recomputed.bindings);  // no checkpoint is among them
  for (const auto& [outside, inside] : recomputed.inputs)
    if (const Expr from = gradient(inside)) add(outside, from);
}

void ReverseMode::run(const std::vector<Binding>& bindings) {
  const NodeMap<std::vector<size_t>> pieces = checkpointed(bindings);
  for (size_t i = bindings.size(); i-- > 0;) {
    const Binding& b = bindings[i];
    const Slot* found = slots_.find(b.var.get());
    if (!found || found->is_empty()) continue;
    const Slot slot = *found;
    if (const std::vector<size_t>* piece = pieces.find(b.var.get())) {
      through_checkpoint(bindings, *piece, b, slot);
    } else if (const Tuple* t = as<Tuple>(b.value)) {
      for (size_t k = 0; k < t->elements.size(); ++k)
        if (!slot.fields[k].is_empty())
          add(t->elements[k], whole(slot.fields[k], t->elements[k], t->elements[k]->type));
    } else if (const TupleGetItem* item = as<TupleGetItem>(b.value)) {
      if (!is_followed(item->tuple)) continue;
      std::vector<Slot>& fields = slots_[item->tuple.get()].fields;
      fields.resize(as<TupleType>(item->tuple->type)->fields.size());
      add(fields[static_cast<size_t>(item->index)], whole(slot, b.var, b.var->type), b.var->type, "d" + b.var->name);
    } else {
      through_call(*as<Call>(b.value), b.var, slot);
    }
  }
}

}  // namespace relay::transform
