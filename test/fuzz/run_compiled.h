// Compiles a program for this machine and runs it once, on one thread.
#pragma once

#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/eval/eval.h"
#include "relay/input/values.h"

namespace relay::fuzz {

// The result of @main, or the first error of compiling or running. Code of both tiers computes the same bits.
inline Result<eval::Value> run_compiled(const ir::Module& module, const eval::Values& args, runtime::Executor executor,
                                        int level, driver::Tier tier = driver::Tier::Full) {
  static const Result<TargetDesc> target = driver::find_target("native");
  driver::Options options;
  RELAY_ASSIGN(options.lower.target, target);
  options.run.threads = 1, options.passes.opt_level = level, options.run.executor = executor;
  options.run.tier = tier;
  RELAY_ASSIGN(driver::Compiled program, driver::compile(module, options));
  std::vector<runtime::Value> inputs;
  for (const eval::Value& arg : args) {
    RELAY_ASSIGN(runtime::Value input, input::to_runtime(arg, module));
    inputs.push_back(std::move(input));
  }
  RELAY_ASSIGN(runtime::Value result, program.executable->call(inputs));
  return input::to_eval(result, module);
}

}  // namespace relay::fuzz
