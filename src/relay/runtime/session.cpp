#include "relay/runtime/session.h"

#include <algorithm>
#include <cstring>

namespace relay::runtime {

static Diagnostic wrong(DiagnosticKind kind, std::string message, std::string help) {
  return Diagnostic{kind, std::move(message), {}, {}, {}, std::move(help)};
}

static Tensor copy_of(const Tensor& t) {
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  if (t.bytes() > 0) std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

static Tensor zeros(Shape shape, DType dtype) {
  Tensor made = Tensor::empty(std::move(shape), dtype);
  if (made.bytes() > 0) std::memset(made.mutable_data(), 0, made.bytes());
  return made;
}

Session::Session(std::shared_ptr<Executable> executable) : executable_(std::move(executable)) {
  std::vector<bool> is_state_input(executable_->inputs().size()), is_state_output(executable_->outputs().size());
  for (const Donation& d : executable_->program().donations) {
    if (!d.result) continue;
    state_at_.push_back(d.input), result_at_.push_back(*d.result);
    states_.push_back(executable_->inputs()[d.input]);
    is_state_input[d.input] = is_state_output[*d.result] = true;
  }
  for (size_t i = 0; i < is_state_input.size(); ++i)
    if (!is_state_input[i]) input_at_.push_back(i), inputs_.push_back(executable_->inputs()[i]);
  for (size_t o = 0; o < is_state_output.size(); ++o)
    if (!is_state_output[o]) output_at_.push_back(o), outputs_.push_back(executable_->outputs()[o]);
  values_.resize(states_.size());
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<Executable> executable) {
  for (const std::vector<PortInfo>* ports : {&executable->inputs(), &executable->outputs()})
    for (const PortInfo& port : *ports)
      if (!port.is_tensor)
        return wrong(DiagnosticKind::bad_option,
                     format("a session takes and returns tensors, but `{}` is {}", port.name, port.type),
                     "pass the state from call to call as a value");
  std::unique_ptr<Session> made(new Session(std::move(executable)));
  if (made->states_.empty())
    return wrong(DiagnosticKind::bad_option, "the model has no state: it donates no input for a result",
                 "compile it with donate={\"INPUT\": RESULT}, or with --donate INPUT=RESULT");
  return made;
}

// Zeros of the size that the state has with these inputs. A symbolic size is that of an input with the same size.
Status Session::allocate(size_t index, std::span<const Tensor> inputs) {
  const PortInfo& port = states_[index];
  Shape shape = port.dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (size_t i = 0; i < inputs_.size() && shape[d] < 0; ++i)
      for (size_t k = 0; k < inputs_[i].dims.size() && k < static_cast<size_t>(inputs[i].rank()); ++k)
        if (inputs_[i].dims[k] < 0 && inputs_[i].dim_texts[k] == port.dim_texts[d]) shape[d] = inputs[i].shape()[k];
    if (shape[d] < 0)
      return wrong(DiagnosticKind::wrong_input,
                   format("the size `{}` of the state `{}` is not the size of an input", port.dim_texts[d], port.name),
                   "set the state before the first run");
  }
  values_[index] = zeros(std::move(shape), port.dtype);
  return ok();
}

Result<std::vector<Tensor>> Session::run(std::span<const Tensor> inputs, const RunOptions& options) {
  std::vector<Tensor> outputs(outputs_.size());
  RELAY_RETURN_IF_ERROR(run_into(inputs, outputs, options));
  return outputs;
}

Status Session::run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size())
    return wrong(DiagnosticKind::wrong_input,
                 format("the session takes {} and returns {}, but {} and {} were given",
                        plural(inputs_.size(), "input", "inputs"), plural(outputs_.size(), "output", "outputs"),
                        inputs.size(), outputs.size()),
                 "leave out the state: the session keeps it");
  if (is_lost_)
    return wrong(DiagnosticKind::wrong_input, "the state was lost when a run failed",
                 "reset the session, or restore a snapshot");
  for (size_t s = 0; s < states_.size(); ++s)
    if (!values_[s]) RELAY_RETURN_IF_ERROR(allocate(s, inputs));
  std::vector<Tensor> all_inputs(executable_->inputs().size()), all_outputs(executable_->outputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) all_inputs[input_at_[i]] = inputs[i];
  for (size_t s = 0; s < states_.size(); ++s) all_inputs[state_at_[s]] = values_[s];
  for (size_t o = 0; o < outputs.size(); ++o) all_outputs[output_at_[o]] = outputs[o];
  if (Status status = executable_->run_into(all_inputs, all_outputs, options); !status) {
    // Inputs of a wrong type or shape are refused before anything runs.
    is_lost_ = !executable_->runs_as_graph() || status.errors().front().kind != DiagnosticKind::wrong_input;
    return status;
  }
  for (size_t o = 0; o < outputs.size(); ++o) outputs[o] = all_outputs[output_at_[o]];
  return ok();
}

Result<Tensor> Session::state(size_t index) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (index >= states_.size())
    return wrong(DiagnosticKind::bad_option, format("state {} of {}", index, states_.size()), "count from 0");
  return values_[index] ? copy_of(values_[index]) : Tensor();
}

// wrong_input if `value` is not of the type of the state, or has another size than its fixed ones.
Status Session::check_state(size_t index, const Tensor& value) const {
  const PortInfo& port = states_[index];
  bool fits = !value || (value.dtype() == port.dtype && value.shape().size() == port.dims.size());
  for (size_t d = 0; value && fits && d < port.dims.size(); ++d)
    fits = port.dims[d] < 0 || port.dims[d] == value.shape()[d];
  if (fits) return ok();
  return wrong(DiagnosticKind::wrong_input,
               format("the state `{}` is {}, but the array is {}[{}]", port.name, port.type, value.dtype().str(),
                      join(value.shape(), ", ")),
               "give an array of this type and shape");
}

Status Session::set_state(size_t index, const Tensor& value) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (index >= states_.size())
    return wrong(DiagnosticKind::bad_option, format("state {} of {}", index, states_.size()), "count from 0");
  RELAY_RETURN_IF_ERROR(check_state(index, value));
  values_[index] = value ? copy_of(value) : Tensor();
  if (states_.size() == 1) is_lost_ = false;
  return ok();
}

void Session::reset() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Tensor& value : values_) value = Tensor();
  is_lost_ = false;
}

std::vector<Tensor> Session::snapshot() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Tensor> out;
  for (const Tensor& value : values_) out.push_back(value ? copy_of(value) : Tensor());
  return out;
}

Status Session::restore(std::span<const Tensor> states) {
  if (states.size() != states_.size())
    return wrong(DiagnosticKind::wrong_input,
                 format("the session has {}, but {} given", plural(states_.size(), "state", "states"),
                        plural(states.size(), "array was", "arrays were")),
                 "give a snapshot of a session of the same model");
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t s = 0; s < states.size(); ++s) RELAY_RETURN_IF_ERROR(check_state(s, states[s]));
  for (size_t s = 0; s < states.size(); ++s) values_[s] = states[s] ? copy_of(states[s]) : Tensor();
  is_lost_ = false;
  return ok();
}

}  // namespace relay::runtime
