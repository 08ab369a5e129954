// Kernels of a WebAssembly module on several threads: instances of the module that share its memory. Internal to
// codegen/.
//
// A call is written into a block of memory, and its number wakes the threads. All of them, the calling one too, take
// tasks from a counter until there are none. The call ends when every thread has left it.
#pragma once

#include <llvm/IR/Module.h>

namespace relay::codegen {

// The exported functions:
//   relay_worker(scratch)    serves calls with this scratch memory, until relay_stop
//   relay_serve(threads)     says how many threads serve
//   relay_stop()             ends them
//   relay_fail()             is called instead of returning from relay_worker, by a thread that cannot go on
constexpr const char *wasm_worker = "relay_worker", *wasm_serve = "relay_serve", *wasm_stop = "relay_stop",
                     *wasm_fail = "relay_fail";

// Adds these functions. Returns (kernel, params, shape, tasks, scratch) -> i1, which runs all tasks of a kernel, and
// returns false if a thread has failed. `made`: sets the attributes of a function.
llvm::Function* add_wasm_threads(llvm::Module& module, llvm::function_ref<void(llvm::Function&)> made);

}  // namespace relay::codegen
