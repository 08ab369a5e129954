// A code generator for one target, as a compilation uses it: kernels are prepared once, and compiled in the background
// while others are lowered. codegen/llvm and codegen/c have backends.
//
//   const std::unique_ptr<Backend> backend = llvm_backend(target, threads);
//   backend->check(kernel, text);         for each kernel that a schedule makes
//   backend->begin(kernel, text);         once it is part of the program
//   backend->compile(kernels, nullptr);   waits for them, and links them into this process
#pragma once

#include <memory>
#include <span>
#include <string>

#include "relay/codegen/codegen.h"
#include "relay/runtime/program/program.h"

namespace relay::codegen {

// Files of kernels that a backend writes.
enum class CodeForm : uint8_t {
  SharedLibrary,  // without undefined symbols
  Object,         // relocatable
  Archive,        // of relocatable objects, a static library
  Source,         // text for another compiler
  Artifact,       // the form that artifacts contain, and that the runtime loads
};

// Kernels are passed as lowering made them. The result of each function is the same for any number of threads.
class Backend {
 public:
  virtual ~Backend() = default;
  // Refuses what codegen::check() refuses. `text`: the kernel's text without its name; a kernel with the text of an
  // earlier one is not checked again.
  virtual Status check(const loop::Kernel& kernel, const std::string& text) = 0;
  // Begins to compile a kernel, which must have its final name, on another thread if there are several. If many
  // wait, this thread compiles one.
  virtual void begin(const loop::Kernel& kernel, const std::string& text) = 0;
  // True if fast code is made for some of the kernels, which full code may then replace.
  virtual bool has_fast_code(std::span<const loop::Kernel> /*kernels*/) { return false; }
  // Links kernels into this process, and the functions of a valid program unless it is null. Compiles those that were
  // not begun.
  virtual Result<std::shared_ptr<KernelLibrary>> compile(std::span<const loop::Kernel> kernels,
                                                         const runtime::Program* functions) = 0;
  // The bytes of a file; bad_option if the backend does not write this form.
  virtual Result<std::string> emit(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                                   CodeForm form) = 0;
};

}  // namespace relay::codegen
