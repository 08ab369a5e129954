#include "relay/runtime/executable.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "relay/tensor/memory.h"

namespace relay::runtime {

using Clock = std::chrono::steady_clock;

static constexpr size_t prepared_limit = 32;  // input shapes whose plans are kept

struct Executable::Prepared {
  std::vector<Shape> input_shapes;
  Plan plan;
  std::vector<std::unique_ptr<GraphRunner>> graphs;  // idle ones; one run takes one
  std::vector<std::unique_ptr<Vm>> vms;
};

static PortInfo port(const Function& f, uint32_t array, std::string name) {
  PortInfo info{std::move(name), f.arrays[array].dtype, {}, {}};
  for (const SizeExpr& e : f.arrays[array].shape) {
    info.dims.push_back(e.as_constant().value_or(-1));
    info.dim_texts.push_back(str(e, f.variables));
  }
  return info;
}

Executable::Executable(LinkedProgram linked, ExecutableOptions options)
    : linked_(std::move(linked)), options_(options) {
  const Function& f = linked_.program->entry();
  graph_ = is_straight_line(f) && !options.force_vm;
  for (const Tensor& c : linked_.program->constants) constant_bytes_ += static_cast<int64_t>(c.bytes());
  for (uint32_t i : f.inputs) inputs_.push_back(port(f, i, f.arrays[i].name));
  for (size_t i = 0; i < f.outputs.size(); ++i)
    outputs_.push_back(port(f, f.outputs[i], f.output_names.empty() ? f.arrays[f.outputs[i]].name : f.output_names[i]));
}

Executable::~Executable() = default;

Result<std::shared_ptr<Executable>> Executable::create(std::shared_ptr<const Program> program,
                                                       std::shared_ptr<const KernelLibrary> library,
                                                       ExecutableOptions options) {
  RELAY_RETURN_IF_ERROR(validate(*program));
  LinkedProgram linked{program, library, {}};
  for (const KernelEntry& kernel : program->kernels) {
    KernelFn fn = library ? library->find(kernel.name) : nullptr;
    if (fn == nullptr)
      return Diagnostic{DiagnosticKind::corrupt_file, format("the code has no kernel `{}`", kernel.name)};
    linked.kernels.push_back(fn);
  }
  return std::shared_ptr<Executable>(new Executable(std::move(linked), options));
}

// --- inputs and outputs ------------------------------------------------------------------------------------------------

static std::string typed(const PortInfo& info) {
  return format("`{}`: {}[{}]", info.name, info.dtype.str(), join(info.dim_texts, ", "));
}

// Count, type and presence; shapes are checked when they are bound.
Status Executable::check_inputs(std::span<const Tensor> inputs) const {
  if (inputs.size() != inputs_.size()) {
    Diagnostic d{DiagnosticKind::wrong_input,
                 format("the model takes {}, but {} given", plural(inputs_.size(), "input", "inputs"),
                        plural(inputs.size(), "was", "were"))};
    for (const PortInfo& info : inputs_) d.notes.push_back("input " + typed(info));
    return d;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] && !(inputs[i].rank() > 0 && inputs[i].elements() == 0))
      return Diagnostic{DiagnosticKind::wrong_input, format("input `{}` has no value", inputs_[i].name)};
    if (inputs[i].dtype() != inputs_[i].dtype) {
      Diagnostic d{DiagnosticKind::wrong_input,
                   format("input `{}` has elements of {}, but they must be {}", inputs_[i].name,
                          inputs[i].dtype().str(), inputs_[i].dtype.str())};
      d.notes.push_back("input " + typed(inputs_[i]));
      return d;
    }
  }
  return ok();
}

static bool overlap(const Tensor& a, const Tensor& b) {
  const char* p = static_cast<const char*>(a.data());
  const char* q = static_cast<const char*>(b.data());
  return a.bytes() > 0 && b.bytes() > 0 && p < q + b.bytes() && q < p + a.bytes();
}

