// Compiles operators' examples for a device, runs them there, and compares with the evaluator and with the CPU:
//
//   relay_op_device [--target opencl] [--only 'nn.conv.*'] [--first] [--shard 1/4] [--json FILE] [--every N]
//
// Prints each failure, the reasons of refusals, and counts. Ends with 1 if an example fails, and with 77, which CTest
// shows as skipped, if the device is not there. --first: one example of each operator. --every: each N-th operator.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "checks.h"
#include "relay/driver/targets.h"

namespace relay::proofs {
namespace {

using nlohmann::json;

struct Settings {
  std::string target = "opencl", only = ".*", shard = "1/1", json;
  bool first = false;
  size_t every = 1;
};

struct Counts {
  int passed = 0, same_bits = 0, refused = 0, failed = 0;
};

Result<Tensors> run_for(const ExampleCase& c, const Tensors& inputs, const TargetDesc& target) {
  ir::Module module;
  module.functions["main"] = eval::function(c);
  driver::Options options;
  options.lower.target = target, options.run.threads = 1;
  RELAY_ASSIGN(const driver::Compiled compiled, driver::compile(module, options));
  return compiled.executable->run(inputs);
}

bool same_bits(const Tensors& a, const Tensors& b) {
  bool same = a.size() == b.size();
  for (size_t k = 0; same && k < a.size(); ++k) same = equal(a[k], b[k]);
  return same;
}

class Runner {
 public:
  Runner(const Settings& settings, TargetDesc target, TargetDesc cpu)
      : settings_(settings), target_(std::move(target)), cpu_(std::move(cpu)) {}

  int run() {
    const std::regex only(settings_.only);
    size_t shard = 1, shards = 1, number = 0;
    std::sscanf(settings_.shard.c_str(), "%zu/%zu", &shard, &shards);
    for (const op::OpDef* def : op::all()) {
      if (!std::regex_match(def->name, only)) continue;
      if (number++ % shards != shard - 1 || (number - 1) % settings_.every != 0) continue;
      const size_t count = settings_.first ? std::min<size_t>(def->examples.size(), 1) : def->examples.size();
      for (size_t i = 0; i < count; ++i)
        if (const Result<ExampleCase> c = eval::example_case(*def, i); c && !def->examples[i].bench) check(*c);
    }
    std::cout << format("{}: {} passed, {} of them with the bits of the CPU; {} refused, {} failed\n", target_.name,
                        counts_.passed, counts_.same_bits, counts_.refused, counts_.failed);
    for (const auto& [reason, names] : reasons_) std::cout << format("refused, {} times: {}\n", names.size(), reason);
    if (!settings_.json.empty())
      std::ofstream(settings_.json) << json{{"passed", counts_.passed},
                                            {"same_bits", counts_.same_bits},
                                            {"refused", reasons_},
                                            {"other_bits", other_bits_},
                                            {"failed", failures_}}
                                           .dump(1)
                                    << "\n";
    return counts_.failed > 0;
  }

 private:
  void check(const ExampleCase& c) {
    const Tensors inputs = eval::example_inputs(c);
    const Result<Tensors> want = evaluated(eval::function(c), inputs);
    const Result<Tensors> got = run_for(c, inputs, target_);
    if (!got && want && got.errors()[0].kind == DiagnosticKind::not_supported) {
      ++counts_.refused;
      reasons_[got.errors()[0].message].push_back(c.name);
      return;
    }
    const Problem problem = difference(got, want, c.example->ulps);
    if (!problem.empty()) {
      ++counts_.failed;
      failures_[c.name] = got ? problem : render(got.errors());
      std::cout << format("FAILED {}: {}\n", c.name, failures_[c.name]) << std::flush;
      return;
    }
    ++counts_.passed;
    if (!got) return;
    const Result<Tensors> here = run_for(c, inputs, cpu_);
    if (here && same_bits(*got, *here))
      ++counts_.same_bits;
    else
      other_bits_.push_back(c.name);
  }

  const Settings& settings_;
  const TargetDesc target_, cpu_;
  Counts counts_;
  std::map<std::string, std::vector<std::string>> reasons_;
  std::map<std::string, std::string> failures_;
  std::vector<std::string> other_bits_;
};

int run_all(const Settings& settings) {
  const Result<TargetDesc> target = driver::find_target(settings.target), cpu = driver::find_target("native");
  if (!target || !cpu) {
    std::cout << "skipped: " << render((target ? cpu : target).errors()) << "\n";
    return 77;
  }
  return Runner(settings, *target, *cpu).run();
}

}  // namespace
}  // namespace relay::proofs

int main(int argc, char** argv) {
  relay::proofs::Settings settings;
  CLI::App app("Runs operators' examples on a device");
  app.add_option("--target", settings.target);
  app.add_option("--only", settings.only, "Regular expression for names of operators");
  app.add_flag("--first", settings.first, "One example of each operator");
  app.add_option("--every", settings.every, "Each N-th operator")->check(CLI::PositiveNumber);
  app.add_option("--shard", settings.shard, "K/N: the K-th of N parts");
  app.add_option("--json", settings.json, "Writes the results to a file");
  CLI11_PARSE(app, argc, argv);
  return relay::proofs::run_all(settings);
}
