// Executable: a program with its kernels, ready to run.
//
//   Result<std::vector<Tensor>> outputs = executable.run(inputs);     // of a program that takes and gives tensors
//   Result<Value> result = executable.call(values);                   // of any
//
// Inputs are used where they lie, outputs are fresh (or given). The first run of new input shapes plans them; plans and
// memory are kept. Any number of threads may run it at once: each run has its own arena; the pool's workers go to the
// first (thread_pool.h).
#pragma once

#include <list>
#include <mutex>

#include "relay/runtime/context.h"

namespace relay::runtime {

// What runs a program.
enum class Executor : uint8_t {
  Graph,  // its one segment, directly; there are no functions
  Vm,     // the VM interprets its functions; a graph is made a function that runs it
  Aot,    // its functions are machine code; a graph has none and is run as one
};
constexpr int executor_count = 3;
const char* name(Executor executor);

struct ExecutableOptions {
  int threads = 0;                      // at most; 0: all cores this process may use
  std::optional<Executor> executor{};   // none: the graph runner where it can, then machine code if there is some
  size_t call_depth = size_t{1} << 24;  // calls that wait for others, at most; of Aot see native_functions.h
  // Bytes that weights, temporaries and results of a segment may take together; 0: no limit. A segment that would take
  // more is not run. (Values that a program with functions keeps are not counted.)
  int64_t memory_limit = 0;
};

struct RunOptions {
  int threads = 0;           // 0: as the executable says
  Report* report = nullptr;  // filled if given
  // Filled if given, by output: nobody else has its memory.
  std::vector<bool>* owned = nullptr;
};

// An input or output, for people and tools. The result of a program with functions has an output for each field when it
// is a tuple, and so on.
struct PortInfo {
  std::string name;
  std::string type;       // "Tensor[(m, 224), float32]", "List[Tensor[(), int32]]"
  bool is_tensor = true;  // only then there is:
  DType dtype;
  std::vector<int64_t> dims;           // -1: symbolic ...
  std::vector<std::string> dim_texts;  // ... "m * 224"
};

struct FunctionMachine;

class Executable {
 public:
  // Validates the program and looks up its kernels, and its functions where they are machine code.
  static Result<std::shared_ptr<Executable>> create(std::shared_ptr<const Program> program,
                                                    std::shared_ptr<const KernelLibrary> library,
                                                    ExecutableOptions options = {});
  ~Executable();

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, const RunOptions& options = {});
  // Into `outputs`: those with a value are written in place (type, shape and alignment must be right, no overlap with
  // inputs), the others are filled in. An output of a graph may be given the very memory of the input in whose storage
  // it may lie (input_of()): then the input is given away.
  Status run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options = {});
  // Of values: whatever the parameters' types say. The result of a graph is its output, or a tuple when there are
  // several.
  Result<Value> call(std::span<const Value> inputs, const RunOptions& options = {});
  // The same, and the values are given away: results may lie in the memory of those that nobody else has.
  Result<Value> call_owned(std::vector<Value> inputs, const RunOptions& options = {});
  // A function that this program made.
  Result<Value> call_closure(const Value& closure, std::span<const Value> args, const RunOptions& options = {});
  // A data type of the program; wrong_input says what there is.
  Result<TypeId> type(std::string_view name) const;
  // The shapes that run() would return for such inputs, or what is wrong with them.
  Result<std::vector<Shape>> output_shapes(std::span<const Shape> input_shapes);

  const Program& program() const { return *linked_.program; }
  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  // Whether each run gives this input away (Program::donations).
  bool is_donated(size_t input) const { return given_.size() > input && given_[input]; }
  // The input in whose storage this output lies after each run, or may lie, of a graph, where the input is given away.
  std::optional<size_t> input_of(size_t output) const { return input_of_[output]; }
  Executor executor() const { return executor_; }
  bool runs_as_graph() const { return executor_ == Executor::Graph; }

 private:
  struct Prepared;  // everything for one tuple of input shapes
  // One run at a time has it: what points to its arrays, kept so that a run allocates nothing.
  struct Graph;
  struct Arena {
    std::unique_ptr<std::byte, void (*)(std::byte*)> memory{nullptr, nullptr};
    int64_t bytes = 0;
  };
  Executable(LinkedProgram linked, ExecutableOptions options, Executor executor);
  Status check_count(size_t inputs) const;
  // Of a signature's port.
  const PortInfo& port(size_t number) const {
    return number < inputs_.size() ? inputs_[number] : fields_[number - inputs_.size()];
  }
  Status check_tensor(size_t number, DType dtype) const;
  Status check_inputs(std::span<const Tensor> inputs) const;
  Status check_output(size_t index, const Tensor& given, const Shape& shape, std::span<const Tensor> inputs) const;
  Status check_donations(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  Status place_outputs(const Plan& plan, std::span<const Tensor> given, std::span<Tensor> outputs, Graph& graph);
  // Results that lie in an input's storage by contract and were computed elsewhere.
  Status put_back(std::span<const Tensor> given, std::span<Tensor> outputs) const;
  Result<Arena> take_arena(int64_t bytes);
  Result<std::shared_ptr<Prepared>> prepare(std::span<const Tensor> inputs, bool& planned);
  Status run_graph(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options);
  Status run_values(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options);
  Status check_values(std::span<const Value> inputs) const;
  // Takes the arguments over: one that nobody else has may be overwritten.
  Result<Value> run_function(uint32_t function, std::vector<Value> args, const RunOptions& options);
  Result<Value> call_graph(std::vector<Value> inputs, const RunOptions& options);

  LinkedProgram linked_;
  ExecutableOptions options_;
  Executor executor_;
  std::vector<PortInfo> inputs_, fields_, outputs_;  // fields_: of the signature
  std::vector<bool> given_;                          // by input; empty: none
  std::vector<std::optional<size_t>> input_of_;      // by output
  std::mutex mutex_;                                 // of the following
  std::list<std::shared_ptr<Prepared>> prepared_;    // the last used first
  std::vector<Arena> arenas_;
  std::vector<std::unique_ptr<FunctionMachine>> machines_;  // idle ones; one run takes one
};

// The VM. A runtime without it (without_vm.cpp in the place of with_vm.cpp) has incompatible_artifact instead.
using MakeFunctionExecutor = std::unique_ptr<FunctionExecutor> (*)(RunContext& context, size_t call_depth);
Result<MakeFunctionExecutor> vm_maker();

}  // namespace relay::runtime
