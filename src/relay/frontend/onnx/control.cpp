// Graphs inside nodes: If, and loops.
#include <algorithm>

#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/lists.h"
#include "relay/ir/call_of.h"

namespace relay::onnx::convert {

using ir::Dim;
using ir::Expr;
using ir::Exprs;
using ir::Ints;

namespace {

// A tensor of one element as a scalar.
Expr as_scalar(Convert& c, const Expr& e) { return e && c.rank(e) > 0 ? c.reshape(e, {}) : e; }

// Unset unless it is a single number.
std::optional<int64_t> known_number(const KnownRef& known) {
  if (!known || known->values.size() != 1 || !is_int(known->values[0])) return std::nullopt;
  return known->values[0]->ivalue;
}

// A scalar as the body declares it: some exporters make lists of one element of a loop's scalars.
Value declared(Convert& c, const ValueInfo& info, const Expr& scalar) {
  return info.shape && info.shape->size() == 1 ? c.reshape(scalar, {scalar::imm(1)}) : scalar;
}

// The first axis moved to `axis`.
Expr with_first_at(Convert& c, const Expr& e, int64_t axis) {
  Ints order;
  for (int64_t i = 1; i < c.rank(e); ++i) order.push_back(i);
  order.insert(order.begin() + axis, 0);
  return c.transpose(e, order);
}

// A loop whose state has sequences: its steps one after the other. Unset, without a report, if their number is not
// known at import.
std::optional<Values> unrolled(Convert& c, const Graph& body) {
  std::optional<int64_t> count = known_number(c.known(0)), on = c.has(1) ? known_number(c.known(1)) : 1;
  Values state;
  for (size_t i = 2; i < c.inputs(); ++i) state.push_back(c.value(i));
  for (int64_t step = 0; on && *on != 0 && (!c.has(0) || (count && step < *count)); ++step) {
    Values inputs{known_scalar(scalar::imm(step), DType::int64()), known_scalar(scalar::imm(1), DType::boolean())};
    inputs.insert(inputs.end(), state.begin(), state.end());
    if (step >= max_known) {
      c.over_limit("it has more than {} steps, and its state contains a sequence", max_known);
      return Values();
    }
    std::optional<Values> outputs = c.body(body, inputs);
    if (!outputs) return Values();
    if (outputs->size() != state.size() + 1) return std::nullopt;
    on = known_number(outputs->front().known);
    state.assign(outputs->begin() + 1, outputs->end());
  }
  if (!on || (c.has(0) && !count)) return std::nullopt;
  return state;
}

}  // namespace

namespace {

// True for an exporter's form of squeeze: if a size is 1, the axis is removed; otherwise all stays. The program then
// has the version with fewer axes, and checks on entry that the size is 1: the squeeze requires it.
bool is_squeezed(const Value& condition, const Values& then_values, const Values& else_values) {
  if (!condition.known && !ir::call_of(condition.expr, "equal")) return false;
  if (then_values.size() != 1 || else_values.size() != 1) return false;
  const ir::Call* squeeze = ir::call_of(then_values[0].expr, "squeeze");
  return squeeze && squeeze->args[0] == else_values[0].expr;
}

// The size that a scalar is read from: c of take(shape_of(x), 1), where x is Tensor[(b, c)].
Dim size_read(const Expr& e) {
  const ir::Call *take = ir::call_of(e, "take"), *shape = take ? ir::call_of(take->args[0], "shape_of") : nullptr;
  const ir::Constant* axis = take ? ir::as<ir::Constant>(take->args[1]) : nullptr;
  if (!shape || !axis || axis->value.elements() != 1) return {};
  const ir::TensorType* type = ir::as<ir::TensorType>(shape->args[0]->type);
  const size_t at = static_cast<size_t>(axis->value.int_at(0));
  return type && at < type->shape.size() ? type->shape[at] : Dim();
}

// True if the condition is that a size equals some number, and the nodes so far require it.
bool is_needed(Convert& c, const Expr& condition) {
  const ir::Call* equal = ir::call_of(condition, "equal");
  if (!equal) return false;
  for (int side : {0, 1}) {
    const Dim size = size_read(equal->args[side]);
    const ir::Constant* number = ir::as<ir::Constant>(equal->args[1 - side]);
    if (!size || !number || number->value.elements() != 1) continue;
    if (is_int(c.agreed(size), number->value.int_at(0))) return true;
  }
  return false;
}

}  // namespace

namespace {

// An if with a single type or a tuple, and its fields. `like`: the values of a branch, which determine the results that
// are strings.
Values chosen_of(Convert& c, const ir::Types& types, const Expr& condition, const Exprs& then_side,
                 const Exprs& else_side, const Values& like) {
  const bool one = types.size() == 1;
  Expr result = c.choose_as(one ? types[0] : ir::tuple_type(types), condition, one ? then_side[0] : c.tuple(then_side),
                            one ? else_side[0] : c.tuple(else_side));
  Values fields{Value(result)};
  if (!one) fields.clear();
  for (size_t i = 0; !one && i < types.size(); ++i) fields.push_back(Value(c.get(result, static_cast<int64_t>(i))));
  for (size_t i = 0; i < fields.size(); ++i) fields[i].carried = like[i].carried;
  return fields;
}

// The values of one branch, if no run can take the other one, which may have results of other kinds: a run that would
// take it ends with `refusal`. `wrong` is the condition's value (true or false) in that case. Unset if a problem was
// reported.
std::optional<Values> only_branch(Convert& c, const Expr& condition, bool wrong, const Values& values,
                                  const std::string& refusal) {
  const Expr one = c.integer_scalar(1), zero = c.integer_scalar(0);
  const Expr failed = c.emit("where", {condition, wrong ? one : zero, wrong ? zero : one});
  Exprs good, checked;
  ir::Types types;
  for (const Value& v : values) {
    good.push_back(c.expression(v));
    if (!good.back()) return std::nullopt;
    types.push_back(good.back()->type);
    const Expr none = c.require(c.scalar(0, c.dtype(good.back())), failed, refusal);
    ir::Dims shape = c.shape(good.back());
    for (Dim& d : shape) d = is_any(d) ? scalar::imm(1) : d;
    checked.push_back(c.broadcast_to(none, shape));
  }
  return chosen_of(c, types, condition, wrong ? checked : good, wrong ? good : checked, values);
}

bool are_tensors(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](const Value& v) { return !v.list && !v.none; });
}

