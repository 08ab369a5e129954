#include "relay/te/recurrence.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "relay/base/diagnostics.h"

namespace relay::te {

const Recurrence* as_recurrence(const TensorNode& stage) {
  const RecurrenceNode* node = stage.is_program() ? dynamic_cast<const RecurrenceNode*>(&stage) : nullptr;
  return node ? node->recurrence.get() : nullptr;
}

const StateNode* as_state(const TensorNode& stage) {
  return stage.is_program() ? dynamic_cast<const StateNode*>(&stage) : nullptr;
}

void visit_steps(const Recurrence& recurrence, function_ref<void(const Expr&)> f) {
  for (const Tensor& t : recurrence.stages) visit(*t, f);
}

// The stages of a step: stages above `after` that read the state, the step's number or one of them.
static Tensors stages_of_step(const Recurrence& r) {
  Tensors found;
  std::unordered_set<const scalar::Source*> varies;
  for (const Tensor& t : r.before) varies.insert(t.get());
  for (const Tensor& t : topological(r.after)) {
    if (t->is_placeholder()) continue;
    bool depends = std::find(r.after.begin(), r.after.end(), t) != r.after.end();
    visit(*t, [&](const Expr& e) {
      depends |= e == r.step || (e->kind == scalar::Kind::Load && varies.count(e->source.get()));
    });
    if (!depends) continue;
    RELAY_CHECK(!as_recurrence(*t) && !as_state(*t), "a step of a recurrence holds another, '{}'", t->name);
    varies.insert(t.get()), found.push_back(t);
  }
  return found;
}

// Makes a node a program with hidden loops.
static void make_opaque(TensorNode& node, std::string name, DType dtype, Exprs shape) {
  node.name = std::move(name), node.dtype = dtype, node.shape = std::move(shape);
  for (size_t d = 0; d < node.shape.size(); ++d) node.axes.push_back({scalar::var(format("i{}", d)), node.shape[d]});
  node.program = loop::block({});
  node.result = loop::buffer(node.name, node.dtype, node.shape, loop::Scope::Param);
}

Tensors recurrence(std::string name, Expr steps, const Tensors& initial,
                   const std::function<Tensors(const Expr& step, const Tensors& before)>& after) {
  Recurrence* r = new Recurrence;
  Ref<const Recurrence> held(r);
  r->step = scalar::var("t"), r->steps = steps, r->initial = initial;
  for (const Tensor& t : initial) r->before.push_back(placeholder(t->name, t->shape, t->dtype));
  for (const Tensor& t : after(r->step, r->before))
    r->after.push_back(t->is_placeholder() ? compute(t->name, t->shape, [&](const Exprs& i) { return (*t)(i); }) : t);
  RELAY_CHECK(r->after.size() == initial.size(), "{} has {} states, and a step gives {}", name, initial.size(),
              r->after.size());
  r->stages = stages_of_step(*r);
  RecurrenceNode* node = new RecurrenceNode;
  const Tensor all(node);
  node->recurrence = held;
  make_opaque(*node, std::move(name), DType::int64(), {steps});
  Tensors states;
  for (size_t s = 0; s < initial.size(); ++s) {
    RELAY_CHECK(initial[s]->dtype == r->after[s]->dtype && initial[s]->shape.size() == r->after[s]->shape.size(),
                "state {} of {} changes its type", s, all->name);
    StateNode* state = new StateNode;
    states.push_back(Tensor(state));
    state->of = all, state->state = s;
    Exprs shape = initial[s]->shape;
    shape.insert(shape.begin(), steps + 1);
    make_opaque(*state, initial[s]->name, initial[s]->dtype, std::move(shape));
  }
  return states;
}

// The tensor that `rule` substitutes for `t`.
static Tensor rewrite_source(const Tensor& t, function_ref<Expr(const Expr&)> rule) {
  const Expr now = rule(scalar::load(t, Exprs(t->shape.size(), scalar::imm(0))));
  const TensorNode* source =
      now->kind == scalar::Kind::Load ? dynamic_cast<const TensorNode*>(now->source.get()) : nullptr;
  RELAY_CHECK(source, "{} would no longer be a tensor", t->name);
  return Tensor(source);
}

static Ref<const Recurrence> rewrite_steps(const Ref<const Recurrence>& r, function_ref<Expr(const Expr&)> rule) {
  Recurrence now = *r;
  bool changed = false;
  for (Tensor& t : now.initial) {
    const Tensor next = rewrite_source(t, rule);
    changed |= next != t, t = next;
  }
  std::unordered_map<const scalar::Source*, Tensor> of_stage;
  for (Tensor& t : now.stages) {
    const Tensor next = rewrite(t, [&](const Expr& e) -> Expr {
      if (e->kind != scalar::Kind::Load) return rule(e);
      if (auto it = of_stage.find(e->source.get()); it != of_stage.end())
        return it->second.get() == e->source.get() ? e : scalar::load(it->second, e->args);
      const bool own =
          std::any_of(r->before.begin(), r->before.end(), [&](const Tensor& b) { return b.get() == e->source.get(); });
      return own ? e : rule(e);
    });
    changed |= next != t, of_stage[t.get()] = next, t = next;
  }
  if (!changed) return r;
  for (Tensor& t : now.after) t = of_stage.at(t.get());
  return Ref<const Recurrence>(new Recurrence(std::move(now)));
}

// A copy of the same kind.
template <class Change>
static Tensor changed(const Tensor& stage, Change change) {
  if (const StateNode* state = as_state(*stage)) {
    StateNode* copy = new StateNode(*state);
    change(*copy);
    return Tensor(copy);
  }
  RecurrenceNode* copy = new RecurrenceNode(static_cast<const RecurrenceNode&>(*stage));
  change(*copy);
  return Tensor(copy);
}

Tensor renamed_recurrence(const Tensor& stage, const std::string& name) {
  return changed(stage, [&](TensorNode& node) { node.name = name; });
}

Tensor rewrite_recurrence(const Tensor& stage, function_ref<Expr(const Expr&)> rule) {
  if (const StateNode* state = as_state(*stage)) {
    StateNode copy = *state;
    copy.of = rewrite_source(state->of, rule);
    return copy.of == state->of ? stage : Tensor(new StateNode(std::move(copy)));
  }
  const RecurrenceNode& node = static_cast<const RecurrenceNode&>(*stage);
  const Ref<const Recurrence> now = rewrite_steps(node.recurrence, rule);
  if (now == node.recurrence) return stage;
  RecurrenceNode copy = node;
  copy.recurrence = now;
  return Tensor(new RecurrenceNode(std::move(copy)));
}

std::string str_of_recurrence(const Tensor& stage) {
  const TensorNode& t = *stage;
  if (const StateNode* state = as_state(t)) {
    std::string axes, shape;
    for (const Axis& a : t.axes) {
      axes += (axes.empty() ? "" : ", ") + scalar::str(a.var);
      shape += (shape.empty() ? "" : ", ") + scalar::str(a.extent);
    }
    return format("{}[{}] = state {} of {}    : {}[{}]", t.name, axes, state->state, state->of->name, t.dtype.str(),
                  shape);
  }
  const Recurrence* r = as_recurrence(t);
  std::string text = format("{} = recurrence({} < {}) {{\n", t.name, scalar::str(r->step), scalar::str(r->steps));
  for (const Tensor& own : r->stages) text += "  " + str(own) + "\n";
  for (size_t s = 0; s < r->before.size(); ++s)
    text += format("  {} = {}, then {}\n", r->before[s]->name, r->initial[s]->name, r->after[s]->name);
  return text + "}";
}

}  // namespace relay::te
