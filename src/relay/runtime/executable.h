// Executable: a program with its kernels, ready to run.
//
//   Result<std::vector<Tensor>> outputs = executable.run(inputs);
//
// Inputs are used where they lie, outputs are fresh (or given). The first run of new input shapes plans them; plans and
// memory are kept. Any number of threads may run it at once: each run has its own arena; the pool's workers go to the
// first (thread_pool.h).
#pragma once

#include <list>
#include <mutex>

#include "relay/runtime/graph_runner.h"
#include "relay/runtime/vm.h"

namespace relay::runtime {

struct ExecutableOptions {
  int threads = 0;        // at most; 0: all cores this process may use
  bool force_vm = false;  // even where the graph runner could run it
};

struct RunOptions {
  int threads = 0;           // 0: as the executable says
  Report* report = nullptr;  // filled if given
};

// An input or output, for people and tools.
struct PortInfo {
  std::string name;
  DType dtype;
  std::vector<int64_t> dims;           // -1: symbolic ...
  std::vector<std::string> dim_texts;  // ... "m * 224"
};

class Executable {
 public:
  // Validates the program and looks up its kernels.
  static Result<std::shared_ptr<Executable>> create(std::shared_ptr<const Program> program,
                                                    std::shared_ptr<const KernelLibrary> library,
                                                    ExecutableOptions options = {});
  ~Executable();

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, const RunOptions& options = {});
  // Into `outputs`: those with a value are written in place (type, shape and alignment must be right, no overlap with
  // inputs), the others are filled in.
  Status run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options = {});
  // The shapes that run() would return for such inputs, or what is wrong with them.
  Result<std::vector<Shape>> output_shapes(std::span<const Shape> input_shapes);

  const Program& program() const { return *linked_.program; }
  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  bool runs_as_graph() const { return graph_; }

 private:
  struct Prepared;  // everything for one tuple of input shapes
  struct Arena {
    std::unique_ptr<std::byte, void (*)(std::byte*)> memory{nullptr, nullptr};
    int64_t bytes = 0;
  };
  Executable(LinkedProgram linked, ExecutableOptions options);
  Status check_inputs(std::span<const Tensor> inputs) const;
  Result<std::shared_ptr<Prepared>> prepare(std::span<const Tensor> inputs, bool& planned);
  Status check_output(size_t index, const Tensor& given, const Plan& plan, std::span<const Tensor> inputs) const;
  Result<Arena> take_arena(int64_t bytes);

  LinkedProgram linked_;
  ExecutableOptions options_;
  bool graph_;
  int64_t constant_bytes_ = 0;
  std::vector<PortInfo> inputs_, outputs_;
  PlanCache plans_;
  std::mutex mutex_;                               // of the two below
  std::list<std::shared_ptr<Prepared>> prepared_;  // the last used first
  std::vector<Arena> arenas_;
};

}  // namespace relay::runtime
