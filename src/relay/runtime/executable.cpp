#include "relay/runtime/executable.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "relay/runtime/functions/function_machine.h"
#include "relay/runtime/functions/native_functions.h"
#include "relay/runtime/threads/topology.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

using Clock = std::chrono::steady_clock;

static constexpr size_t prepared_limit = 32;  // input shapes whose plans are kept

struct Executable::Graph {
  Graph(const LinkedProgram& linked, const Plan& plan) : runner(linked, linked.program->graph(), plan) {}
  SegmentRunner runner;
  std::vector<Tensor> inputs;  // the inputs of a run, aligned
  std::vector<void*> input_data, output_data;
  void clear() { inputs.clear(), input_data.clear(), output_data.clear(); }
};

struct Executable::Prepared {
  std::vector<Shape> input_shapes;
  Plan plan;
  std::vector<std::unique_ptr<Graph>> idle;  // each run takes one
};

static PortInfo port_info(const Port& port, const std::vector<std::string>& variables) {
  PortInfo info{port.name, port.type, port.is_tensor, port.dtype, {}, {}};
  for (const SizeExpr& e : port.shape) {
    info.dims.push_back(e.as_constant().value_or(-1));
    info.dim_texts.push_back(str(e, variables));
  }
  return info;
}

const char* name(Executor executor) {
  switch (executor) {
    case Executor::Graph: return "graph";
    case Executor::Vm: return "vm";
    case Executor::Aot: return "aot";
  }
  return "";
}

Executable::Executable(LinkedProgram linked, ExecutableOptions options, Executor executor)
    : linked_(std::move(linked)), options_(options), executor_(executor) {
  const Program& p = *linked_.program;
  Signature s = p.is_graph() ? graph_signature(p) : p.signature;
  for (const Port& input : s.inputs) inputs_.push_back(port_info(input, s.variables));
  for (const FieldPort& field : s.fields) fields_.push_back(port_info(field.port, s.variables));
  for (const Port& output : s.outputs) outputs_.push_back(port_info(output, s.variables));
  input_of_.resize(outputs_.size());
  for (size_t i = 0; p.is_graph() && i < outputs_.size(); ++i)
    if (const std::optional<InPlace>& in = p.graph().arrays[p.graph().outputs[i]].in_place) input_of_[i] = in->input;
  for (const Donation& d : p.donations) {
    donated_.resize(inputs_.size());
    donated_[d.input] = true;
    if (d.result) input_of_[*d.result] = d.input;
  }
}

Executable::~Executable() = default;

Result<std::shared_ptr<Executable>> Executable::create(std::shared_ptr<const Program> program,
                                                       std::shared_ptr<const KernelLibrary> library,
                                                       ExecutableOptions options) {
  RELAY_RETURN_IF_ERROR(check_thread_setting());
  RELAY_RETURN_IF_ERROR(check_threads(options.threads));
  RELAY_RETURN_IF_ERROR(validate(*program));
  bool graph = program->is_graph();
  if (options.executor == Executor::Vm && graph) program = std::make_shared<const Program>(with_function(*program));
  RELAY_ASSIGN(LinkedProgram linked, link(std::move(program), std::move(library), options.tier));
  linked.memory_limit = options.memory_limit;
  Executor executor = options.executor.value_or(graph ? Executor::Graph : linked.native ? Executor::Aot : Executor::Vm);
  if (graph && executor == Executor::Aot) executor = Executor::Graph;
  if (executor == Executor::Graph && !graph)
    return Diagnostic{DiagnosticKind::bad_option,
                      "the program has branches or calls, which the graph executor cannot run",
                      {},
                      {},
                      {},
                      "use the executor vm or aot"};
  if (executor == Executor::Aot && linked.native == nullptr)
    return Diagnostic{
        DiagnosticKind::incompatible_artifact,  "the program's functions are not machine code", {}, {}, {},
        "compile it with `relay compile --aot`"};
  if (executor == Executor::Vm) RELAY_RETURN_IF_ERROR(vm_maker());
  return std::shared_ptr<Executable>(new Executable(std::move(linked), options, executor));
}

