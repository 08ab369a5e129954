// A stack of its own for code whose calls nest deep.
//
//   MachineStack stack;
//   if (!stack.reserve(size_t{1} << 30)) ...                          address space; memory comes as it is touched
//   void* result = stack.call(f, &arguments);                         f(&arguments) on that stack
//
// The thread's own stack is too small for recursion over a list of a million links, and its size is not ours to choose.
// Whoever runs here compares the stack's address with end(): below it, `spare` bytes are left for what does not compare
// (kernels, the runtime). Exceptions must not leave `f`.
#pragma once

#include <cstddef>

namespace relay::runtime {

class MachineStack {
 public:
  static constexpr size_t spare = size_t{8} << 20;  // as much as threads have

  MachineStack() = default;
  ~MachineStack();
  MachineStack(const MachineStack&) = delete;
  MachineStack& operator=(const MachineStack&) = delete;

  // At least so many bytes besides `spare`, or less where the address space is limited; false if there is hardly any.
  bool reserve(size_t bytes);
  bool reserved() const { return memory_ != nullptr; }
  size_t bytes() const { return bytes_ - spare; }
  // The lowest address to be used, and the address `bytes` below the top.
  const char* end() const { return memory_ + spare; }
  const char* below_top(size_t bytes) const { return bytes < this->bytes() ? memory_ + bytes_ - bytes : end(); }

  void* call(void* (*f)(void*), void* argument);
  // Gives memory back that is further below the top.
  void trim(size_t kept);

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace relay::runtime
