// Writes the kernels of operators' examples as PTX, OpenCL C, HIP C++ or Metal, one file for each operator, and the
// part of a GPU that a kernel can occupy:
//
//   relay_op_kernels --target cuda:sm_80 --to FOLDER [--only 'nn.conv.*'] [--first] [--shard 1/4]
//   relay_op_kernels --target opencl:generic --to FOLDER ...
//   relay_op_kernels --target rocm:gfx90a --to FOLDER ...
//   relay_op_kernels --target cuda:sm_80 --artifacts --to FOLDER ...
//   relay_op_kernels --target cuda:sm_80 --occupancy
//
// --occupancy: for lines `THREADS REGISTERS SHARED` on the standard input, the part of a multiprocessor's threads that
// run at once.
//
// --artifacts: each example as an artifact, NAME.rart, with its inputs and the evaluator's results, NAME.safetensors,
// and lines "NAME ULPS" in a file of the shard, examples.K.txt: relay_device_check runs these on a GPU.
//
// Ends with 1 if an example cannot be compiled, except for those that are refused for every target, or that a language
// lacks the types for.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

#include "checks.h"
#include "relay/codegen/c/c_backend.h"
#include "relay/codegen/device_backend.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/driver/targets.h"
#include "relay/target/cuda/cuda.h"
#include "relay/tensor/safetensors.h"

namespace relay::proofs {
namespace {

struct Settings {
  std::string target = "cuda:sm_80", only = ".*", shard = "1/1", folder;
  bool first = false, occupancy = false, artifacts = false;
};

Result<driver::Compiled> compiled_for(const ExampleCase& c, const TargetDesc& target) {
  ir::Module module;
  module.functions["main"] = eval::function(c);
  driver::Options options;
  options.lower.target = target, options.run.threads = 1, options.run.make_executable = false;
  return driver::compile(module, options);
}

// Writes an example that a GPU can run. Returns its line for the list, which is empty if the evaluator refuses it, or
// if the file of its tensors cannot hold their types.
Result<std::string> write_artifact(const ExampleCase& c, const driver::Compiled& compiled, const std::string& path) {
  const Tensors inputs = eval::example_inputs(c);
  const Result<Tensors> results = evaluated(eval::function(c), inputs);
  if (!results) return std::string();
  NamedTensors all;
  for (size_t k = 0; k < inputs.size(); ++k) all.emplace_back(format("input{:02}", k), inputs[k]);
  for (size_t k = 0; k < results->size(); ++k) all.emplace_back(format("result{:02}", k), (*results)[k]);
  if (const Status written = write_safetensors(path + ".safetensors", all); !written) {
    if (written.errors()[0].kind != DiagnosticKind::not_supported) return written.errors();
    std::cerr << "left out: " << c.name << ": " << written.errors()[0].message << "\n";
    return std::string();
  }
  RELAY_RETURN_IF_ERROR(driver::save(compiled, driver::FileForm::Artifact, path + ".rart"));
  return format("{} {}\n", std::filesystem::path(path).filename().string(), c.example->ulps);
}

int write_all(const Settings& settings, const TargetDesc& target) {
  const std::regex only(settings.only);
  const bool is_cuda = codegen::device_kind(target) == "cuda";
  const std::unique_ptr<codegen::Backend> backend =
      is_cuda ? codegen::ptx_backend(target) : codegen::text_backend(target);
  size_t shard = 1, shards = 1, number = 0, written = 0, refused = 0;
  int failed = 0;
  std::ostringstream list;
  std::sscanf(settings.shard.c_str(), "%zu/%zu", &shard, &shards);
  for (const op::OpDef* def : op::all()) {
    if (!std::regex_match(def->name, only) || number++ % shards != shard - 1) continue;
    std::vector<loop::Kernel> all;
    const size_t count = settings.first ? std::min<size_t>(def->examples.size(), 1) : def->examples.size();
    for (size_t i = 0; i < count; ++i) {
      const Result<ExampleCase> c = eval::example_case(*def, i);
      if (!c || def->examples[i].bench) continue;
      Result<driver::Compiled> compiled = compiled_for(*c, target);
      if (!compiled && codegen::is_source_only(target) && compiled.errors()[0].kind == DiagnosticKind::not_supported) {
        ++refused;
        continue;
      }
      if (!compiled && compiled_for(*c, *driver::find_target("native"))) {
        std::cout << format("FAILED {}: {}\n", c->name, render(compiled.errors()));
        ++failed;
      }
      if (!compiled) continue;
      if (settings.artifacts) {
        const Result<std::string> line =
            write_artifact(*c, *compiled, settings.folder + format("/{}.{}", def->name, i));
        if (!line) return std::cout << render(line.errors()), 1;
        list << *line;
        ++written;
        continue;
      }
      for (loop::Kernel& kernel : compiled->built.kernels) {
        kernel.name = format("e{}_{}", i, kernel.name);
        all.push_back(std::move(kernel));
      }
    }
    if (all.empty()) continue;
    const Result<std::string> text = backend->emit(all, nullptr, codegen::CodeForm::Source);
    if (!text) return std::cout << render(text.errors()), 1;
    const char* const end = is_cuda                                  ? ".ptx"
                            : target.triple == codegen::hip_triple   ? ".hip"
                            : target.triple == codegen::metal_triple ? ".metal"
                                                                     : ".cl";
    std::ofstream(std::filesystem::path(settings.folder) / (def->name + end)) << *text;
    written += all.size();
  }
  if (settings.artifacts) std::ofstream(settings.folder + format("/examples.{}.txt", shard)) << list.str();
  std::cout << format("{} written, {} examples refused, {} failed\n", written, refused, failed);
  return failed > 0;
}

int run(const Settings& settings) {
  const Result<TargetDesc> target = driver::find_target(settings.target);
  const bool is_device = target && (codegen::is_source_only(*target) || !codegen::device_kind(*target).empty());
  if (!is_device) return std::cout << "no device: " << settings.target << "\n", 1;
  if (!settings.occupancy) return write_all(settings, *target);
  const target::GpuFigures* gpu = target::gpu_figures(*target);
  if (!gpu) return std::cout << "no figures of this device: " << settings.target << "\n", 1;
  int threads = 0, registers = 0;
  int64_t shared = 0;
  while (std::cin >> threads >> registers >> shared)
    std::cout << target::occupancy(*gpu, threads, registers, shared).part << "\n";
  return 0;
}

}  // namespace
}  // namespace relay::proofs

int main(int argc, char** argv) {
  relay::proofs::Settings settings;
  CLI::App app("Writes operators' examples as source or PTX for devices");
  app.add_option("--target", settings.target);
  app.add_option("--to", settings.folder, "Folder");
  app.add_option("--only", settings.only, "Regular expression for names of operators");
  app.add_flag("--first", settings.first, "One example of each operator");
  app.add_option("--shard", settings.shard, "K/N: the K-th of N parts");
  app.add_flag("--artifacts", settings.artifacts);
  app.add_flag("--occupancy", settings.occupancy);
  CLI11_PARSE(app, argc, argv);
  return relay::proofs::run(settings);
}
