// WebAssembly modules that call kernels one after another, on memory of their own: every array has a known place, and
// one exported function runs all steps.
//
//   WasmProgram program{blocks, preparations, steps};
//   Result<std::string> module = wasm_module(kernels, program, target);   // the bytes of a .wasm file
#pragma once

#include <optional>
#include <span>

#include "relay/base/dtype.h"
#include "relay/codegen/backend.h"

namespace relay::codegen {

// The exported functions, () -> i32. The result is 0, or 1 + WasmStep::failure of a check that failed, or -1 if a
// thread has failed. relay_prepare must be called once before relay_run.
constexpr const char *wasm_prepare = "relay_prepare", *wasm_run = "relay_run";

// A range of the module's memory.
struct WasmBlock {
  std::string name;  // of the exported global that holds its address; internal if empty
  int64_t bytes = 0;
  std::string_view contents{};  // zeros if empty; alive until the module is written
};
struct WasmPlace {
  uint32_t block = 0;
  int64_t offset = 0;  // bytes
};

struct WasmStep {
  enum class Kind : uint8_t {
    Call,      // calls `kernel` with `arrays` and `sizes` on all tasks
    CallWhen,  // as Call, if the last of `arrays` has a byte in its first `bytes` that is not zero; the kernel gets the
               // others
    Copy,      // `bytes` from arrays[0] to arrays[1]
    Check,     // ends the run unless `count` integers `dtype` at arrays[0] are in [least, end)
  };
  Kind kind = Kind::Call;
  std::string kernel{};
  std::vector<WasmPlace> arrays{};
  std::vector<int64_t> sizes{};  // the values of the kernel's shape variables
  int64_t tasks = 0;
  WasmPlace scratch{};
  int64_t bytes = 0;
  DType dtype{};  // of Check, and so on
  int64_t count = 0, least = 0, end = 0;
  uint32_t failure = 0;
};

// Steps [first, first + count), `times` times. The first size of each is replaced by the number of the repetition.
struct WasmRepeat {
  uint32_t first = 0, count = 0;
  int64_t times = 0;
};

struct WasmProgram {
  std::vector<WasmBlock> blocks;
  std::vector<WasmStep> preparations;  // of constants, by other constants
  std::vector<WasmStep> steps;
  std::vector<WasmRepeat> repeats;  // in the order of their steps; they do not overlap
  int64_t scratch_bytes = 0;        // of a thread beside the first: the most that a step needs
};

// Memory that a module imports.
struct WasmMemory {
  int64_t initial = 0, maximum = 0;  // pages of 64 KiB
  // The place in the file of the byte of flags: 3 for shared memory. With 1, the module is one for memory that is not
  // shared, and runs on one thread.
  size_t flags_at = 0;
};
struct WasmModule {
  std::string bytes;
  std::optional<WasmMemory> memory{};  // unset without threads
};

// The bytes of stack of each thread, and the most threads beside the first that memory is reserved for.
constexpr int64_t wasm_stack_bytes = 1 << 20, wasm_most_workers = 63;

// True if modules for the target have threads.
bool has_wasm_threads(const TargetDesc& target);

// `kernels`: an object file with all kernels that the steps call. Kernels that no step calls are left out.
// limit_exceeded if the blocks do not fit into the 4 GiB that a module can address.
Result<WasmModule> wasm_module(std::string_view kernels, const WasmProgram& program, const TargetDesc& target);

}  // namespace relay::codegen
