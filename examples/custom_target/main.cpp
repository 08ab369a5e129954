// A user-defined processor, without a change to Relay: long_vectors.cpp describes it, as it would be written in
// target/.
//
// compile() takes any description. Only names after --target come from driver/targets.def.
#include <iostream>

#include "relay/driver/compile.h"
#include "relay/driver/stages.h"
#include "relay/op/registry.h"

namespace relay::target {
codegen::TargetDef long_vectors();
}

using namespace relay;

// fn (%x, %weight) { nn.dense(%x, %weight) }
static ir::Module program() {
  ir::VarRef x = ir::var("x", ir::tensor_type({64, 256}, DType::float32()));
  ir::VarRef weight = ir::var("weight", ir::tensor_type({128, 256}, DType::float32()));
  ir::Module module;
  module.functions["main"] = ir::function({x, weight}, op::make("nn.dense", {x, weight}));
  return module;
}

static bool has_multiply_adds(const std::string& assembly) {
  return assembly.find("vfmacc.v") != std::string::npos || assembly.find("vfmadd.v") != std::string::npos;
}

static Status run() {
  const codegen::TargetDef riscv = target::long_vectors();
  Result<TargetDesc> unknown = riscv.describe("rv64gcv-1042");
  std::cout << unknown.errors()[0].message << "\n  help: " << unknown.errors()[0].help << "\n";

  RELAY_ASSIGN(TargetDesc target, riscv.describe("rv64gcv-1024"));
  driver::Options options;
  options.lower.target = target, options.run.make_executable = false;
  RELAY_ASSIGN(driver::Compiled compiled, driver::compile(program(), options));
  std::cout << "\n" << target.name << ": " << target.vector_bytes / 4 << " lanes\n";
  RELAY_ASSIGN(std::string assembly, driver::stage_text(compiled.lowered, target, driver::Stage::Assembly, ""));
  std::cout << "vector multiply-adds: " << (has_multiply_adds(assembly) ? "yes" : "no") << "\n";
  return has_multiply_adds(assembly) ? ok()
                                     : Diagnostic{.kind = DiagnosticKind::not_supported,
                                                  .message = "the kernel has no vector multiply-adds",
                                                  .help = "see whether the features name the vector extension"};
}

int main() {
  Status status = run();
  if (!status) std::cerr << render(status.errors());
  return status ? 0 : 1;
}
