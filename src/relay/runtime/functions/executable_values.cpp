// Runs programs with functions: values in, a value out.
#include <chrono>

#include "relay/runtime/executable.h"
#include "relay/runtime/functions/function_machine.h"
#include "relay/runtime/functions/native_functions.h"
#include "relay/runtime/threads/topology.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

using Clock = std::chrono::steady_clock;

Result<Value> Executable::run_function(uint32_t function, std::vector<Value> args, const RunOptions& options) {
  if (upgrade_) upgrade_->before_run();
  Clock::time_point start = Clock::now();
  std::unique_ptr<FunctionMachine> machine;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!machines_.empty()) {
      machine = std::move(machines_.back());
      machines_.pop_back();
    }
  }
  if (!machine) {
    machine = std::make_unique<FunctionMachine>(linked_);
    if (executor_ == Executor::Aot)
      machine->functions = std::make_unique<NativeFunctions>(machine->context, *linked_.native, options_.call_depth);
    else
      machine->functions = (*vm_maker())(machine->context, options_.call_depth);
  }
  std::vector<Object*> objects;
  for (const Value& v : args) objects.push_back(v.get());
  RunContext& context = machine->context;
  auto return_machine = [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    machines_.push_back(std::move(machine));
  };
  if (linked_.uses_references && !context.references().adopt(objects)) {
    return_machine();
    return Diagnostic{DiagnosticKind::wrong_input,
                      "a reference among the inputs is used by another run",
                      {},
                      {},
                      {},
                      "wait for that run to end, or give each run a separate reference"};
  }
  if (options.report) {
    bool time_steps = options.report->time_steps;
    *options.report = Report{};
    options.report->time_steps = time_steps;
    options.report->constant_bytes = linked_.constant_bytes;
  }
  Value result;
  std::vector<std::pair<Value, uint32_t>> lent;  // with the count without `args`
  for (const Value& v : args)
    if (options.inputs_are_lent && v.is_tensor() && v.get()->tag == TensorObject::Shared)
      lent.emplace_back(v, v.get()->count.load(std::memory_order_relaxed));
  {
    ThreadPool::Session session(ThreadPool::global(), options.threads > 0 ? options.threads : options_.threads);
    if (options.report) options.report->threads = session.threads();
    context.begin(session, options.report);
    for (Value& v : args) v.detach();  // now owned by the executor
    if (Object* made = machine->functions->call(function, objects)) result = Value::take(made);
    if (result && !context.finish()) result = Value();
    if (result && !(result = Value::take(with_own_tensors(result.detach())))) context.fail_no_memory();
    for (auto& [v, count] : lent)
      if (v.get()->count.load(std::memory_order_acquire) > count && !keep_own_copy(as_tensor(v.get())))
        result = Value(), context.fail_no_memory();
    context.end();
  }
  Diagnostics errors = std::move(context.errors());
  return_machine();
  if (!result) return errors;
  if (options.report) options.report->us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  return result;
}

// The reason why a value does not fit a port that is not a tensor; empty if it fits.
static std::string misfit(const Port& port, const Object* o, const std::vector<TypeId>& types) {
  bool fits = !port.kind || *port.kind == o->kind;
  if (fits && port.kind == ObjectKind::Data) fits = o->id == types[port.data_type];
  if (fits && port.kind == ObjectKind::Tuple && o->size != port.fields)
    return format("a tuple of {}", plural(o->size, "value", "values"));
  return fits ? "" : describe(o);
}

