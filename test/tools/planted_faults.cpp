// Plants a fault in the compiler and bisects a real model with it: which step is found, how small the part is that shows
// it, and how long that took.
//
//   relay_planted_faults MODEL import OPERATOR    the converter of this ONNX operator does not read its attributes
//   relay_planted_faults MODEL pass               a pass takes the first nn.relu for its argument
//   relay_planted_faults MODEL kernel MUTATION [TARGET]   a fault of the builder of loops, by its number in mutation.h
//
//   kind import, name LeakyRelu 'l1', calls 2, 1.2 s
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "relay/driver/targets.h"
#include "relay/driver/verify.h"
#include "relay/input/inputs.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/pass.h"

using namespace relay;

namespace {

constexpr double tolerance = 1e-3;  // real models amplify the roundings of float32

template <class T>
T take(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << render(result.errors()) << "\n";
  std::exit(2);
}

Result<ir::Module> without_first_relu(const ir::Module& module, transform::PassContext& context) {
  const ir::ExprNode* first = nullptr;
  auto is_relu = [](const ir::Expr& e) {
    const ir::Call* call = ir::as<ir::Call>(e);
    const ir::Op* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    return op && op->name == "nn.relu";
  };
  return transform::for_each_function(module, [&](const ir::FunctionRef& f) {
    return ir::FunctionRef(ir::as<ir::Function>(ir::rewrite(f, [&](const ir::Expr& e) -> ir::Expr {
      if (!is_relu(e) || (first && first != e.get())) return e;
      first = e.get();
      ++context.applied["nn.relu(x) becomes x"];
      return ir::as<ir::Call>(e)->args[0];
    })));
  });
}

const char* name(driver::Blame::Kind kind) {
  switch (kind) {
    case driver::Blame::Kind::Nothing: return "nothing";
    case driver::Blame::Kind::Import: return "import";
    case driver::Blame::Kind::Pass: return "pass";
    case driver::Blame::Kind::Rule: return "rule";
    case driver::Blame::Kind::Compiler: return "compiler";
  }
  return "";
}

std::vector<runtime::Value> inputs_of(const driver::Model& model) {
  return take(input::make_inputs(take(input::input_ports(model.module)), {}, model.module)).values;
}

driver::Blame wrong_import(const char* path, const std::string& op) {
  const driver::Model right = take(driver::load_model(path, {.shapes = {}, .run = {}, .all_values = true}));
  const std::vector<runtime::Value> inputs = inputs_of(right);
  const driver::Case c = take(driver::make_case(right.module, inputs, tolerance));
  driver::ValuesByName reference;
  for (size_t i = 0; i < right.output_names.size(); ++i)
    reference[right.output_names[i]] = c.reference.field(i).tensor();
  const driver::Model wrong =
      take(driver::load_model(path, {.shapes = {}, .run = {}, .all_values = true, .without_attributes = {op}}));
  return take(driver::blame_import(wrong, inputs, reference, tolerance));
}

driver::Blame wrong_compiler(const char* path, driver::CompileOptions options) {
  const driver::Model model = take(driver::load_model(path));
  const driver::Case c = take(driver::make_case(model.module, inputs_of(model), tolerance));
  return take(driver::bisect(c, options, [](const std::string& step) { std::fprintf(stderr, "%s\n", step.c_str()); }));
}

}  // namespace

int main(int count, char** words) {
  const std::string fault = count > 2 ? words[2] : "";
  const auto begin = std::chrono::steady_clock::now();
  driver::CompileOptions options;
  options.target = *driver::find_target(fault == "kernel" && count > 4 ? words[4] : "native");
  driver::Blame blame;
  if (fault == "import" && count == 4) {
    blame = wrong_import(words[1], words[3]);
  } else if (fault == "pass" && count == 3) {
    options.more_passes = {{"without_first_relu", "the first nn.relu(x) becomes x", without_first_relu}};
    blame = wrong_compiler(words[1], options);
  } else if (fault == "kernel" && count > 3) {
    options.planted = static_cast<lower::Mutation>(std::atoi(words[3]));
    blame = wrong_compiler(words[1], options);
  } else {
    std::fprintf(stderr, "relay_planted_faults MODEL import OPERATOR | pass | kernel MUTATION [TARGET]\n");
    return 2;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const size_t calls = blame.smallest.module.functions.empty() ? 0 : driver::count_calls(blame.smallest);
  std::printf("kind %s, name %s, calls %zu, %.1f s\n", name(blame.kind), blame.name.c_str(), calls, seconds.count());
  return 0;
}
