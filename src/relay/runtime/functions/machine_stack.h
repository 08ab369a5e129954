// A separate stack for code with deeply nested calls.
//
//   MachineStack stack;
//   if (!stack.reserve(size_t{1} << 30)) ...                          address space; memory is committed when touched
//   void* result = stack.call(f, &arguments);                         f(&arguments) on that stack
//
// The thread's own stack is too small for recursion over a list of a million links, and Relay cannot choose its size.
// Code that runs here compares the stack's address with end(): below it, `spare` bytes are left for code that does not
// compare (kernels, the runtime). Exceptions must not leave `f`.
#pragma once

#include <cstddef>

namespace relay::runtime {

class MachineStack {
 public:
  static constexpr size_t spare = size_t{8} << 20;  // bytes, as much as threads have

  MachineStack() = default;
  ~MachineStack();
  MachineStack(const MachineStack&) = delete;
  MachineStack& operator=(const MachineStack&) = delete;

  // Reserves `bytes` in addition to `spare`, or less if the address space is limited; returns false if there is hardly
  // any.
  bool reserve(size_t bytes);
  bool reserved() const { return memory_ != nullptr; }
  size_t bytes() const { return bytes_ - spare; }
  // The lowest usable address, and the address `bytes` below the top.
  const char* end() const { return memory_ + spare; }
  const char* below_top(size_t bytes) const { return bytes < this->bytes() ? memory_ + bytes_ - bytes : end(); }

  void* call(void* (*f)(void*), void* argument);
  // Releases memory more than `kept` bytes below the top.
  void trim(size_t kept);

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace relay::runtime
