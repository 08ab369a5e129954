// A user-defined backend, without a change to Relay: reads a program from stdin, compiles it with the backend and with
// LLVM, and compares the results.
#include <cmath>
#include <iostream>
#include <iterator>

#include "cc_backend.h"
#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/text/text.h"

using namespace relay;

static Result<Tensor> result_of(runtime::Executable& executable, const ir::Module& module) {
  std::vector<Tensor> inputs;
  for (const ir::VarRef& p : module.functions.at("main")->params) {
    Tensor drawn = Tensor::empty(*ir::static_shape(p->annotation), DType::float32());
    for (int64_t i = 0; i < drawn.elements(); ++i) drawn.set(i, static_cast<double>(i * 31 % 17) - 8);
    inputs.push_back(drawn);
  }
  RELAY_ASSIGN(std::vector<Tensor> results, executable.run(inputs));
  return results[0];
}

static Status run() {
  std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  RELAY_ASSIGN(ir::Module module, text::parse(text));
  driver::Options options;
  RELAY_ASSIGN(options.lower.target, driver::find_target("native"));
  RELAY_ASSIGN(driver::Compiled usual, driver::compile(module, options));

  const std::shared_ptr<codegen::Backend> backend = cc_backend();
  std::vector<std::string> notes;
  RELAY_ASSIGN(const ir::Module typed, driver::before_passes(module, options, notes));
  RELAY_ASSIGN(const ir::Module better, driver::optimise(typed, options));
  RELAY_ASSIGN(const build::LoweredProgram lowered,
               driver::lower_program(better, build::entry_of(typed), options, backend));
  RELAY_ASSIGN(const exec::Built built, driver::build_program(lowered, better, options, backend));
  RELAY_ASSIGN(const std::shared_ptr<runtime::Executable> by_cc,
               exec::build(built, {.target = options.lower.target, .backend = backend}));

  RELAY_ASSIGN(const Tensor expected, result_of(*usual.executable, module));
  RELAY_ASSIGN(const Tensor result, result_of(*by_cc, module));
  double most = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) most = std::max(most, std::abs(expected.at(i) - result.at(i)));
  std::cout << built.kernels.size() << " kernels, largest difference " << most << "\n";
  return ok();
}

int main() {
  Status status = run();
  if (!status) std::cerr << render(status.errors());
  return status ? 0 : 1;
}