Status Executable::check_values(std::span<const Value> inputs) const {
  RELAY_RETURN_IF_ERROR(check_count(inputs.size()));
  const Signature* s = runs_as_graph() ? nullptr : &linked_.program->signature;
  std::vector<const Object*> objects;  // by port
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inputs_.size() + fields_.size(); ++i) {
    const PortInfo& info = port(i);
    if (i < inputs.size())
      objects.push_back(inputs[i].get());
    else
      objects.push_back(fields(objects[s->fields[i - inputs.size()].of])[s->fields[i - inputs.size()].index]);
    const Object* o = objects.back();
    Shape& shape = shapes.emplace_back();
    if (o == nullptr)
      return Diagnostic{
          DiagnosticKind::wrong_input, format("input `{}` has no value", info.name), {}, {}, {}, "give it a value"};
    const std::string wrong = !info.is_tensor                 ? misfit(s->port(i), o, linked_.types)
                              : o->kind == ObjectKind::Tensor ? ""
                                                              : describe(o);
    if (!wrong.empty())
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("input `{}` is {}, but it must be {}", info.name, wrong, info.type),
                        {},
                        {},
                        {},
                        "give a value of this type"};
    if (o->kind != ObjectKind::Tensor) continue;
    const TensorObject* t = as_tensor(o);
    RELAY_RETURN_IF_ERROR(check_tensor(i, dtype_of(t)));
    shape.assign(t->dims(), t->dims() + t->size);
  }
  if (runs_as_graph()) return ok();  // the graph checks the shapes itself
  RELAY_RETURN_IF_ERROR(bind_variables(*s, shapes));
  return ok();
}

// A result uses the memory of a donated value: one of the program's donations, or a value that nothing else refers to.
Result<Value> Executable::call_graph(std::vector<Value> inputs, const RunOptions& options) {
  std::vector<Tensor> tensors, outputs(outputs_.size());
  std::vector<int> reused(outputs_.size(), -1);
  for (size_t o = 0; o < outputs_.size(); ++o) {
    if (!input_of_[o]) continue;
    const Value& v = inputs[*input_of_[o]];
    if (!is_unique(v.get()) || as_tensor(v.get())->is_shared()) continue;
    reused[o] = static_cast<int>(*input_of_[o]);
  }
  for (const Value& v : inputs) tensors.push_back(v.tensor());
  for (size_t o = 0; o < outputs_.size(); ++o)
    if (reused[o] >= 0 && linked_.program->graph().arrays[linked_.program->graph().outputs[o]].in_place)
      outputs[o] = tensors[static_cast<size_t>(reused[o])];
  RELAY_RETURN_IF_ERROR(run_into(tensors, outputs, options));
  std::vector<Value> values;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const bool same = reused[o] >= 0 && outputs[o].data() == tensors[static_cast<size_t>(reused[o])].data();
    values.push_back(same ? inputs[static_cast<size_t>(reused[o])] : Value::donated(outputs[o]));
  }
  return values.size() == 1 ? values[0] : Value::tuple(std::move(values));
}

Result<Value> Executable::call(std::span<const Value> inputs, const RunOptions& options) {
  return call_owned({inputs.begin(), inputs.end()}, options);
}

Result<Value> Executable::call_owned(std::vector<Value> inputs, const RunOptions& options) {
  try {
    RELAY_RETURN_IF_ERROR(check_threads(options.threads));
    RELAY_RETURN_IF_ERROR(check_values(inputs));
    for (size_t i = 0; i < inputs.size(); ++i)
      if (is_donated(i)) inputs[i] = Value::donated(inputs[i].tensor());
    return runs_as_graph() ? call_graph(std::move(inputs), options) : run_function(0, std::move(inputs), options);
  } catch (const std::bad_alloc&) {
    return Diagnostic{DiagnosticKind::out_of_memory,
                      "no memory for the run",
                      {},
                      {},
                      {},
                      "give smaller inputs, such as a smaller batch"};
  }
}

