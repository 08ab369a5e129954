// What is done with stages of every kind: going through them, changing what they read, their text.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

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

loop::Stmt renamed(const TensorNode& stage, const loop::BufferRef& result) {
  return loop::redirect(stage.program, [&](const loop::Access& a) {
    return a.source.get() == static_cast<const scalar::Source*>(stage.result.get()) ? loop::Access{result, a.indices}
                                                                                    : a;
  });
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

Tensors topological(const Tensors& outputs) {
  return topological(outputs, [](const Tensor&) { return false; });
}

Tensors topological(const Tensors& outputs, function_ref<bool(const Tensor&)> skip) {
  Tensors order;
  std::unordered_set<const TensorNode*> done;
  std::vector<std::pair<Tensor, bool>> work;
  for (size_t i = outputs.size(); i-- > 0;) work.push_back({outputs[i], false});
  while (!work.empty()) {
    auto [t, expanded] = work.back();
    work.pop_back();
    if (done.count(t.get()) || skip(t)) continue;
    if (expanded) {
      done.insert(t.get());
      order.push_back(t);
      continue;
    }
    work.push_back({t, true});
    Tensors in = inputs(t);
    for (size_t i = in.size(); i-- > 0;) work.push_back({in[i], false});
  }
  return order;
}

Tensors replace(const Tensors& roots, const std::vector<std::pair<Tensor, Tensor>>& map) {
  std::unordered_map<const scalar::Source*, Tensor> now;
  for (const auto& [from, to] : map) now[from.get()] = to;
  for (const Tensor& t : topological(roots)) {
    if (now.count(t.get()) || t->is_placeholder()) continue;
    const Tensor changed = rewrite(t, [&](const Expr& e) -> Expr {
      if (e->kind != Kind::Load) return e;
      auto it = now.find(e->source.get());
      if (it == now.end() || it->second.get() == e->source.get()) return e;
      return scalar::load(it->second, e->args);
    });
    if (changed != t) now[t.get()] = changed;
  }
  Tensors out;
  for (const Tensor& t : roots) {
    auto it = now.find(t.get());
    out.push_back(it == now.end() ? t : it->second);
  }
  return out;
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
    head += format("{}({}) ", name(t->combiner), ranges);
  }
  return head + scalar::str(t->body) + "    : " + type;
}

std::string str(const Tensors& order) {
  std::string out;
  for (const Tensor& t : order) out += str(t) + "\n";
  return out;
}

}  // namespace relay::te
