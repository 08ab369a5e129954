#include "relay/measure/operations.h"

#include <algorithm>
#include <vector>

#include "relay/codegen/llvm/llvm.h"
#include "relay/loop/loop.h"
#include "relay/measure/measure.h"
#include "relay/runtime/artifacts/artifact.h"

namespace relay::measure {

static constexpr int64_t elements = 1024;

// y[i] = value of x[i], in vectors of `lanes`.
static loop::Kernel elementwise(const std::string& name, const char* value, DType type, int lanes) {
  Result<loop::Kernel> kernel = loop::parse_kernel(
      format("kernel {0}(x: {5}[{1}] read, y: {5}[{1}]), shape (), task t < 1 {{\n  for j in 0..{2} {{\n"
             "    for l in 0..{3} vectorised {{\n      y[j * {3} + l] = {4}\n    }}\n  }}\n}}\n",
             name, elements, elements / lanes, lanes, format(fmt::runtime(value), format("x[j * {} + l]", lanes)),
             type.str()));
  RELAY_CHECK(kernel, "{}", render(kernel.errors()));
  return *kernel;
}

// Results per nanosecond, in the best of many short samples.
template <class T>
static double speed(codegen::KernelFn kernel) {
  std::vector<T> x(elements, T(1.7)), y(elements);
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

std::optional<Speeds> measure_operations(const TargetDesc& target) {
  if (!runtime::check_machine({target.name, target.triple, target.cpu, target.features})) return {};
  std::vector<loop::Kernel> kernels;
  for (const DType type : {DType::float32(), DType::float64()}) {
    const int lanes = target.vector_bytes / type.bytes();
    const char* division = type.bits == 64 ? "1f64 / {}" : "1f / {}";
    kernels.push_back(elementwise("division" + type.str(), division, type, lanes));
    kernels.push_back(elementwise("root" + type.str(), "sqrt({})", type, lanes));
    kernels.push_back(elementwise("exponential" + type.str(), "exp({})", type, lanes));
  }
  const Result<std::shared_ptr<codegen::KernelLibrary>> library = codegen::jit(kernels, target);
  RELAY_CHECK(library, "{}", render(library.errors()));
  auto of = [&](size_t k) { return (*library)->find(kernels[k].name); };
  return Speeds{{speed<float>(of(0)), speed<float>(of(1)), speed<float>(of(2))},
                {speed<double>(of(3)), speed<double>(of(4)), speed<double>(of(5))}};
}

static OperationSpeeds described(const TargetDesc& t, const OperationCycles& cycles, int bytes) {
  const double lanes_a_ns = t.ghz * t.vector_bytes / bytes;
  return {lanes_a_ns / cycles.division, lanes_a_ns / cycles.root, lanes_a_ns / cycles.exp};
}

Speeds described_operations(const TargetDesc& t) {
  return {described(t, t.float32_cycles, 4), described(t, t.float64_cycles, 8)};
}

}  // namespace relay::measure