// The same if the other branch contradicts its operators for the specified shapes.
std::optional<Values> only_branch_that_fits(Convert& c, const Expr& condition, bool wrong, const Values& values,
                                            Diagnostics contradictions) {
  if (!are_tensors(values) || !condition) return c.report_all(std::move(contradictions)), std::nullopt;
  return only_branch(
      c, condition, wrong, values,
      format("the condition selects {}, which the given sizes exclude ({}): {}\n"
             "give inputs for which the condition selects {}, compile for other sizes, or leave them open (no --shape)",
             wrong ? "then_branch" : "else_branch", c.given_shapes(), contradictions[0].message,
             wrong ? "else_branch" : "then_branch"));
}

}  // namespace

// A condition that is known at import selects one branch, and so does one that earlier nodes require. Otherwise both
// branches become the sides of an `if`; sizes that differ are `?` in the result.
Values If(Convert& c) {
  if (std::optional<int64_t> condition = known_number(c.known(0))) {
    const Graph* chosen = c.graph(*condition ? "then_branch" : "else_branch");
    return chosen ? c.body(*chosen, {}).value_or(Values()) : Values();
  }
  Expr condition = as_scalar(c, c.input(0));
  const Graph *then_graph = c.graph("then_branch"), *else_graph = c.graph("else_branch");
  if (!then_graph || !else_graph) return {};
  Diagnostics of_then, of_else;
  std::optional<Values> then_values = c.branch(*then_graph, &of_then);
  if (then_values && are_tensors(*then_values) && is_needed(c, condition))
    return only_branch(c, condition, false, *then_values,
                       "the condition selects else_branch, for a size that other nodes exclude\n"
                       "give inputs with a size for which the condition selects then_branch")
        .value_or(Values());
  std::optional<Values> else_values = c.branch(*else_graph, &of_else);
  if (!of_then.empty() && else_values)
    return only_branch_that_fits(c, condition, true, *else_values, of_then).value_or(Values());
  if (!of_else.empty() && then_values)
    return only_branch_that_fits(c, condition, false, *then_values, of_else).value_or(Values());
  if (!of_then.empty() || !of_else.empty()) {
    c.report_all(std::move(of_then)), c.report_all(std::move(of_else));
    return {};
  }
  if (!condition || !then_values || !else_values) return {};
  if (then_values->size() != else_values->size() || then_values->empty())
    return c.bad("its branches have {} and {} outputs", then_values->size(), else_values->size());
  Exprs then_side, else_side;
  ir::Types types;
  for (size_t i = 0; i < then_values->size(); ++i) {
    const Value &a = (*then_values)[i], &b = (*else_values)[i];
    if (a.carried != b.carried) return c.bad("output {} has strings in only one of its branches", i);
    ir::Type x = lists::type_of(c, a), y = lists::type_of(c, b);
    if (!x || !y) return {};
    ir::Type both = lists::common(x, y);
    if (!both && is_squeezed(c.value(0), *then_values, *else_values)) return *then_values;
    if (!both)
      return c.refused(format("output {} is {} in then_branch and {} in else_branch; the number of axes and the "
                              "element type must be the same",
                              i, ir::str(x), ir::str(y)),
                       "if the condition depends on an unknown size of an input, give the shapes of the inputs "
                       "(--shape), so that only one branch is imported; otherwise make the condition a constant of the "
                       "model, or give both results the same number of axes (Unsqueeze, Reshape) and type (Cast)");
    if (!ir::is_complete(both)) return c.unsupported("the tensors of output {} are unknown", i);
    // Values that already have the kind are unchanged: the if finds the common type.
    auto side = [&](const Value& v, const ir::Type& own) {
      if (v.expr && own->kind == both->kind && lists::is_option(v) == (lists::element_of_option(both) != nullptr))
        return v.expr;
      return lists::as(c, v, both);
    };
    then_side.push_back(side(a, x)), else_side.push_back(side(b, y)), types.push_back(both);
  }
  return chosen_of(c, types, condition, then_side, else_side, *then_values);
}

