// Control flow: subgraphs that run on a condition or several times. Their inputs and outputs are those of the operator,
// in order.
#include "relay/frontend/common/steps.h"
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Exprs;

static std::optional<int64_t> known_number(const KnownRef& known) {
  if (!known || known->values.size() != 1 || !is_int(known->values[0])) return std::nullopt;
  return known->values[0]->ivalue;
}

static Expr as_scalar(Convert& c, const Expr& e) { return e && c.rank(e) > 0 ? c.reshape(e, {}) : e; }

// Values as tensors; unset if one is not (reported).
static std::optional<Exprs> tensors(Convert& c, const Values& values) {
  Exprs all;
  for (const Value& v : values) {
    all.push_back(c.expression(v));
    if (!all.back()) return std::nullopt;
  }
  return all;
}

// The values of one of two sides, by a bool scalar.
static Values chosen(Convert& c, const Expr& condition, const Values& then_values, const Values& else_values) {
  if (then_values.size() != else_values.size() || then_values.empty())
    return c.bad("its subgraphs have {} and {} outputs", then_values.size(), else_values.size());
  std::optional<Exprs> then_side = tensors(c, then_values), else_side = tensors(c, else_values);
  if (!condition || !then_side || !else_side) return {};
  ir::Types types;
  for (size_t i = 0; i < then_side->size(); ++i) {
    const ir::Type &x = (*then_side)[i]->type, &y = (*else_side)[i]->type;
    types.push_back(common_type(x, y));
    if (!types.back()) return c.unsupported("output {} is {} or {}, by the condition", i, ir::str(x), ir::str(y));
  }
  if (types.size() == 1) return {c.choose_as(types[0], condition, (*then_side)[0], (*else_side)[0])};
  const Expr both = c.choose_as(ir::tuple_type(types), condition, c.tuple(*then_side), c.tuple(*else_side));
  Values results;
  for (size_t i = 0; i < types.size(); ++i) results.push_back(c.get(both, static_cast<int64_t>(i)));
  return results;
}

// Inputs: a condition, then the inputs of both subgraphs. A condition that is known at import selects one of them.
Values IF(Convert& c) {
  Values inputs;
  for (size_t i = 1; i < c.inputs(); ++i) inputs.push_back(c.value(i));
  if (std::optional<int64_t> condition = known_number(c.known(0)))
    return c.body(*condition ? "then_subgraph_index" : "else_subgraph_index", inputs).value_or(Values());
  const Expr condition = as_scalar(c, c.input(0));
  std::optional<Values> then_values = c.body("then_subgraph_index", inputs);
  std::optional<Values> else_values = c.body("else_subgraph_index", inputs);
  if (!condition || !then_values || !else_values) return {};
  return chosen(c, condition, *then_values, *else_values);
}

// Inputs: the number of a branch, then the inputs of all branches. Any other number is that of the last branch.
Values STABLEHLO_CASE(Convert& c) {
  const ir::Ints branches = c.ints("branch_subgraph_indices");
  if (branches.empty()) return c.bad("it has no branches");
  Values inputs;
  for (size_t i = 1; i < c.inputs(); ++i) inputs.push_back(c.value(i));
  const size_t last = branches.size() - 1;
  if (std::optional<int64_t> number = known_number(c.known(0)))
    return c
        .body(branches[*number < 0 || *number > static_cast<int64_t>(last) ? last : static_cast<size_t>(*number)],
              inputs)
        .value_or(Values());
  const Expr number = as_scalar(c, c.input(0));
  std::optional<Values> all = c.body(branches[last], inputs);
  for (size_t i = last; all && i-- > 0;) {
    std::optional<Values> one = c.body(branches[i], inputs);
    if (!one || !number) return {};
    const Expr is_one = c.emit("equal", {number, c.scalar(static_cast<double>(i), c.dtype(number))});
    all = chosen(c, is_one, *one, *all);
    if (all->empty()) return {};
  }
  return all.value_or(Values());
}

// An operator that the model also has as a subgraph of others.
Values STABLEHLO_COMPOSITE(Convert& c) {
  Values inputs;
  for (size_t i = 0; i < c.inputs(); ++i) inputs.push_back(c.value(i));
  return c.body("decomposition_subgraph_index", inputs).value_or(Values());
}

// The state passes through the body as long as the condition's subgraph returns true for it.
Values WHILE(Convert& c) {
  Exprs first = c.all_inputs();
  if (c.failed()) return {};
  auto condition = [&](const Exprs& state) -> Expr {
    std::optional<Values> outputs = c.body("cond_subgraph_index", Values(state.begin(), state.end()));
    if (!outputs) return nullptr;
    if (outputs->size() != 1) return c.bad("its condition has {} outputs", outputs->size());
    return as_scalar(c, c.expression((*outputs)[0]));
  };
  Captures outside(c);
  Steps steps;
  for (const Expr& e : first) steps.state.push_back(e);
  steps.condition = condition(first);
  if (!steps.condition) return {};
  steps.condition = outside.hold(steps.condition);
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr&, const Exprs& state) -> std::optional<Step> {
    std::optional<Values> outputs = c.body("body_subgraph_index", Values(state.begin(), state.end()));
    std::optional<Exprs> next = outputs ? tensors(c, *outputs) : std::nullopt;
    if (!next) return std::nullopt;
    if (next->size() != state.size()) {
      c.bad("its body has {} outputs for a state of {}", next->size(), state.size());
      return std::nullopt;
    }
    const Expr again = condition(*next);
    if (!again) return std::nullopt;
    return Step{.condition = again, .state = *next, .outputs = {}};
  });
  return all ? Values(all->state.begin(), all->state.end()) : Values();
}

}  // namespace relay::tflite::convert