Status Executable::check_output(size_t index, const Tensor& given, const Plan& plan,
                                std::span<const Tensor> inputs) const {
  uint32_t array = linked_.program->entry().outputs[index];
  if (given.dtype() != outputs_[index].dtype || given.shape() != plan.shapes[array])
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("the array given for output `{}` is {}[{}], but it must be {}[{}]", outputs_[index].name,
                             given.dtype().str(), join(given.shape(), ", "), outputs_[index].dtype.str(),
                             join(plan.shapes[array], ", "))};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (overlap(given, inputs[i]))
      return Diagnostic{DiagnosticKind::wrong_input, format("the array given for output `{}` overlaps input `{}`",
                                                            outputs_[index].name, inputs_[i].name)};
  return ok();
}

static bool same_shapes(const std::vector<Shape>& shapes, std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (shapes[i] != inputs[i].shape()) return false;
  return true;
}

Result<std::shared_ptr<Executable::Prepared>> Executable::prepare(std::span<const Tensor> inputs, bool& planned) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::list<std::shared_ptr<Prepared>>::iterator it = prepared_.begin(); it != prepared_.end(); ++it) {
      if (!same_shapes((*it)->input_shapes, inputs)) continue;
      prepared_.splice(prepared_.begin(), prepared_, it);
      return prepared_.front();
    }
  }
  planned = true;
  std::shared_ptr<Prepared> made = std::make_shared<Prepared>();
  for (const Tensor& input : inputs) made->input_shapes.push_back(input.shape());
  RELAY_ASSIGN(std::vector<int64_t> variables, bind_variables(linked_.program->entry(), made->input_shapes));
  RELAY_ASSIGN(made->plan, plan(*linked_.program, linked_.program->entry(), std::move(variables)));
  std::lock_guard<std::mutex> lock(mutex_);
  prepared_.push_front(made);
  if (prepared_.size() > prepared_limit) prepared_.pop_back();
  return made;
}

