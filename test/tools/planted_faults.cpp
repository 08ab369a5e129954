// The program relay with a fault planted, for `relay verify` and `relay bisect` to find.
//
//   relay_planted_faults pass -- bisect MODEL
//
//   import OPERATOR    the converter of this ONNX operator does not read its attributes (bisect .. --reference ENGINE)
//   pass               a pass takes the first nn.relu for its argument
//   refusal            a pass refuses programs with nn.relu
//   crash              a pass ends the process at an nn.relu
//   kernel MUTATION    a fault of the builder of loops, by its number in lower/schedule/mutation.h
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "relay/driver/cli/cli.h"
#include "relay/driver/compile.h"
#include "relay/driver/load.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

using namespace relay;

namespace {

bool is_relu(const ir::Expr& e) { return transform::call_of(e, "nn.relu"); }

bool has_relu(const ir::Module& module) {
  bool found = false;
  for (const auto& [name, f] : module.functions) ir::visit(f, [&](const ir::Expr& e) { found = found || is_relu(e); });
  return found;
}

Result<ir::Module> without_first_relu(const ir::Module& module, transform::PassContext& context) {
  const ir::ExprNode* first = nullptr;
  return transform::for_each_function(module, [&](const ir::FunctionRef& f) {
    return ir::FunctionRef(ir::as<ir::Function>(ir::rewrite(f, [&](const ir::Expr& e) -> ir::Expr {
      if (!is_relu(e) || (first && first != e.get())) return e;
      first = e.get();
      ++context.applied["nn.relu(x) becomes x"];
      return ir::as<ir::Call>(e)->args[0];
    })));
  });
}

Result<ir::Module> refuse_relu(const ir::Module& module, transform::PassContext&) {
  if (!has_relu(module)) return module;
  return Diagnostic{DiagnosticKind::not_supported, "nn.relu is not to the pass's taste", {}, {}, {}, "leave it out"};
}

Result<ir::Module> crash_at_relu(const ir::Module& module, transform::PassContext&) {
  if (has_relu(module)) std::raise(SIGSEGV);
  return module;
}

cli::PlantFault fault_of(const std::vector<std::string>& fault) {
  auto pass = [](transform::PassInfo info) -> cli::PlantFault {
    return [info](driver::Options& o) { o.passes.extra_passes = {info}; };
  };
  if (fault == std::vector<std::string>{"pass"})
    return pass({"without_first_relu", "the first nn.relu(x) becomes x", without_first_relu});
  if (fault == std::vector<std::string>{"refusal"}) return pass({"refuse_relu", "refuses nn.relu", refuse_relu});
  if (fault == std::vector<std::string>{"crash"}) return pass({"crash_at_relu", "ends at nn.relu", crash_at_relu});
  if (fault.size() == 2 && fault[0] == "import")
    return [op = fault[1]](driver::Options& o) { o.import.without_attributes = {op}; };
  if (fault.size() == 2 && fault[0] == "kernel")
    return [number = std::atoi(fault[1].c_str())](driver::Options& o) {
      o.lower.injected_bug = static_cast<lower::Mutation>(number);
    };
  std::fprintf(stderr, "relay_planted_faults import OPERATOR | pass | refusal | crash | kernel MUTATION -- VERB ...\n");
  std::exit(2);
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::string> fault;
  int at = 1;
  for (; at < count && std::string_view(words[at]) != "--"; ++at) fault.emplace_back(words[at]);
  const cli::PlantFault plant_fault = fault_of(fault);
  std::vector<const char*> rest{words[0]};
  for (++at; at < count; ++at) rest.push_back(words[at]);
  return cli::run_command_line(static_cast<int>(rest.size()), rest.data(), plant_fault);
}