namespace {

// A sequence or an optional value of a loop's state, in its first form. The tensors of an empty one are determined by
// the body's declaration, or by the result of a first step.
Expr first_state(Convert& c, const Graph& body, size_t place) {
  const Value& value = c.value(place + 2);
  ir::Type type = lists::type_of(c, value);
  if (!type) return nullptr;
  if (const ValueInfo& info = body.inputs[place + 2]; !ir::is_complete(type) && info.shape && array_dtype(info.type)) {
    ir::Dims shape;
    for (const DimInfo& d : *info.shape) shape.push_back(d.value ? scalar::imm(*d.value) : scalar::any_dim());
    ir::Type tensor = ir::tensor_type(shape, *array_dtype(info.type));
    const bool has_list = info.form == TensorInfo::Form::Sequence || info.form == TensorInfo::Form::OptionalSequence;
    if (ir::Type common = lists::common(type, has_list ? lists::list_of(tensor) : tensor)) type = common;
  }
  if (!ir::is_complete(type))
    c.attempt([&] {
      Values inputs{Value(c.variable("step", ir::tensor_type({}, DType::int64()))),
                    known_scalar(scalar::imm(1), DType::boolean())};
      for (size_t i = 2; i < c.inputs(); ++i) inputs.push_back(c.value(i));
      std::optional<Values> outputs = c.body(body, inputs);
      ir::Type after = outputs ? lists::type_of(c, (*outputs)[place + 1]) : ir::Type();
      if (ir::Type both = after ? lists::common(type, after) : ir::Type()) type = both;
      return true;
    });
  if (ir::is_complete(type)) return lists::as(c, value, type);
  return c.unsupported("the tensors of value {} of its state are unknown", place);
}

// The step's result for a value that is `before` it.
Expr next_state(Convert& c, const Expr& before, const Value& after) {
  ir::Type type = lists::type_of(c, after);
  if (!type) return nullptr;
  const bool is_data = lists::element_of_list(before->type) || lists::element_of_option(before->type);
  if (!is_data && ir::as<ir::TensorType>(type)) return c.expression(after);
  ir::Type both = lists::common(before->type, type);
  if (both) return lists::as(c, after, both);
  return c.unsupported("a value of its state is {} at first and {} after a step", ir::str(before->type), ir::str(type));
}

// A value with the same kind of elements as another: strings are numbers, whose types do not show that.
Value like(const Expr& e, const Value& other) {
  Value value(e);
  value.carried = other.carried;
  return value;
}

// The kinds of the outputs of a loop's body.
class Kinds {
 public:
  // The first outputs are the state of the next step, with unchanged kinds.
  bool take(Convert& c, const Values& outputs, const Values& state) {
    for (size_t i = 0; i < state.size() && i < outputs.size(); ++i)
      if (outputs[i].carried != state[i].carried) {
        c.bad("value {} of its state has strings only before or only after a step", i);
        return false;
      }
    kinds_.clear();
    for (const Value& v : outputs) kinds_.push_back(v.carried);
    return true;
  }
  Values of(Values results) const {
    for (size_t i = 0; i < results.size() && i < kinds_.size(); ++i) results[i].carried = kinds_[i];
    return results;
  }