Result<std::vector<Shape>> Executable::output_shapes(std::span<const Shape> input_shapes) {
  const Function& f = linked_.program->entry();
  if (input_shapes.size() != f.inputs.size())
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("the model takes {}, but {} given", plural(inputs_.size(), "input", "inputs"),
                             plural(input_shapes.size(), "was", "were"))};
  RELAY_ASSIGN(std::vector<int64_t> variables, bind_variables(f, input_shapes));
  std::vector<Shape> shapes;
  for (uint32_t output : f.outputs) {
    Shape shape;
    for (const SizeExpr& e : f.arrays[output].shape) {
      std::optional<int64_t> value = evaluate(e, variables);
      if (!value || *value < 0)
        return Diagnostic{DiagnosticKind::wrong_input,
                          format("dimension `{}` has no lawful value for these inputs", str(e, f.variables))};
      shape.push_back(*value);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// --- memory ------------------------------------------------------------------------------------------------------------

Result<Executable::Arena> Executable::take_arena(int64_t bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!arenas_.empty()) {
      Arena arena = std::move(arenas_.back());
      arenas_.pop_back();
      if (arena.bytes >= bytes) return arena;
    }
  }
  Arena arena;
  void* memory = allocate_array(static_cast<size_t>(bytes));
  if (memory == nullptr)
    return Diagnostic{DiagnosticKind::out_of_memory, format("no memory for {} bytes of temporaries", bytes)};
  arena.memory = {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
  arena.bytes = bytes;
  return arena;
}

// --- running -----------------------------------------------------------------------------------------------------------

Result<std::vector<Tensor>> Executable::run(std::span<const Tensor> inputs, const RunOptions& options) {
  std::vector<Tensor> outputs(outputs_.size());
  try {
    RELAY_RETURN_IF_ERROR(run_into(inputs, outputs, options));
  } catch (const std::bad_alloc&) {
    return Diagnostic{DiagnosticKind::out_of_memory, "no memory for the outputs"};
  }
  return outputs;
}

// Kernels access elements at their natural alignment; an input that lies worse is copied.
static Tensor naturally_aligned(const Tensor& t) {
  if (reinterpret_cast<uintptr_t>(t.data()) % t.dtype().bytes() == 0) return t;
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

Status Executable::run_into(std::span<const Tensor> given, std::span<Tensor> outputs, const RunOptions& options) {
  Clock::time_point start = Clock::now();
  RELAY_RETURN_IF_ERROR(check_inputs(given));
  if (outputs.size() != outputs_.size())
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("the model has {}, but {} given", plural(outputs_.size(), "output", "outputs"),
                             plural(outputs.size(), "array was", "arrays were"))};
  bool planned = false;
  RELAY_ASSIGN(std::shared_ptr<Prepared> prepared, prepare(given, planned));
  const Plan& plan = prepared->plan;
  const Function& f = linked_.program->entry();

  std::vector<Tensor> inputs;
  std::vector<void*> input_data, output_data;
  for (const Tensor& t : given) {
    inputs.push_back(naturally_aligned(t));
    input_data.push_back(const_cast<void*>(inputs.back().data()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Array& a = f.arrays[f.outputs[i]];
    output_data.push_back(nullptr);
    if (outputs[i]) {
      RELAY_RETURN_IF_ERROR(check_output(i, outputs[i], plan, given));
      for (size_t j = 0; j < i; ++j)
        if (overlap(outputs[i], outputs[j]))
          return Diagnostic{DiagnosticKind::wrong_input,
                            format("the arrays given for outputs {} and {} overlap", j, i)};
    }
    if (a.kind != Array::Kind::Output) continue;
    bool repeated = false;
    for (size_t j = 0; j < i; ++j) repeated |= f.outputs[j] == f.outputs[i];
    if (repeated) continue;
    if (!outputs[i] || reinterpret_cast<uintptr_t>(outputs[i].data()) % a.dtype.bytes() != 0) {
      if (outputs[i])
        return Diagnostic{DiagnosticKind::wrong_input,
                          format("the array given for output `{}` is not aligned to its elements", outputs_[i].name)};
      outputs[i] = Tensor::empty(plan.shapes[f.outputs[i]], a.dtype);
    }
    output_data[i] = outputs[i].mutable_data();
  }

  RELAY_ASSIGN(Arena arena, take_arena(plan.arena_bytes));
  std::unique_ptr<GraphRunner> graph;
  std::unique_ptr<Vm> vm;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (graph_ && !prepared->graphs.empty()) {
      graph = std::move(prepared->graphs.back());
      prepared->graphs.pop_back();
    } else if (!graph_ && !prepared->vms.empty()) {
      vm = std::move(prepared->vms.back());
      prepared->vms.pop_back();
    }
  }
  if (graph_ && !graph) graph = std::make_unique<GraphRunner>(linked_, plan);
  if (!graph_ && !vm) vm = std::make_unique<Vm>(linked_, plan, plans_);

  Status status = ok();
  if (options.report) {
    Report& r = *options.report;
    bool time_steps = r.time_steps;
    r = Report{};
    r.time_steps = time_steps;
    r.arena_bytes = plan.arena_bytes;
    r.lower_bound = plan.lower_bound;
    r.constant_bytes = constant_bytes_;
    r.planned = planned;
  }
  {
    ThreadPool::Session session(ThreadPool::global(), options.threads > 0 ? options.threads : options_.threads);
    if (options.report) options.report->threads = session.threads();
    RunState state{session, arena.memory.get(), input_data, output_data, options.report};
    status = graph_ ? graph->run(state) : vm->run(state);
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (graph) prepared->graphs.push_back(std::move(graph));
    if (vm && status) prepared->vms.push_back(std::move(vm));
    arenas_.push_back(std::move(arena));
  }
  if (!status) return status;

  // Results that no kernel wrote: shared where we may, copied into an array that was given.
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (output_data[i]) continue;
    const Array& a = f.arrays[f.outputs[i]];
    Tensor from;
    if (a.kind == Array::Kind::Input) from = inputs[a.index];
    if (a.kind == Array::Kind::Constant) {
      const Tensor& c = linked_.program->constants[a.index];
      from = Tensor::view(const_cast<void*>(c.data()), plan.shapes[f.outputs[i]], a.dtype, linked_.program);
    }
    for (size_t j = 0; j < i && !from; ++j)
      if (f.outputs[j] == f.outputs[i]) from = outputs[j];
    if (!outputs[i])
      outputs[i] = from;
    else if (from.bytes() > 0)
      std::memcpy(outputs[i].mutable_data(), from.data(), from.bytes());
  }
  if (options.report) options.report->us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  return ok();
}

}  // namespace relay::runtime
