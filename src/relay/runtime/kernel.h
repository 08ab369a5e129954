// A kernel as the runtime sees it: a function pointer. Its origin (the compiler in this process, or an earlier link)
// does not matter here.
#pragma once

#include <cstdint>
#include <string>

#include "relay/runtime/functions/native.h"

namespace relay::runtime {

// The effort that was spent on machine code. Both compute the same bits.
enum class Tier : uint8_t {
  Fast,  // compiles quickly: for the first runs
  Full,
};
const char* name(Tier tier);  // "fast", "full"

// Runs tasks [begin, end) of a kernel. `params`: the arrays, in the kernel's order. `shape`: the values of its shape
// variables. `scratch`: 64-byte aligned memory of the calling thread, as large as the kernel states.
using KernelFn = void (*)(void* const* params, const int64_t* shape, int64_t begin, int64_t end, void* scratch);

// Kernels by name, and the functions of a program if they are machine code. Keeps the code loaded.
class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  virtual KernelFn find(const std::string& name) const = 0;  // null if absent
  virtual const relay_functions* functions() const { return nullptr; }
  // The source of kernels for devices of a kind, such as "opencl", that compile them themselves; empty if absent.
  virtual const std::string& source(std::string_view) const {
    static const std::string none;
    return none;
  }
  virtual bool is_source() const { return false; }  // for the kernels of the whole program
};

// Kernels as source for one kind of device.
class SourceLibrary final : public KernelLibrary {
 public:
  SourceLibrary(std::string_view kind, std::string source) : kind_(kind), source_(std::move(source)) {}
  KernelFn find(const std::string&) const override { return nullptr; }
  const std::string& source(std::string_view kind) const override {
    return kind == kind_ ? source_ : KernelLibrary::source(kind);
  }
  bool is_source() const override { return true; }

 private:
  const std::string kind_, source_;
};

}  // namespace relay::runtime