 private:
  std::vector<int32_t> kinds_;
};

}  // namespace

// Inputs: the largest number of steps, a condition for the first one (each may be absent), and the state. The body
// takes the step's number, a condition that holds, and the state; it returns the condition for the next step, the
// state, and stacked outputs.
Values Loop(Convert& c) {
  const Graph* body = c.graph("body");
  if (!body) return {};
  if (body->inputs.size() < 2 || body->inputs.size() != std::max<size_t>(c.inputs(), 2) ||
      body->outputs.size() + 1 < body->inputs.size())
    return c.bad("its body has {} inputs and {} outputs, but the loop has {} inputs", body->inputs.size(),
                 body->outputs.size(), c.inputs());
  const size_t states = body->inputs.size() - 2;
  auto is_known_list = [&](const Value& v) { return v.list || v.none; };
  const Values given = c.all_values();
  if (std::any_of(given.begin(), given.end(), is_known_list))
    if (std::optional<Values> all = unrolled(c, *body)) return *all;
  Steps steps;
  if (c.has(0)) {
    steps.count = c.cast(as_scalar(c, c.input(0)), DType::int64());
    if (KnownRef count = c.known(0); count && count->values.size() == 1)
      steps.size = is_int(count->values[0]) ? scalar::imm(std::max<int64_t>(count->values[0]->ivalue, 0))
                                            : scalar::max(count->values[0], scalar::imm(0));
  }
  const std::optional<double> first = c.has(1) ? known_number(c.known(1)) : 1;
  if (!first) steps.condition = as_scalar(c, c.input(1));
  if (first == 0.0) steps.count = c.integer_scalar(0), steps.size = scalar::imm(0);
  for (size_t i = 0; i < states; ++i) {
    if (!c.has(i + 2)) return c.bad("input {} is missing", i + 2);
    steps.state.push_back(is_known_list(given[i + 2]) || lists::is_list(given[i + 2]) || lists::is_option(given[i + 2])
                              ? first_state(c, *body, i)
                              : c.input(i + 2));
    if (!steps.state.back()) return {};
  }
  Captures outside(c);
  if (steps.condition) steps.condition = outside.hold(steps.condition);
  auto enter = [&](const Value& value) { return outside.hold(value); };
  Kinds kinds;
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr& index, const Exprs& state) {
    Values inputs{declared(c, body->inputs[0], index)};
    inputs.push_back(known_scalar(scalar::imm(1), DType::boolean()));
    if (const std::optional<std::vector<DimInfo>>& shape = body->inputs[1].shape; shape && shape->size() == 1)
      inputs[1] = reshaped(*inputs[1].known, {1});
    for (size_t i = 0; i < states; ++i) inputs.push_back(like(state[i], given[i + 2]));
    std::optional<Values> outputs = c.body(*body, inputs, enter);
    if (!outputs ||
        !kinds.take(c, Values(outputs->begin() + 1, outputs->end()), Values(inputs.begin() + 2, inputs.end())))
      return std::optional<Step>();
    Step step;
    if (known_number((*outputs)[0].known).value_or(0) == 0) step.condition = as_scalar(c, c.expression((*outputs)[0]));
    for (size_t i = 1; i < outputs->size(); ++i)
      if (i <= states)
        step.state.push_back(next_state(c, state[i - 1], (*outputs)[i]));
      else
        step.outputs.push_back(c.expression((*outputs)[i]));
    return std::optional(step);
  });
  if (!all) return {};
  Values results(all->state.begin(), all->state.end());
  results.insert(results.end(), all->outputs.begin(), all->outputs.end());
  return kinds.of(std::move(results));
}

