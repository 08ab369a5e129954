#include "relay/measure/operations.h"

#include <algorithm>
#include <vector>

#include "relay/codegen/llvm/llvm.h"
#include "relay/loop/loop.h"
#include "relay/measure/measure.h"
#include "relay/runtime/artifact.h"

namespace relay::measure {

static constexpr int64_t elements = 1024;

// y[i] = value of x[i], in vectors of `lanes`.
static loop::Kernel elementwise(const char* name, const char* value, int lanes) {
  Result<loop::Kernel> kernel = loop::parse_kernel(
      format("kernel {0}(x: float32[{1}] read, y: float32[{1}]), shape (), task t < 1 {{\n  for j in 0..{2} {{\n"
             "    for l in 0..{3} vectorised {{\n      y[j * {3} + l] = {4}\n    }}\n  }}\n}}\n",
             name, elements, elements / lanes, lanes, format(fmt::runtime(value), format("x[j * {} + l]", lanes))));
  RELAY_CHECK(kernel, "{}", render(kernel.errors()));
  return *kernel;
}

// Results a nanosecond, in the best of many short samples.
static double speed(codegen::KernelFn kernel) {
  std::vector<float> x(elements, 1.7F), y(elements);
  void* const params[] = {x.data(), y.data()};
  constexpr int calls = 20;
  double best = 1e30;
  for (double end = now() + 0.1; now() < end;) {
    const double begin = now();
    for (int i = 0; i < calls; ++i) kernel(params, nullptr, 0, 1, nullptr);
    best = std::min(best, now() - begin);
  }
  return calls * elements / best * 1e-9;
}

std::optional<OperationSpeeds> measure_operations(const TargetDesc& target) {
  if (!runtime::check_machine({target.name, target.triple, target.cpu, target.features})) return {};
  const int lanes = target.vector_bytes / 4;
  const loop::Kernel kernels[] = {elementwise("division", "1f / {}", lanes), elementwise("root", "sqrt({})", lanes),
                                  elementwise("exponential", "exp({})", lanes)};
  const Result<std::shared_ptr<codegen::KernelLibrary>> library = codegen::jit(kernels, target);
  RELAY_CHECK(library, "{}", render(library.errors()));
  auto of = [&](const char* name) { return speed((*library)->find(name)); };
  return OperationSpeeds{of("division"), of("root"), of("exponential")};
}

OperationSpeeds described_operations(const TargetDesc& t) {
  const double lanes_a_ns = t.ghz * t.vector_bytes / 4;
  return {lanes_a_ns / t.division_cycles, lanes_a_ns / t.root_cycles, lanes_a_ns / t.exp_cycles};
}

}  // namespace relay::measure
