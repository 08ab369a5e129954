// Operations on a stage of any kind: its expressions, its inputs, its text.
#include <algorithm>
#include <unordered_set>

#include "relay/scalar/name_shared.h"
#include "relay/te/recurrence.h"

namespace relay::te {

using scalar::Kind;

static Exprs variables(const std::vector<Axis>& axes) {
  Exprs vars;
  for (const Axis& a : axes) vars.push_back(a.var);
  return vars;
}

void visit(const TensorNode& stage, function_ref<void(const Expr&)> f) {
  if (stage.body) scalar::visit(stage.body, f);
  if (stage.program) loop::visit(stage.program, [](const loop::Stmt&) {}, [&](const Expr& e) { scalar::visit(e, f); });
  if (const Recurrence* r = as_recurrence(stage)) visit_steps(*r, f);
}

Tensor rewrite(const Tensor& stage, function_ref<Expr(const Expr&)> rule) {
  if (as_recurrence(*stage) || as_state(*stage)) return rewrite_recurrence(stage, rule);
  Expr body = stage->body ? scalar::rewrite(stage->body, rule) : Expr();
  loop::Stmt program = stage->program;
  if (program)
    program = loop::rewrite(
        program, [](const loop::Stmt& s) { return s; }, [&](const Expr& e) { return scalar::rewrite(e, rule); });
  if (body == stage->body && program == stage->program) return stage;
  TensorNode* copy = new TensorNode(*stage);
  copy->body = std::move(body), copy->program = std::move(program);
  return Tensor(copy);
}

Tensors inputs(const Tensor& stage) {
  Tensors found;
  std::unordered_set<const TensorNode*> known{stage->before.get()};
  auto add = [&](const TensorNode* source) {
    if (source && known.insert(source).second) found.push_back(Tensor(source));
  };
  if (const StateNode* state = as_state(*stage)) add(state->of.get());
  if (const Recurrence* r = as_recurrence(*stage)) {
    for (const Tensor& t : r->initial) add(t.get());
    for (const Tensor& t : r->before) known.insert(t.get());
    for (const Tensor& t : r->stages) known.insert(t.get());
  }
  visit(*stage, [&](const Expr& e) {
    if (e->kind == Kind::Load) add(dynamic_cast<const TensorNode*>(e->source.get()));
  });
  return found;
}

static std::string list(const Exprs& exprs) {
  std::string out;
  for (const Expr& e : exprs) out += (out.empty() ? "" : ", ") + scalar::str(e);
  return out;
}

std::string str(const Tensor& t) {
  std::string type = format("{}[{}]", t->dtype.str(), list(t->shape));
  if (t->is_placeholder()) return format("{}    : {}", t->name, type);
  if (as_recurrence(*t) || as_state(*t)) return str_of_recurrence(t);
  std::string head = format("{}[{}] = ", t->name, list(variables(t->axes)));
  if (t->is_program()) {
    Exprs batch;
    for (size_t d : t->batch_axes) batch.push_back(t->axes[d].var);
    return format("{}program({}) {{\n{}}}    : {}", head, list(batch), loop::str(t->program, 2), type);
  }
  if (t->combiner != Combiner::None) {
    std::string ranges;
    for (const Axis& a : t->reduce_axes)
      ranges += (ranges.empty() ? "" : ", ") + format("{} < {}", scalar::str(a.var), scalar::str(a.extent));
    head += format("{}({}) ", t->merge ? t->merge->name : name(t->combiner), ranges);
  }
  if (has_several_values(*t)) {
    type.clear();
    for (DType value : t->value_types) type += (type.empty() ? "(" : ", ") + value.str();
    type += format(")[{}]", list(t->shape));
  }
  const scalar::Named body =
      scalar::name_shared(t->body, [](const Expr&) { return true; }, [](size_t i) { return format("part{}", i); });
  for (const scalar::Binding& part : body.parts)
    head += format("let {} = {}; ", part.var->name, scalar::str(part.value));
  return head + scalar::str(body.value) + "    : " + type;
}

}  // namespace relay::te
