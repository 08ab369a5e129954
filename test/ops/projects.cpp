// Writes operators' examples as C projects (docs/c-projects.md) or as JavaScript packages (docs/webassembly.md), for
// test/anywhere/run.py and test/wasm/run.py to build and run:
//
//   relay_op_projects FOLDER [--emit wasm] [--only 'nn.conv.*'] [--first] [--target cortex-m4] [--weights-file] [--object]
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
#include "relay/driver/js_package.h"
#include "relay/driver/targets.h"
#include "relay/typing/typing.h"

namespace relay::proofs {
namespace {

using nlohmann::json;

struct Settings {
  std::string folder, only = ".*", emit = "c-project", target;
  bool first = false, weights_file = false, object = false;
};

// The files of a case, and the outputs that were recorded for its self-test.
struct Written {
  std::map<std::string, std::string> files;
  Tensors outputs;
};

// A graph's outputs, or the tensors that a program with functions returns.
Tensors outputs_of(const c_project::Recording& recording) {
  Tensors out = recording.outputs;
  for (const c_project::Recorded& one : recording.results)
    if (one.tensor) out.push_back(*one.tensor);
  return out;
}

Result<Written> written(const ExampleCase& c, const Tensors& inputs, const std::string& name,
                        const Settings& settings) {
  ir::Module module;
  module.functions["main"] = eval::function(c);
  driver::Options options;
  RELAY_ASSIGN(options.lower.target, driver::find_target(settings.target));
  driver::prepare_for_c(options), options.run.threads = 1;
  RELAY_ASSIGN(const driver::Compiled compiled, driver::compile(module, options));
  std::vector<runtime::Value> values;
  for (const Tensor& t : inputs) values.push_back(runtime::Value::tensor(t));
  if (settings.emit != "c-project") {
    RELAY_ASSIGN(
        driver::JsPackage made,
        driver::js_package(compiled, values, {.name = name, .model = c.name, .weights_file = settings.weights_file}));
    return Written{std::move(made.package.files), outputs_of(made.recording)};
  }
  c_project::Options how;
  how.name = name, how.model = c.name, how.weights_file = settings.weights_file, how.machine_code = settings.object;
  RELAY_ASSIGN(driver::CProject made, driver::c_project(compiled, values, how));
  return Written{std::move(made.project.files), outputs_of(made.recording)};
}

json row(const ExampleCase& c, const std::string& name, const Settings& settings) {
  json out{{"case", c.name}, {"folder", nullptr}, {"refused", nullptr}, {"problem", nullptr}};
  const Tensors inputs = eval::example_inputs(c);
  const Result<Written> made = written(c, inputs, name, settings);
  if (!made) {
    out["refused"] = made.errors()[0].message;
    return out;
  }
  const Result<Tensors> want = evaluated(eval::function(c), inputs);
  const Problem problem = want ? difference(made->outputs, *want, c.example->ulps) : render(want.errors());
  if (!problem.empty()) out["problem"] = problem;
  const Status saved = driver::save(made->files, settings.folder + "/" + name);
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
  CLI::App app("Writes operators' examples as C projects or JavaScript packages");
  app.add_option("FOLDER", settings.folder)->required();
  app.add_option("--only", settings.only, "Regular expression for names of operators");
  app.add_option("--emit", settings.emit)->check(CLI::IsMember({"c-project", "wasm", "webgpu"}));
  app.add_option("--target", settings.target);
  app.add_flag("--first", settings.first, "One example of each operator");
  app.add_flag("--weights-file", settings.weights_file);
  app.add_flag("--object", settings.object, "C projects with kernels as machine code for the target");
  CLI11_PARSE(app, argc, argv);
  if (settings.target.empty())
    settings.target = settings.emit == "wasm"     ? relay::driver::js_package_target
                      : settings.emit == "webgpu" ? relay::driver::gpu_package_target
                                                  : relay::driver::c_project_target;
  return relay::proofs::write_all(settings);
}
