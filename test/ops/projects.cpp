// Writes operators' examples as C projects (docs/c-projects.md), for test/anywhere/run.py to build and run:
//
//   relay_op_projects FOLDER [--only 'nn.conv.*'] [--first] [--target cortex-m4] [--weights-file]
//
// FOLDER/case_N: the project of a case, named case_N. FOLDER/cases.json: for each case its name, its folder, or the
// reason why there is none, and the problem if the recorded outputs are not the evaluator's. --first: one example of
// each operator.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "checks.h"
#include "relay/driver/c_project.h"
#include "relay/driver/targets.h"
#include "relay/typing/typing.h"

namespace relay::proofs {
namespace {

using nlohmann::json;

struct Settings {
  std::string folder, only = ".*", target = driver::c_project_target;
  bool first = false, weights_file = false;
};

Result<driver::CProject> project_of(const ExampleCase& c, const Tensors& inputs, const std::string& name,
                                    const Settings& settings) {
  ir::Module module;
  module.functions["main"] = eval::function(c);
  driver::Options options;
  RELAY_ASSIGN(options.lower.target, driver::find_target(settings.target));
  driver::prepare_for_c(options), options.run.threads = 1;
  RELAY_ASSIGN(const driver::Compiled compiled, driver::compile(module, options));
  c_project::Options how;
  how.name = name, how.model = c.name, how.weights_file = settings.weights_file;
  std::vector<runtime::Value> values;
  for (const Tensor& t : inputs) values.push_back(runtime::Value::tensor(t));
  return driver::c_project(compiled, std::move(values), how);
}

json row(const ExampleCase& c, const std::string& name, const Settings& settings) {
  json out{{"case", c.name}, {"folder", nullptr}, {"refused", nullptr}, {"problem", nullptr}};
  const Tensors inputs = eval::example_inputs(c);
  const Result<driver::CProject> made = project_of(c, inputs, name, settings);
  if (!made) {
    out["refused"] = made.errors()[0].message;
    return out;
  }
  const Result<Tensors> want = evaluated(eval::function(c), inputs);
  const Problem problem = want ? difference(made->recording.outputs, *want, c.example->ulps) : render(want.errors());
  if (!problem.empty()) out["problem"] = problem;
  const Status saved = driver::save(made->project, settings.folder + "/" + name);
  if (!saved) out["problem"] = render(saved.errors());
  out["folder"] = name;
  return out;
}

int write_all(const Settings& settings) {
  const std::regex only(settings.only);
  std::filesystem::create_directories(settings.folder);
  json rows = json::array();
  for (const op::OpDef* def : op::all()) {
    if (!std::regex_match(def->name, only)) continue;
    const size_t count = settings.first ? std::min<size_t>(def->examples.size(), 1) : def->examples.size();
    for (size_t i = 0; i < count; ++i) {
      const Result<ExampleCase> c = eval::example_case(*def, i);
      if (!c || def->examples[i].bench) continue;
      rows.push_back(row(*c, format("case_{}", rows.size()), settings));
    }
  }
  std::ofstream(settings.folder + "/cases.json") << rows.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace relay::proofs

int main(int argc, char** argv) {
  relay::proofs::Settings settings;
  CLI::App app("Writes operators' examples as C projects");
  app.add_option("FOLDER", settings.folder)->required();
  app.add_option("--only", settings.only, "Regular expression for names of operators");
  app.add_option("--target", settings.target);
  app.add_flag("--first", settings.first, "One example of each operator");
  app.add_flag("--weights-file", settings.weights_file);
  CLI11_PARSE(app, argc, argv);
  return relay::proofs::write_all(settings);
}