// --- inputs and outputs ----------------------------------------------------------------------------------------------

static std::string typed(const PortInfo& info) {
  if (!info.is_tensor) return format("`{}`: {}", info.name, info.type);
  return format("`{}`: {}[{}]", info.name, info.dtype.str(), join(info.dim_texts, ", "));
}

Status Executable::check_count(size_t inputs) const {
  if (inputs == inputs_.size()) return ok();
  Diagnostic d{DiagnosticKind::wrong_input,
               format("the model takes {}, but {} given", plural(inputs_.size(), "input", "inputs"),
                      plural(inputs, "was", "were"))};
  for (const PortInfo& info : inputs_) d.notes.push_back("input " + typed(info));
  d.help = inputs_.empty() ? "give none" : "give one array for each input, in this order";
  return d;
}

Status Executable::check_tensor(size_t number, DType dtype) const {
  const PortInfo& info = port(number);
  if (!info.is_tensor || dtype == info.dtype) return ok();
  Diagnostic d{DiagnosticKind::wrong_input,
               format("input `{}` has elements of {}, but they must be {}", info.name, dtype.str(), info.dtype.str())};
  d.notes.push_back("input " + typed(info));
  d.help = format("convert the array to {}", info.dtype.str());
  return d;
}

// Checks count, type and presence; shapes are checked when they are bound.
Status Executable::check_inputs(std::span<const Tensor> inputs) const {
  RELAY_RETURN_IF_ERROR(check_count(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] && !(inputs[i].rank() > 0 && inputs[i].elements() == 0))
      return Diagnostic{DiagnosticKind::wrong_input, format("input `{}` has no value", inputs_[i].name), {}, {}, {},
                        "give it an array"};
    RELAY_RETURN_IF_ERROR(check_tensor(i, inputs[i].dtype()));
  }
  return ok();
}

static bool overlap(const Tensor& a, const Tensor& b) {
  const char* p = static_cast<const char*>(a.data());
  const char* q = static_cast<const char*>(b.data());
  return a.bytes() > 0 && b.bytes() > 0 && p < q + b.bytes() && q < p + a.bytes();
}

Status Executable::check_output(size_t index, const Tensor& supplied, const Shape& shape,
                                std::span<const Tensor> inputs) const {
  if (supplied.dtype() != outputs_[index].dtype || supplied.shape() != shape)
    return Diagnostic{
        DiagnosticKind::wrong_input,
        format("the array given for output `{}` is {}[{}], but it must be {}[{}]", outputs_[index].name,
               supplied.dtype().str(), join(supplied.shape(), ", "), outputs_[index].dtype.str(), join(shape, ", ")),
        {},
        {},
        {},
        "give an array of this type and shape, or leave it out to get a new array"};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool takes = runs_as_graph() && input_of_[index] == i && supplied.data() == inputs[i].data();
    if (overlap(supplied, inputs[i]) && !takes)
      return Diagnostic{
          DiagnosticKind::wrong_input,
          format("the array given for output `{}` overlaps input `{}`", outputs_[index].name, inputs_[i].name),
          {},
          {},
          {},
          "give an array with separate memory"};
  }
  return ok();
}

