// A kernel as the runtime sees it: a function pointer. Its origin (the compiler in this process, or an earlier link)
// does not matter here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "relay/base/device_name.h"
#include "relay/runtime/functions/native.h"

namespace relay::runtime {

// Runs tasks [begin, end) of a kernel. `params`: the arrays, in the kernel's order. `shape`: the values of its shape
// variables. `scratch`: 64-byte aligned memory of the calling thread, as large as the kernel states.
using KernelFn = void (*)(void* const* params, const int64_t* shape, int64_t begin, int64_t end, void* scratch);

// Kernels by name, and the functions of a program if they are machine code. Keeps the code loaded.
class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  virtual KernelFn find(const std::string& name) const = 0;  // null if absent
  virtual const relay_functions* functions() const { return nullptr; }
  // The source of kernels for a device that compiles them itself; empty if they are machine code.
  virtual const std::string& source() const {
    static const std::string none;
    return none;
  }
  virtual std::optional<DeviceName> device() const { return {}; }  // where all of them run; unset for this process
};

// Kernels as source.
class SourceLibrary final : public KernelLibrary {
 public:
  SourceLibrary(std::string source, DeviceName device) : source_(std::move(source)), device_(std::move(device)) {}
  KernelFn find(const std::string&) const override { return nullptr; }
  const std::string& source() const override { return source_; }
  std::optional<DeviceName> device() const override { return device_; }

 private:
  const std::string source_;
  const DeviceName device_;
};

}  // namespace relay::runtime
