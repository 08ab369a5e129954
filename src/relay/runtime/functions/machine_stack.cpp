#include "relay/runtime/functions/machine_stack.h"

#include <sys/mman.h>

#include <algorithm>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RELAY_ASAN 1
#endif
#endif
#if defined(RELAY_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace relay::runtime {

// Calls f(argument) with the stack pointer at `top`, which is aligned to 16. In assembly, because C++ cannot move the
// stack.
extern "C" void* relay_call_on_stack(void* argument, void* (*f)(void*), void* top);

#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .type relay_call_on_stack, @function
relay_call_on_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdx, %rsp
  callq *%rsi
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa %rsp, 8
  retq
  .cfi_endproc
  .size relay_call_on_stack, . - relay_call_on_stack
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text
  .type relay_call_on_stack, @function
relay_call_on_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  mov sp, x2
  blr x1
  mov sp, x29
  ldp x29, x30, [sp], #16
  .cfi_def_cfa sp, 0
  ret
  .cfi_endproc
  .size relay_call_on_stack, . - relay_call_on_stack
  .popsection
)");
#else
#error "relay_call_on_stack() is not written for this processor"
#endif

static constexpr size_t page = 4096;
static constexpr size_t least = size_t{64} << 10;

MachineStack::~MachineStack() {
  if (memory_) ::munmap(memory_, bytes_);
}

bool MachineStack::reserve(size_t bytes) {
  for (bytes = std::max((bytes + page - 1) / page * page, least); bytes >= least; bytes = bytes / 2 / page * page) {
    void* memory = ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) continue;
    ::mprotect(memory, page, PROT_NONE);  // guard page: an overflow must not write elsewhere
    memory_ = static_cast<char*>(memory);
    bytes_ = bytes + spare;
    return true;
  }
  return false;
}

void MachineStack::trim(size_t kept) {
  const char* from = below_top(kept);
  ::madvise(memory_ + page, static_cast<size_t>(from - memory_) / page * page - page, MADV_DONTNEED);
}

#if defined(RELAY_ASAN)
namespace {
struct Call {
  void* (*f)(void*);
  void* argument;
};
// Tells the address sanitizer which stack is in use.
void* announced(void* argument) {
  const void* outer = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &outer, &bytes);
  Call* call = static_cast<Call*>(argument);
  void* result = call->f(call->argument);
  __sanitizer_start_switch_fiber(nullptr, outer, bytes);
  return result;
}
}  // namespace

void* MachineStack::call(void* (*f)(void*), void* argument) {
  Call call{f, argument};
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, memory_, bytes_);
  void* result = relay_call_on_stack(&call, announced, memory_ + bytes_);
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
  return result;
}
#else
void* MachineStack::call(void* (*f)(void*), void* argument) {
  return relay_call_on_stack(argument, f, memory_ + bytes_);
}
#endif

}  // namespace relay::runtime