// Checks that donated inputs overlap no other input: a result may be written there while others are read. An array
// supplied for the result that takes the donated memory must be that memory.
Status Executable::check_donations(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  std::vector<bool> donated(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) donated[i] = is_donated(i);
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o] || !input_of_[o]) continue;
    const size_t i = *input_of_[o];
    if (outputs[o].data() == inputs[i].data())
      donated[i] = true;
    else if (is_donated(i))
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("output `{}` takes the memory of input `{}`, but a different array is given for it",
                               outputs_[o].name, inputs_[i].name),
                        {},
                        {},
                        {},
                        "leave out the array of this output, or give that of the input"};
  }
  if (std::find(donated.begin(), donated.end(), true) == donated.end()) return ok();
  // In the order of addresses, an input overlaps an earlier one if it overlaps the one that ends last.
  std::vector<size_t> order;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].bytes() > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return inputs[a].data() < inputs[b].data(); });
  auto end = [&](size_t i) { return static_cast<const char*>(inputs[i].data()) + inputs[i].bytes(); };
  std::optional<size_t> last, last_donated;  // the inputs so far, and the donated ones, that end last
  for (size_t i : order) {
    const std::optional<size_t>& earlier = donated[i] ? last : last_donated;
    if (earlier && overlap(inputs[i], inputs[*earlier])) {
      const bool is_given = donated[i] && !(donated[*earlier] && *earlier < i);
      const auto [given, other] = is_given ? std::pair(i, *earlier) : std::pair(*earlier, i);
      return Diagnostic{
          DiagnosticKind::wrong_input,
          format("input `{}` is donated, but its memory overlaps input `{}`", inputs_[given].name, inputs_[other].name),
          {},
          {},
          {},
          "give each of them an array with separate memory"};
    }
    if (!last || end(i) > end(*last)) last = i;
    if (donated[i] && (!last_donated || end(i) > end(*last_donated))) last_donated = i;
  }
  return ok();
}

Status Executable::copy_back(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  for (const Donation& d : linked_.program->donations) {
    if (!d.result || outputs[*d.result].data() == inputs[d.input].data()) continue;
    const Tensor& input = inputs[d.input];
    Tensor& output = outputs[*d.result];
    if (input.shape() != output.shape() || input.dtype() != output.dtype())
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("output `{}` is {}[{}], but takes the memory of input `{}`, which is {}[{}]",
                               outputs_[*d.result].name, output.dtype().str(), join(output.shape(), ", "),
                               inputs_[d.input].name, input.dtype().str(), join(input.shape(), ", ")),
                        {},
                        {},
                        {},
                        "donate inputs only for results of the same type and shape"};
    for (Tensor& other : outputs) {  // an output that was computed in place keeps its elements
      if (&other == &output || !overlap(other, input)) continue;
      Tensor copy = Tensor::empty(other.shape(), other.dtype());
      std::memcpy(copy.mutable_data(), other.data(), other.bytes());
      other = copy;
    }
    if (output.bytes() > 0) std::memcpy(const_cast<void*>(input.data()), output.data(), output.bytes());
    output = input;
  }
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
  RELAY_ASSIGN(std::vector<int64_t> variables, bind_variables(linked_.program->graph(), made->input_shapes));
  RELAY_ASSIGN(made->plan, plan_within_limit(linked_, linked_.program->graph(), std::move(variables)));
  std::lock_guard<std::mutex> lock(mutex_);
  prepared_.push_front(made);
  if (prepared_.size() > prepared_limit) prepared_.pop_back();
  return made;
}