Result<Value> Executable::call_closure(const Value& closure, std::span<const Value> args, const RunOptions& options) {
  try {
    const std::vector<Function>& functions = linked_.program->functions;
    uint32_t index =
        closure && closure.kind() == ObjectKind::Closure ? closure.get()->id - linked_.first_function : UINT32_MAX;
    if (index >= functions.size())
      return Diagnostic{DiagnosticKind::wrong_input,
                        "the value called is not a function of this program",
                        {},
                        {},
                        {},
                        "call a function with the program that returned it"};
    const Function& f = functions[index];
    std::vector<Value> all;
    for (size_t i = 0; i < closure.size(); ++i) all.push_back(closure.field(i));
    if (f.takes_self) all.push_back(closure);
    if (all.size() + args.size() != f.parameters)
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("the function takes {}, but {} given",
                               plural(static_cast<int64_t>(f.parameters - all.size()), "argument", "arguments"),
                               plural(static_cast<int64_t>(args.size()), "was", "were")),
                        {},
                        {},
                        {},
                        "give one argument for each parameter"};
    for (const Value& v : args) {
      if (!v)
        return Diagnostic{DiagnosticKind::wrong_input,  "an argument has no value", {}, {}, {},
                          "give every argument a value"};
      all.push_back(v);
    }
    return run_function(index, std::move(all), options);
  } catch (const std::bad_alloc&) {
    return Diagnostic{DiagnosticKind::out_of_memory,
                      "no memory for the run",
                      {},
                      {},
                      {},
                      "give smaller inputs, such as a smaller batch"};
  }
}

Result<TypeId> Executable::type(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < linked_.program->types.size(); ++i) {
    if (linked_.program->types[i].name == name) return linked_.types[i];
    names.push_back(linked_.program->types[i].name);
  }
  return Diagnostic{DiagnosticKind::wrong_input,
                    format("the program has no data type `{}`", name),
                    {},
                    {},
                    {},
                    names.empty() ? "it has no data types: its values are tensors and tuples"
                                  : format("its data types are: {}", join(names, ", "))};
}

// The tensors of a result, by output: tuples are flattened into their fields.
static bool flatten(const Value& result, std::vector<Value>& out) {
  std::vector<Value> work = {result};
  while (!work.empty()) {
    Value v = std::move(work.back());
    work.pop_back();
    if (v.is_tensor()) {
      out.push_back(std::move(v));
    } else if (v.kind() == ObjectKind::Tuple) {
      for (size_t i = v.size(); i-- > 0;) work.push_back(v.field(i));
    } else {
      return false;
    }
  }
  return true;
}

Status Executable::run_values(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  std::vector<Value> values, results;
  for (size_t i = 0; i < inputs.size(); ++i)
    values.push_back(is_donated(i) ? Value::donated(inputs[i]) : Value::tensor(inputs[i]));
  RELAY_RETURN_IF_ERROR(check_values(values));
  RELAY_ASSIGN(Value result, run_function(0, std::move(values), options));
  if (!flatten(result, results) || results.size() != outputs.size())
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("the result does not consist of {}: {}",
                             plural(static_cast<int64_t>(outputs.size()), "tensor", "tensors"), str(result, 20)),
                      {},
                      {},
                      {},
                      "use call(), which returns any value"};
  result = Value();
  std::vector<bool> taken(inputs.size());
  // Returns true for the first result in the memory of a donated input.
  const auto takes_donated = [&](const Tensor& t) {
    for (size_t j = 0; j < inputs.size(); ++j)
      if (is_donated(j) && !taken[j] && inputs[j].data() == t.data()) return taken[j] = true, true;
    return false;
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorObject* t = as_tensor(results[i].get());
    if (outputs[i]) {
      Tensor from = results[i].tensor();
      RELAY_RETURN_IF_ERROR(check_output(i, outputs[i], from.shape(), inputs));
      if (from.bytes() > 0) std::memcpy(outputs[i].mutable_data(), from.data(), from.bytes());
      continue;
    }
    outputs[i] = results[i].tensor();
    if ((is_unique(t) && !t->is_shared()) || takes_donated(outputs[i])) continue;
    const Tensor shared = std::exchange(outputs[i], Tensor::empty(outputs[i].shape(), outputs[i].dtype()));
    if (shared.bytes() > 0) std::memcpy(outputs[i].mutable_data(), shared.data(), shared.bytes());
  }
  return ok();
}

}  // namespace relay::runtime