namespace {

// Axes and directions of Scan: one for each of `count` tensors.
struct Lanes {
  Ints axes;
  std::vector<bool> reverse;
};

std::optional<Lanes> lanes(Convert& c, const char* axes, const char* directions, size_t count) {
  Lanes lanes{c.ints(axes, Ints(count, 0)), {}};
  Ints reversed = c.ints(directions, Ints(count, 0));
  if (lanes.axes.size() != count || reversed.size() != count)
    return c.bad("{} and {} have {} and {} values for {} tensors", axes, directions, lanes.axes.size(), reversed.size(),
                 count);
  for (int64_t t : reversed) lanes.reverse.push_back(t != 0);
  return lanes;
}

}  // namespace

namespace {

// Scan before opset 9: the lengths of the sequences (all equal, and left out), states and tensors with a batch as their
// first axis and, in tensors, steps as their second. One sequence after the other.
Values batched_scan(Convert& c, const Graph& body) {
  const int64_t scanned = c.integer("num_scan_inputs", 0);
  if (c.has(0)) return c.unsupported("sequences of different lengths (sequence_lens)");
  if (scanned < 1 || scanned + 1 > static_cast<int64_t>(c.inputs()))
    return c.bad("num_scan_inputs is {}, but there are {} inputs", scanned, c.inputs());
  const size_t states = c.inputs() - 1 - static_cast<size_t>(scanned);
  if (body.outputs.size() < states)
    return c.bad("its body has {} outputs, but there are {} states", body.outputs.size(), states);
  const Ints reversed = c.ints("directions", Ints(static_cast<size_t>(scanned), 0));
  if (static_cast<int64_t>(reversed.size()) != scanned)
    return c.bad("directions has {} values for {} tensors", reversed.size(), scanned);
  Exprs all;
  for (size_t i = 1; i < c.inputs(); ++i) {
    if (!c.has(i) || !c.expect_rank(c.input(i), i <= states ? 1 : 2, 32, "a state or tensor")) return {};
    all.push_back(c.input(i));
  }
  Captures outside(c);
  for (Expr& e : all) e = outside.hold(e);
  auto enter = [&](const Value& value) { return outside.hold(value); };
  auto at = [&](const Expr& e, const Expr& index) { return element_at(c, e, index, 0); };
  Steps batches;
  batches.count = outside.hold(c.size_of(all[0], 0)), batches.size = c.shape(all[0])[0];
  const Expr length = outside.hold(c.size_of(all[states], 1));
  std::optional<Stepped> done = repeat(c, batches, outside, [&](const Expr& batch, const Exprs&) {
    Captures own(c);
    Exprs tensors;
    for (size_t i = states; i < all.size(); ++i) tensors.push_back(own.hold(at(all[i], batch)));
    Steps steps;
    steps.count = length, steps.size = c.shape(all[states])[1];
    for (size_t i = 0; i < states; ++i) steps.state.push_back(at(all[i], batch));
    std::optional<Stepped> one = repeat(c, steps, own, [&](const Expr& index, const Exprs& state) {
      Values inputs(state.begin(), state.end());
      const Expr last = c.subtract(c.subtract(length, c.integer_scalar(1)), index);
      for (size_t i = 0; i < tensors.size(); ++i) inputs.push_back(Value(at(tensors[i], reversed[i] ? last : index)));
      std::optional<Values> outputs = c.tensors_of(body, inputs, enter);
      if (!outputs) return std::optional<Step>();
      Step step;
      for (size_t i = 0; i < outputs->size(); ++i)
        (i < states ? step.state : step.outputs).push_back((*outputs)[i].expr);
      return std::optional(step);
    });
    if (!one) return std::optional<Step>();
    Step step;
    step.outputs = one->state;
    step.outputs.insert(step.outputs.end(), one->outputs.begin(), one->outputs.end());
    return std::optional(step);
  });
  if (!done) return {};
  return Values(done->outputs.begin(), done->outputs.end());
}

}  // namespace