Result<std::vector<Shape>> Executable::output_shapes(std::span<const Shape> input_shapes) {
  RELAY_RETURN_IF_ERROR(check_count(input_shapes.size()));
  const Program& p = *linked_.program;
  const Signature s = p.is_graph() ? graph_signature(p) : without_fields(p.signature);
  RELAY_ASSIGN(std::vector<int64_t> variables, bind_variables(s, input_shapes));
  std::vector<bool> bound(s.variables.size());
  for (const VariableBinding& b : s.bindings) bound[b.variable] = true;
  std::vector<Shape> shapes;
  for (const Port& output : s.outputs) {
    bool known = output.is_tensor;
    Shape shape;
    for (const SizeExpr& e : output.shape) {
      for (const SizeWord& w : e.words) known = known && (w.op != SizeOp::Var || bound[static_cast<size_t>(w.value)]);
      std::optional<int64_t> value = evaluate(e, variables);
      if (known && (!value || *value < 0))
        return Diagnostic{DiagnosticKind::wrong_input,
                          format("dimension `{}` has no valid value for these inputs", str(e, s.variables)),
                          {},
                          {},
                          {},
                          "give inputs of other shapes"};
      shape.push_back(value.value_or(0));
    }
    if (!known)
      return Diagnostic{DiagnosticKind::not_supported,
                        format("output `{}` is {}: its shape is known only after a run", output.name, output.type),
                        {},
                        {},
                        {},
                        "run the program, and read the shape of the result"};
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// --- memory ----------------------------------------------------------------------------------------------------------

Result<Executable::Arena> Executable::take_arena(const Plan& plan) {
  const int64_t bytes = plan.arena_bytes;
  Arena arena;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!arenas_.empty()) {
      arena = std::move(arenas_.back());
      arenas_.pop_back();
    }
  }
  if (!plan.device_arena_bytes.empty())
    RELAY_RETURN_IF_ERROR(arena.devices.reserve(linked_.device_numbers, linked_.program->graph(), plan));
  if (arena.memory && arena.bytes >= bytes) return arena;
  arena.memory.reset();
  void* memory = allocate_array(static_cast<size_t>(bytes));
  if (memory == nullptr)
    return Diagnostic{DiagnosticKind::out_of_memory,
                      format("no memory for {} bytes of temporaries", bytes),
                      {},
                      {},
                      {},
                      "give smaller inputs, such as a smaller batch"};
  arena.memory = {static_cast<std::byte*>(memory), [](std::byte* p) { free_array(p); }};
  arena.bytes = bytes;
  return arena;
}

// --- running ---------------------------------------------------------------------------------------------------------

Result<std::vector<Tensor>> Executable::run(std::span<const Tensor> inputs, const RunOptions& options) {
  std::vector<Tensor> outputs(outputs_.size());
  try {
    RELAY_RETURN_IF_ERROR(run_into(inputs, outputs, options));
  } catch (const std::bad_alloc&) {
    return Diagnostic{DiagnosticKind::out_of_memory,
                      "no memory for the outputs",
                      {},
                      {},
                      {},
                      "give smaller inputs, such as a smaller batch"};
  }
  return outputs;
}

// Kernels access elements at their natural alignment; a misaligned input is copied.
static Tensor naturally_aligned(const Tensor& t) {
  if (reinterpret_cast<uintptr_t>(t.data()) % t.dtype().bytes() == 0) return t;
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

Status Executable::run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  RELAY_RETURN_IF_ERROR(check_threads(options.threads));
  RELAY_RETURN_IF_ERROR(check_inputs(inputs));
  if (outputs.size() != outputs_.size())
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("the model has {}, but {} given", plural(outputs_.size(), "output", "outputs"),
                             plural(outputs.size(), "array was", "arrays were")),
                      {},
                      {},
                      {},
                      "give one array for each output"};
  for (size_t i = 0; i < outputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (outputs[i] && outputs[j] && overlap(outputs[i], outputs[j]))
        return Diagnostic{DiagnosticKind::wrong_input,
                          format("the arrays given for outputs {} and {} overlap", j, i),
                          {},
                          {},
                          {},
                          "give each output an array with separate memory"};
  RELAY_RETURN_IF_ERROR(check_donations(inputs, outputs));
  RELAY_RETURN_IF_ERROR(runs_as_graph() ? run_graph(inputs, outputs, options) : run_values(inputs, outputs, options));
  return copy_back(inputs, outputs);
}

// Fills in results that no kernel wrote, with copies: an input belongs to the caller, who may write it, and so does
// each result. A donated input is its first result itself.
void Executable::give_unwritten(const Plan& plan, std::span<const Tensor> inputs, std::span<void* const> written,
                                std::span<Tensor> outputs) const {
  const Segment& f = linked_.program->graph();
  std::vector<bool> taken(inputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (written[i]) continue;
    const Array& a = f.arrays[f.outputs[i]];
    const Shape& shape = plan.shapes[f.outputs[i]];
    const void* from = nullptr;
    if (a.kind == Array::Kind::Input) {
      from = inputs[a.index].data();
      if (!outputs[i] && is_donated(a.index) && !taken[a.index]) {
        outputs[i] = inputs[a.index], taken[a.index] = true;
        continue;
      }
    }
    if (a.kind == Array::Kind::Constant) from = linked_.program->constants[a.index].data();
    for (size_t j = 0; j < i && a.kind == Array::Kind::Output && !from; ++j)
      if (f.outputs[j] == f.outputs[i]) from = outputs[j].data();
    if (!outputs[i]) outputs[i] = Tensor::empty(shape, a.dtype);
    if (outputs[i].bytes() > 0) std::memcpy(outputs[i].mutable_data(), from, outputs[i].bytes());
  }
}

