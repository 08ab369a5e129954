// The executors for the tests in function_tests.h, and shared helpers of these tests.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <fstream>
#include <set>
#include <thread>

#include "relay/runtime/functions/native_functions.h"
#include "relay/runtime/functions/references.h"
#include "relay/runtime/functions/vm.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {

struct FunctionRunner {
  const char* name;
  // The kernels, including the functions of the program if they are to be machine code.
  std::shared_ptr<const KernelLibrary> (*library)(const Program& program, std::shared_ptr<const KernelLibrary> kernels);
};
inline std::string name_of_runner(const testing::TestParamInfo<FunctionRunner>& info) { return info.param.name; }

inline double number(const Value& v) { return v.tensor().at(0); }
inline Value call(const std::shared_ptr<Executable>& e, std::vector<Value> args) {
  Result<Value> out = e->call(args);
  if (!out) throw CompileError(out.errors());
  return *out;
}
inline std::string error(const std::shared_ptr<Executable>& e, std::vector<Value> args) {
  Result<Value> out = e->call(args);
  return out ? "no error" : render(out.errors());
}
// Bytes in use. (0 under the address sanitizer, which detects leaks itself.)
inline size_t heap_bytes() { return mallinfo2().uordblks; }

class Functions : public testing::TestWithParam<FunctionRunner> {
 protected:
  std::shared_ptr<const KernelLibrary> library(const std::shared_ptr<Program>& p,
                                               std::shared_ptr<const KernelLibrary> kernels = hand_library()) {
    return GetParam().library(*p, std::move(kernels));
  }
  std::shared_ptr<Executable> make(std::shared_ptr<Program> p, ExecutableOptions options = {},
                                   std::shared_ptr<const KernelLibrary> kernels = hand_library()) {
    Result<std::shared_ptr<Executable>> e = Executable::create(p, library(p, std::move(kernels)), options);
    if (!e) throw CompileError(e.errors());
    EXPECT_STREQ(name((*e)->executor()), GetParam().name);
    return *e;
  }
  static std::unique_ptr<FunctionExecutor> executor_of(RunContext& context) {
    constexpr size_t depth = 1000;
    if (context.linked().native) return std::make_unique<NativeFunctions>(context, *context.linked().native, depth);
    return std::make_unique<Vm>(context, depth);
  }
};

}  // namespace relay::runtime