// Inputs: the state, then tensors of which each step takes one slice. The body takes the state and the slices; it
// returns the state, and stacked outputs.
Values Scan(Convert& c) {
  const Graph* body = c.graph("body");
  if (!body) return {};
  if (c.opset < 9) return batched_scan(c, *body);
  if (c.inputs() == 0) return c.bad("it has no inputs");
  const int64_t scanned = c.integer("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<int64_t>(c.inputs()))
    return c.bad("num_scan_inputs is {}, but there are {} inputs", scanned, c.inputs());
  const size_t states = c.inputs() - static_cast<size_t>(scanned);
  if (body->outputs.size() < states)
    return c.bad("its body has {} outputs, but there are {} states", body->outputs.size(), states);
  std::optional<Lanes> in = lanes(c, "scan_input_axes", "scan_input_directions", static_cast<size_t>(scanned));
  std::optional<Lanes> out = lanes(c, "scan_output_axes", "scan_output_directions", body->outputs.size() - states);
  Exprs all = c.all_inputs();
  if (c.failed() || !in || !out) return {};
  Captures outside(c);
  Exprs tensors(all.begin() + static_cast<std::ptrdiff_t>(states), all.end());
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::optional<int64_t> axis = c.axis(in->axes[i], c.rank(tensors[i]));
    if (!axis) return {};
    in->axes[i] = *axis;
  }
  Steps steps;
  steps.count = outside.hold(c.size_of(tensors[0], in->axes[0]));
  steps.size = c.shape(tensors[0])[static_cast<size_t>(in->axes[0])];
  steps.state.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(states));
  for (Expr& e : tensors) e = outside.hold(e);
  auto enter = [&](const Value& value) { return outside.hold(value); };
  Kinds kinds;
  std::optional<Stepped> done = repeat(c, steps, outside, [&](const Expr& index, const Exprs& state) {
    Values inputs;
    for (size_t i = 0; i < states; ++i) inputs.push_back(like(state[i], c.value(i)));
    Expr last = c.subtract(c.subtract(steps.count, c.integer_scalar(1)), index);
    for (size_t i = 0; i < tensors.size(); ++i)
      inputs.push_back(
          like(element_at(c, tensors[i], in->reverse[i] ? last : index, in->axes[i]), c.value(states + i)));
    std::optional<Values> outputs = c.tensors_of(*body, inputs, enter, true);
    if (!outputs ||
        !kinds.take(c, *outputs, Values(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(states))))
      return std::optional<Step>();
    Step step;
    for (size_t i = 0; i < outputs->size(); ++i) (i < states ? step.state : step.outputs).push_back((*outputs)[i].expr);
    return std::optional(step);
  });
  if (!done) return {};
  Values results(done->state.begin(), done->state.end());
  for (size_t i = 0; i < done->outputs.size(); ++i) {
    Expr y = done->outputs[i];
    std::optional<int64_t> axis = c.axis(out->axes[i], c.rank(y));
    if (!axis) return {};
    if (out->reverse[i]) y = c.emit("reverse", {y}, {{"axis", int64_t{0}}});
    results.push_back(Value(with_first_at(c, y, *axis)));
  }
  return kinds.of(std::move(results));
}

}  // namespace relay::onnx::convert