// The place of each output that kernels write: the supplied array, the storage of a donated input, or new memory.
Status Executable::place_outputs(const Plan& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                 Graph& graph) {
  const Segment& f = linked_.program->graph();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Array& a = f.arrays[f.outputs[i]];
    graph.output_data.push_back(nullptr);
    if (outputs[i]) RELAY_RETURN_IF_ERROR(check_output(i, outputs[i], plan.shapes[f.outputs[i]], inputs));
    if (a.kind != Array::Kind::Output) continue;
    bool repeated = false;
    for (size_t j = 0; j < i; ++j) repeated |= f.outputs[j] == f.outputs[i];
    if (repeated) continue;
    if (outputs[i] && reinterpret_cast<uintptr_t>(outputs[i].data()) % a.dtype.bytes() != 0)
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("the array given for output `{}` is not aligned to its elements", outputs_[i].name),
                        {},
                        {},
                        {},
                        "give an array that begins at a multiple of its elements' size"};
    if (!outputs[i] && a.in_place && is_donated(a.in_place->input)) outputs[i] = graph.inputs[a.in_place->input];
    if (!outputs[i]) outputs[i] = Tensor::empty(plan.shapes[f.outputs[i]], a.dtype);
    graph.output_data[i] = const_cast<void*>(outputs[i].data());
  }
  return ok();
}

Status Executable::run_graph(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  if (upgrade_) upgrade_->before_run();
  Clock::time_point start = Clock::now();
  bool planned = false;
  RELAY_ASSIGN(std::shared_ptr<Prepared> prepared, prepare(inputs, planned));
  const Plan& plan = prepared->plan;
  std::unique_ptr<Graph> graph;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!prepared->idle.empty()) {
      graph = std::move(prepared->idle.back());
      prepared->idle.pop_back();
    }
  }
  if (!graph) graph = std::make_unique<Graph>(linked_, plan);
  for (const Tensor& t : inputs) {
    graph->inputs.push_back(naturally_aligned(t));
    graph->input_data.push_back(const_cast<void*>(graph->inputs.back().data()));
  }
  RELAY_RETURN_IF_ERROR(place_outputs(plan, inputs, outputs, *graph));

  RELAY_ASSIGN(Arena arena, take_arena(plan));
  Status status = ok();
  if (options.report) {
    Report& r = *options.report;
    bool time_steps = r.time_steps;
    r = Report{};
    r.time_steps = time_steps;
    r.arena_bytes = plan.arena_bytes;
    r.lower_bound = plan.lower_bound;
    r.constant_bytes = linked_.constant_bytes;
    r.planned = planned;
  }
  {
    ThreadPool::Session session(ThreadPool::global(), options.threads > 0 ? options.threads : options_.threads);
    if (options.report) options.report->threads = session.threads();
    RunState state{session,           arena.memory.get(), arena.devices.addresses(),
                   graph->input_data, graph->output_data, options.report};
    status = graph->runner.run(state);
  }
  if (status) give_unwritten(plan, graph->inputs, graph->output_data, outputs);
  graph->clear();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    prepared->idle.push_back(std::move(graph));
    // The model keeps the arena of one run. Those of further runs at the same time return to the arrays that the
    // process keeps for reuse, except those with memory of devices, which takes long to get.
    if (arenas_.empty() || !plan.device_arena_bytes.empty()) arenas_.push_back(std::move(arena));
  }
  if (!status) return status;
  if (options.report) options.report->us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  return ok();
}

}  // namespace relay::runtime
