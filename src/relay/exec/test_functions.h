// Hand-written programs (runtime/test_programs.h) with their functions as machine code, for tests and benchmarks.
//
//   Result<std::shared_ptr<const KernelLibrary>> library = with_functions(*program, hand_library());
#pragma once

#include "relay/codegen/llvm/llvm.h"
#include "relay/runtime/kernel.h"

namespace relay::runtime {

// This processor, without any of its features.
inline TargetDesc any_machine() {
  TargetDesc t;
#if defined(__x86_64__)
  t.triple = "x86_64-unknown-linux-gnu", t.cpu = "x86-64";
#elif defined(__aarch64__)
  t.triple = "aarch64-unknown-linux-gnu", t.cpu = "generic";
#endif
  return t;
}

class WithFunctions : public KernelLibrary {
 public:
  WithFunctions(std::shared_ptr<const KernelLibrary> kernels, std::shared_ptr<const KernelLibrary> functions)
      : kernels_(std::move(kernels)), functions_(std::move(functions)) {}
  KernelFn find(const std::string& name) const override { return kernels_->find(name); }
  const relay_functions* functions() const override { return functions_->functions(); }

 private:
  std::shared_ptr<const KernelLibrary> kernels_, functions_;
};

inline Result<std::shared_ptr<const KernelLibrary>> with_functions(const Program& program,
                                                                   std::shared_ptr<const KernelLibrary> kernels) {
  RELAY_RETURN_IF_ERROR(validate(program));
  RELAY_ASSIGN(std::shared_ptr<KernelLibrary> functions, codegen::jit({}, any_machine(), 1, &program));
  return std::shared_ptr<const KernelLibrary>(std::make_shared<WithFunctions>(std::move(kernels), functions));
}

}  // namespace relay::runtime
