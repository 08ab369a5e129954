// Executable: a program with its kernels, ready to run.
//
//   Result<std::vector<Tensor>> outputs = executable.run(inputs);     // for a program on tensors
//   Result<Value> result = executable.call(values);                   // for any program
//
// Inputs are used without a copy; outputs are fresh, or supplied by the caller. The first run with new input shapes
// plans them; plans and memory are kept. Any number of threads may run it at once: each run has its own arena; the
// first gets the pool's workers (thread_pool.h).
#pragma once

#include <list>
#include <mutex>

#include "relay/runtime/context.h"

namespace relay::runtime {

// The way in which a program is run.
enum class Executor : uint8_t {
  Graph,  // runs its one segment directly; there are no functions
  Vm,     // the VM interprets its functions; a graph is wrapped in a function that runs it
  Aot,    // its functions are machine code; a graph has none and runs as Graph
};
constexpr int executor_count = 3;
const char* name(Executor executor);

struct ExecutableOptions {
  int threads = 0;                      // at most; 0: all cores that this process may use
  std::optional<Executor> executor{};   // unset: the graph runner if possible, else machine code if available
  size_t call_depth = size_t{1} << 24;  // limit on the number of nested calls; for Aot see native_functions.h
  // The limit in bytes on the weights, temporaries and results of a segment together; 0 if unlimited. A segment that
  // would exceed it is not run. (Values that a program with functions keeps are not counted.)
  int64_t memory_limit = 0;
  Tier tier = Tier::Full;  // of the library's kernels
};

struct RunOptions {
  int threads = 0;           // 0: the executable's setting
  Report* report = nullptr;  // filled in if set
  // For call(): the caller may write the tensors among the inputs after the run. Those that the run keeps, in its
  // result or in references, are copied. (Tensors in tuples and data values are never written.)
  bool inputs_are_lent = false;
};

// An input or output, for people and tools. If the result of a program with functions is a tuple, each field is an
// output, recursively.
struct PortInfo {
  std::string name;
  std::string type;       // "Tensor[(m, 224), float32]", "List[Tensor[(), int32]]"
  bool is_tensor = true;  // the following fields are only for tensors:
  DType dtype;
  std::vector<int64_t> dims;           // -1 if symbolic ...
  std::vector<std::string> dim_texts;  // ... "m * 224"
};

struct FunctionMachine;

// Work in the background that exchanges the code of an executable. The destructor stops it.
class Upgrade {
 public:
  virtual ~Upgrade() = default;
  virtual void before_run() = 0;
  // Begins the work, if it has not begun, and waits for its end. Returns its errors.
  virtual Status wait() = 0;
};

class Executable {
 public:
  // Validates the program and looks up its kernels, and its functions if they are machine code.
  static Result<std::shared_ptr<Executable>> create(std::shared_ptr<const Program> program,
                                                    std::shared_ptr<const KernelLibrary> library,
                                                    ExecutableOptions options = {});
  ~Executable();

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, const RunOptions& options = {});
  // Runs into `outputs`. Those with a value are written in place (type, shape and alignment must be right, without
  // overlap with inputs), the others are filled in. For a graph, an output may be the memory of the very input whose
  // storage it may use (input_of()): the input is then donated.
  Status run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options = {});
  // Runs on values of the parameters' types. The result of a graph is its output, or a tuple if there are several.
  Result<Value> call(std::span<const Value> inputs, const RunOptions& options = {});
  // The same with donated values: results may use the memory of values that nothing else refers to.
  Result<Value> call_owned(std::vector<Value> inputs, const RunOptions& options = {});
  // Calls a function value that this program made.
  Result<Value> call_closure(const Value& closure, std::span<const Value> args, const RunOptions& options = {});
  // A data type of the program; wrong_input lists the available ones.
  Result<TypeId> type(std::string_view name) const;
  // The shapes that run() would return for inputs of these shapes, or the errors in them.
  Result<std::vector<Shape>> output_shapes(std::span<const Shape> input_shapes);

  const Program& program() const { return *linked_.program; }
  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  // True if each run donates this input (Program::donations).
  bool is_donated(size_t input) const { return donated_.size() > input && donated_[input]; }
  // For a graph, the input whose storage this output uses after each run, or may use if that input is donated.
  std::optional<size_t> input_of(size_t output) const { return input_of_[output]; }
  Executor executor() const { return executor_; }
  bool runs_as_graph() const { return executor_ == Executor::Graph; }
  // The tier of the kernels that the next run calls.
  Tier tier() const { return linked_.code->now()->tier; }
  const std::shared_ptr<KernelCode>& code() const { return linked_.code; }
  // Keeps work that exchanges code(). Must be called before the first run, once.
  void set_upgrade(std::unique_ptr<Upgrade> upgrade) { upgrade_ = std::move(upgrade); }
  // Waits until the code is not exchanged any more.
  Status wait_for_upgrade() { return upgrade_ ? upgrade_->wait() : ok(); }

 private:
  struct Prepared;  // everything for one tuple of input shapes
  // Used by one run at a time: pointers to its arrays, kept so that a run allocates nothing.
  struct Graph;
  struct Arena {
    std::unique_ptr<std::byte, void (*)(std::byte*)> memory{nullptr, nullptr};
    int64_t bytes = 0;
    DeviceArenas devices;
  };
  Executable(LinkedProgram linked, ExecutableOptions options, Executor executor);
  Status check_count(size_t inputs) const;
  // The port of this number in the signature.
  const PortInfo& port(size_t number) const {
    return number < inputs_.size() ? inputs_[number] : fields_[number - inputs_.size()];
  }
  Status check_tensor(size_t number, DType dtype) const;
  Status check_inputs(std::span<const Tensor> inputs) const;
  Status check_output(size_t index, const Tensor& supplied, const Shape& shape, std::span<const Tensor> inputs) const;
  Status check_donations(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  Status place_outputs(const Plan& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs, Graph& graph);
  void give_unwritten(const Plan& plan, std::span<const Tensor> inputs, std::span<void* const> written,
                      std::span<Tensor> outputs) const;
  // Copies results that must be in an input's storage but were computed elsewhere.
  Status copy_back(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  Result<Arena> take_arena(const Plan& plan);
  Result<std::shared_ptr<Prepared>> prepare(std::span<const Tensor> inputs, bool& planned);
  Status run_graph(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options);
  Status run_values(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options);
  Status check_values(std::span<const Value> inputs) const;
  // Takes ownership of the arguments: those that nothing else refers to may be overwritten.
  Result<Value> run_function(uint32_t function, std::vector<Value> args, const RunOptions& options);
  Result<Value> call_graph(std::vector<Value> inputs, const RunOptions& options);

  LinkedProgram linked_;
  ExecutableOptions options_;
  Executor executor_;
  std::vector<PortInfo> inputs_, fields_, outputs_;  // fields_: of the signature
  std::vector<bool> donated_;                        // by input; empty if none
  std::vector<std::optional<size_t>> input_of_;      // by output
  std::mutex mutex_;                                 // guards the following
  std::list<std::shared_ptr<Prepared>> prepared_;    // most recently used first
  std::vector<Arena> arenas_;
  std::vector<std::unique_ptr<FunctionMachine>> machines_;  // idle ones; each run takes one
  std::unique_ptr<Upgrade> upgrade_;                        // null if there is none
};

// The VM. A runtime built without it (without_vm.cpp instead of with_vm.cpp) returns incompatible_artifact.
using MakeFunctionExecutor = std::unique_ptr<FunctionExecutor> (*)(RunContext& context, size_t call_depth);
Result<MakeFunctionExecutor> vm_maker();

}  // namespace relay::runtime
