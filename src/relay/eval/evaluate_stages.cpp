#include <cstring>

#include "relay/eval/program.h"
#include "relay/eval/stage.h"
#include "relay/eval/te.h"
#include "relay/scalar/simplify.h"
#include "relay/te/recurrence.h"

namespace relay::eval {

namespace {

using KnownTensors = std::unordered_map<const te::TensorNode*, Tensor>;

Result<Shape> shape_of(const te::Tensor& t, const ShapeValues& values) {
  Shape shape;
  for (const scalar::Expr& e : t->shape) {
    std::optional<int64_t> extent = scalar::evaluate(e, values);
    if (!extent)
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("the extent {} of {} has no value", str(e), t->name),
                        {},
                        {},
                        {},
                        "give a value for each shape variable"};
    if (*extent < 0)
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("the extent {} of {} is {}", str(e), t->name, *extent),
                        {},
                        {},
                        {},
                        "give sizes with which no dimension is negative"};
    shape.push_back(*extent);
  }
  if (!element_count(shape))
    return Diagnostic{DiagnosticKind::out_of_memory, format("{} has too many elements", t->name), {}, {}, {},
                      "give smaller sizes"};
  return shape;
}

// All values of each state, step by step. `known`: the inputs of the stage.
Result<std::vector<Tensor>> run_recurrence(const te::Tensor& stage, const KnownTensors& known,
                                           const ShapeValues& values, const EvalOptions& options) {
  const te::Recurrence& r = *te::as_recurrence(*stage);
  const std::optional<int64_t> steps = scalar::evaluate(r.steps, values);
  RELAY_CHECK(steps, "the number of steps of {} has no value", stage->name);
  // Values computed outside of the steps are bound for them.
  TensorBindings bound;
  std::vector<std::pair<te::Tensor, te::Tensor>> given;
  for (const te::Tensor& in : te::inputs(stage)) {
    given.push_back({in, te::placeholder(in->name, in->shape, in->dtype)});
    bound.push_back({given.back().second, known.at(in.get())});
  }
  const te::Tensors after = te::replace(r.after, given);
  const size_t outside = bound.size();
  std::vector<std::vector<Tensor>> rows(r.initial.size());
  for (size_t s = 0; s < r.initial.size(); ++s) {
    rows[s].push_back(known.at(r.initial[s].get()));
    bound.push_back({r.before[s], rows[s].back()});
  }
  for (int64_t t = 0; t < *steps; ++t) {
    ShapeValues now = values;
    now.push_back({r.step, t});
    RELAY_ASSIGN(std::vector<Tensor> state, evaluate(after, bound, now, options));
    for (size_t s = 0; s < state.size(); ++s) bound[outside + s].second = state[s], rows[s].push_back(state[s]);
  }
  std::vector<Tensor> all;
  for (const std::vector<Tensor>& of_state : rows) {
    Shape shape = of_state[0].shape();
    shape.insert(shape.begin(), static_cast<int64_t>(of_state.size()));
    Tensor stacked = Tensor::empty(shape, of_state[0].dtype());
    std::byte* to = static_cast<std::byte*>(stacked.mutable_data());
    for (const Tensor& row : of_state) {
      RELAY_CHECK(row.bytes() == of_state[0].bytes(), "a state of {} changes its size", stage->name);
      if (row.bytes() > 0) std::memcpy(to, row.data(), row.bytes());
      to += row.bytes();
    }
    all.push_back(stacked);
  }
  return all;
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const te::Tensors& outputs, const TensorBindings& placeholders,
                                     const ShapeValues& values, const EvalOptions& options) {
  KnownTensors known;
  std::unordered_map<const te::TensorNode*, std::vector<Tensor>> states;  // of recurrences; values
  for (const auto& [placeholder, tensor] : placeholders) {
    bool widen = options.float64 && tensor.dtype().is_float();
    RELAY_CHECK(tensor.dtype() == placeholder->dtype || (widen && tensor.dtype() == DType::float64()),
                "{} is {} and bound to {}", placeholder->name, placeholder->dtype.str(), tensor.dtype().str());
    known[placeholder.get()] = widen ? tensor.cast(DType::float64()) : tensor;
  }
  te::Tensors order = te::topological(outputs);
  KnownShapes shapes;
  std::unordered_map<const te::TensorNode*, size_t> uses;  // by later stages and as outputs
  for (const te::Tensor& t : order) {
    RELAY_ASSIGN(shapes[t.get()], shape_of(t, values));
    if (t->is_placeholder()) {
      auto it = known.find(t.get());
      RELAY_CHECK(it != known.end(), "{} is not bound", t->name);
      if (it->second.shape() != shapes[t.get()])
        return Diagnostic{DiagnosticKind::wrong_input,
                          format("{} has shape ({}), expected ({})", t->name, join(it->second.shape(), ", "),
                                 join(shapes[t.get()], ", ")),
                          {},
                          {},
                          {},
                          "give an array of the expected shape"};
    }
    for (const te::Tensor& in : te::inputs(t)) ++uses[in.get()];
  }
  for (const te::Tensor& t : outputs) ++uses[t.get()];
  for (const te::Tensor& t : order) {
    if (t->is_placeholder()) continue;
    if (t->before) return te::scan_in_operator(*t);
    if (te::as_recurrence(*t)) {
      RELAY_ASSIGN(states[t.get()], run_recurrence(t, known, values, options));
    } else if (const te::StateNode* state = te::as_state(*t)) {
      known[t.get()] = states.at(state->of.get())[state->state];
    } else if (t->is_program()) {
      std::vector<Tensor> inputs;
      for (const te::Tensor& in : te::inputs(t)) inputs.push_back(known.at(in.get()));
      known[t.get()] = run_program(t, inputs, shapes, values, options);
    } else {
      StageProgram program = compile(t, shapes, values, options);
      std::vector<Tensor> inputs;
      for (const auto& [in, v] : program.tensors)
        inputs.push_back(te::has_several_values(*in) ? states.at(in.get())[v] : known.at(in.get()));
      std::vector<Tensor> values = run(program, inputs, options);
      if (te::has_several_values(*t))
        states[t.get()] = std::move(values);
      else
        known[t.get()] = std::move(values[0]);
    }
    for (const te::Tensor& in : te::inputs(t))
      if (--uses[in.get()] == 0) known.erase(in.get()), states.erase(in.get());
  }
  std::vector<Tensor> results;
  for (const te::Tensor& t : outputs) results.push_back(known.at(t.get()));
  return results;
}

}  // namespace relay::eval
