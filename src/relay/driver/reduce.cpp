#include "relay/driver/reduce.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "relay/driver/debug.h"
#include "relay/input/values.h"
#include "relay/ir/main_function.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::driver {

using namespace ir;

size_t count_calls(const Part& part) {
  size_t calls = 0;
  visit(part.module.functions.at(ir::main_function)->body, [&](const Expr& e) { calls += e->kind == ExprKind::Call; });
  return calls;
}

namespace {

const FunctionRef& main_of(const Part& part) { return part.module.functions.at(ir::main_function); }

// Calls with a tensor result that need only @main's parameters, in order of evaluation.
Exprs calls_that_stand_alone(const FunctionRef& main) {
  Exprs out;
  NodeSet params, bound;
  for (const VarRef& p : main->params) params.insert(p.get());
  for (const Expr& e : transform::Dataflow(main->body).nodes) {
    bool is_bound = e->kind == ExprKind::Var && !params.contains(e.get());
    transform::for_each_open_child(e, [&](const Expr& child) { is_bound = is_bound || bound.contains(child.get()); });
    if (is_bound)
      bound.insert(e.get());
    else if (e->kind == ExprKind::Call && as<TensorType>(e->type))
      out.push_back(e);
  }
  return out;
}

// The program that computes `target`, an expression of `whole`, with inputs in place of `cuts`, which have the values
// that the evaluator computes. Unset if it has no type by itself.
std::optional<Part> part_of(const Part& whole, const Expr& target, const NodeSet& cuts) {
  const FunctionRef& main = main_of(whole);
  std::vector<VarRef> inputs;
  Exprs cut;
  const Expr body = rewrite(target, [&](const Expr& before, const Expr& now) -> Expr {
    if (before == target || !cuts.contains(before.get())) return now;
    const VarRef v = var(format("v{}", cut.size()), before->type, before->span);
    v->type = before->type;
    inputs.push_back(v), cut.push_back(before);
    return v;
  });
  NodeSet used;  // excludes replacements below another replacement
  for (const VarRef& v : free_vars(body)) used.insert(v.get());
  std::vector<VarRef> params;
  Exprs wanted;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (used.contains(inputs[i].get())) params.push_back(inputs[i]), wanted.push_back(cut[i]);
  Part out{whole.module, {}};
  transform::PassContext context;
  if (!wanted.empty()) {
    Module values = whole.module;
    values.functions[ir::main_function] = function(main->params, tuple(wanted));
    const Result<Module> typed = transform::run_passes(values, {"infer_type"}, context);
    if (!typed) return std::nullopt;
    const Result<eval::Value> found = evaluate_main(*typed, whole.inputs, EvalPrecision::Native);
    if (!found) return std::nullopt;
    const Result<runtime::Value> all = input::to_runtime(*found, *typed);
    if (!all) return std::nullopt;
    for (size_t i = 0; i < all->size(); ++i) out.inputs.push_back(all->field(i));
  }
  for (size_t i = 0; i < main->params.size(); ++i)
    if (used.contains(main->params[i].get())) params.push_back(main->params[i]), out.inputs.push_back(whole.inputs[i]);
  out.module.functions[ir::main_function] = function(params, body);
  out.module.attrs.erase("output_names");
  Result<Module> typed = transform::run_passes(out.module, {"remove_unused_functions"}, context);
  if (!typed) return std::nullopt;
  out.module = *typed;
  return out;
}

using Test = std::function<bool(const Part&)>;

// Bisects the calls: finds one that is wrong while the one before it in order of evaluation is not.
Part cut_behind(const Part& whole, const Test& is_wrong) {
  const Exprs calls = calls_that_stand_alone(main_of(whole));
  Part best = whole;
  for (size_t right = 0, wrong = calls.size(); right < wrong;) {
    const size_t middle = (right + wrong) / 2;
    std::optional<Part> part = part_of(whole, calls[middle], {});
    if (part && is_wrong(*part))
      wrong = middle, best = std::move(*part);
    else
      right = middle + 1;
  }
  return best;
}

// The nodes below the result, near ones first, and the calls on the shortest way to each.
std::vector<std::pair<Expr, size_t>> distances(const Expr& result) {
  std::vector<std::pair<Expr, size_t>> out;
  NodeSet seen;
  std::deque<std::pair<Expr, size_t>> work{{result, 0}};
  while (!work.empty()) {
    const auto [e, distance] = work.front();
    work.pop_front();
    if (!seen.insert(e.get())) continue;
    out.emplace_back(e, distance);
    transform::for_each_open_child(e, [&, d = distance](const Expr& child) {
      // A tuple or a projection is not a separate step.
      child->kind == ExprKind::Call ? work.emplace_back(child, d + 1) : work.emplace_front(child, d);
    });
  }
  return out;
}

// The result with the calls up to some distance from it, the smallest at which it is wrong.
Part cut_in_front(const Part& whole, const Test& is_wrong) {
  const Expr result = main_of(whole)->body;
  NodeSet alone;
  for (const Expr& e : calls_that_stand_alone(main_of(whole))) alone.insert(e.get());
  const std::vector<std::pair<Expr, size_t>> nodes = distances(result);
  const size_t furthest = nodes.back().second;
  for (size_t depth = 1; depth <= furthest; depth = depth < 4 ? depth + 1 : depth * 2) {
    NodeSet cuts;
    for (const auto& [e, distance] : nodes)
      if (distance >= depth && alone.contains(e.get())) cuts.insert(e.get());
    std::optional<Part> part = part_of(whole, result, cuts);
    if (part && is_wrong(*part)) return *part;
  }
  return whole;
}

// Turns one call after another into an input, far ones first; `tries` counts down.
std::optional<Part> cut_one_call(const Part& whole, const Test& is_wrong, int& tries) {
  const Expr result = main_of(whole)->body;
  for (const Expr& e : calls_that_stand_alone(main_of(whole))) {
    if (e == result || tries-- <= 0) return std::nullopt;
    NodeSet cut;
    cut.insert(e.get());
    std::optional<Part> part = part_of(whole, result, cut);
    if (part && count_calls(*part) < count_calls(whole) && is_wrong(*part)) return part;
  }
  return std::nullopt;
}

}  // namespace

Result<Part> reduce(const Part& whole, const Test& is_wrong) {
  transform::PassContext context;
  RELAY_ASSIGN(Module flat, transform::run_passes(whole.module, {"to_graph_normal_form"}, context));
  const Part start{flat, whole.inputs};
  Part best = cut_in_front(cut_behind(is_wrong(start) ? start : whole, is_wrong), is_wrong);
  for (int tries = 200; std::optional<Part> less = cut_one_call(best, is_wrong, tries);) best = std::move(*less);
  return best;
}

}  // namespace relay::driver
