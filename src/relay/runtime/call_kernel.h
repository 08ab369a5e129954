// Calls of single kernels.
#pragma once

#include <atomic>

#include "relay/base/diagnostics.h"
#include "relay/runtime/kernel.h"
#include "relay/runtime/threads/thread_choice.h"
#include "relay/runtime/threads/thread_pool.h"

namespace relay::runtime {

inline Diagnostic out_of_scratch() {
  return {DiagnosticKind::out_of_memory,      "no memory for a kernel's scratch buffers", {}, {}, {},
          "free memory, or use fewer threads"};
}

// Calls one kernel on the session's threads. Sets `failed` if a thread cannot get its scratch memory.
inline void call_kernel(ThreadPool::Session& session, KernelFn kernel, void* const* params, const int64_t* shape,
                        int64_t tasks, int64_t scratch_bytes, const ThreadChoice& threads, std::atomic<bool>& failed) {
  if (tasks == 1 && scratch_bytes == 0) return kernel(params, shape, 0, 1, nullptr);
  auto range = [=, &failed](int64_t begin, int64_t end, int) {
    void* scratch = scratch_bytes > 0 ? thread_scratch(static_cast<size_t>(scratch_bytes)) : nullptr;
    if (scratch_bytes > 0 && scratch == nullptr) return failed.store(true, std::memory_order_relaxed);
    kernel(params, shape, begin, end, scratch);
  };
  session.parallel(tasks, range, threads.limit(), threads.pieces());
}

}  // namespace relay::runtime
