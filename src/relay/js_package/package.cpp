#include "relay/js_package/package.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "relay/base/stable_hash.h"
#include "relay/c_project/order.h"
#include "relay/codegen/device_backend.h"
#include "relay/js_package/gpu.h"
#include "relay/js_package/module.h"

namespace relay::js_package {

// By cmake/js_package.cmake, from the files of this folder.
extern const char shared_text[];
extern const char glue_text[];
extern const char gpu_text[];
extern const char worker_text[];
extern const char test_text[];
extern const char page_text[];
extern const char page_script_text[];

using c_project::Memory;
using json = nlohmann::ordered_json;

bool is_package_name(const std::string& name) {
  auto fits = [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= 214 && name[0] != '.' && name[0] != '_' &&
         std::all_of(name.begin(), name.end(), fits) && name != "node_modules" && name != "favicon.ico";
}

namespace {

// Bytes in front of the constants in model.weights.
constexpr size_t weights_header_bytes = 64;
// The tolerance where products are not rounded before they are added, in parts of an output's largest value.
constexpr double fused_tolerance = 1e-4;

struct Tensors {
  std::string name;
  DType dtype;
  Shape shape;
  uint32_t port = 0;  // number of the input or output
};

std::string filled(std::string text, const std::string& mark, const std::string& value) {
  const size_t at = text.find(mark);
  RELAY_CHECK(at != std::string::npos, "a text of the package lacks {}", mark);
  return text.replace(at, mark.size(), value);
}

const char* array_type(DType t) {
  if (t.is_storage() || t.is_bool()) return "Uint8Array";
  if (t == DType::float32()) return "Float32Array";
  if (t == DType::float64()) return "Float64Array";
  const bool is_unsigned = t.code != DType::Code::Int;  // halves are bits
  switch (t.bits) {
    case 8: return is_unsigned ? "Uint8Array" : "Int8Array";
    case 16: return is_unsigned ? "Uint16Array" : "Int16Array";
    case 32: return is_unsigned ? "Uint32Array" : "Int32Array";
    default: return is_unsigned ? "BigUint64Array" : "BigInt64Array";
  }
}

// Parts of model.d.mts.
constexpr const char* wasm_declarations = R"(  /** The number of threads that a run uses. */
  readonly threads: number;
  /** Ends the other threads; later runs use one. */
  close(): void;
)";
constexpr const char* gpu_declarations = R"(  /** The device that runs all kernels. */
  readonly device: { readonly vendor: string; readonly architecture: string; readonly description: string };
  /** Names of the kernels, and how often a run calls each. */
  readonly kernels: readonly { readonly name: string; readonly calls: number }[];
  /** Gives the memory of the device back. */
  close(): void;
)";
constexpr const char* wasm_load = R"(/**
 * Loads the network. `module`: model.wasm, if it is not beside this file. `weights`: likewise model.weights, if weights
 * are in a file of their own. `threads`: all cores by default, if the network was compiled for threads. Each call makes
 * a network with memory of its own.
 */
export function load(options?: {
  module?: Source | WebAssembly.Module;
  weights?: Source;
  threads?: number;
}): Promise<Model>;
)";
constexpr const char* gpu_load = R"(/**
 * Loads the network. `module`, `weights`: model.wgsl and model.weights, if they are not beside this file. `gpu`: the
 * WebGPU to use, by default navigator.gpu. Each call makes a network with memory of its own. A ModelError if there is
 * no device.
 */
export function load(options?: { module?: Source; weights?: Source; gpu?: unknown }): Promise<Model>;
)";

class Writer {
 public:
  Writer(const runtime::Program& graph, const Memory& memory, const c_project::Recording& recording,
         const Options& options, const TargetDesc& target)
      : graph_(graph), f_(graph.graph()), memory_(memory), recording_(recording), options_(options), target_(target) {}

  Result<Package> write(std::string_view object) {
    name_tensors();
    json description = describe();
    const std::string identity = format("{:016x}", stable_hash(description.dump() + std::string(object)));
    Module module = module_of(graph_, memory_, identity, options_.weights_file);
    description["identity"] = identity;
    description["weights"] = module.weights.size();
    description["failures"] = module.failures;
    Package out;
    RELAY_ASSIGN(codegen::WasmModule linked, codegen::wasm_module(object, module.program, target_));
    if (linked.memory) {
      description["memory"] = memory_of(*linked.memory, module.program.scratch_bytes);
      out.files["worker.mjs"] = worker_text;
    }
    out.files["model.wasm"] = std::move(linked.bytes);
    add_files(out, glue_text, description, module);
    add_test(out, target_.has_fma ? fused_tolerance : 0.0);
    for (const Tensors& t : states_) out.sizes.state += bytes_of(f_.inputs[t.port]);
    return out;
  }

  Result<Package> write(const codegen::WgslSource& source) {
    name_tensors();
    json description = describe();
    const std::string identity = format("{:016x}", stable_hash(description.dump() + source.text));
    const Module module = module_of(graph_, memory_, identity, true);
    RELAY_RETURN_IF_ERROR(check_gpu_steps(module.program));
    description["identity"] = identity;
    description["weights"] = module.weights.size();
    description["gpu"] = gpu_description(module.program, source.launches);
    Package out;
    out.files["model.wgsl"] = format("// {}\n{}", identity, source.text);
    add_files(out, gpu_text, description, module);
    add_test(out, fused_tolerance);
    return out;
  }

 private:
  void add_files(Package& out, const char* glue, const json& description, const Module& module) const {
    out.files["model.mjs"] = filled(filled(glue, "@SHARED@", shared_text), "@DESCRIPTION@", description.dump(2));
    out.files["model.d.mts"] = declarations();
    out.files["package.json"] = manifest();
    out.files["index.html"] = page_text;
    out.files["demo.mjs"] = page_script_text;
    if (!module.weights.empty()) {
      std::string& file = out.files["model.weights"] = description["identity"];
      file.resize(weights_header_bytes);
      file += module.weights;
    }
    out.sizes = {module.weight_bytes, memory_.workspace_bytes, 0};
  }

  bool is_for_gpus() const { return target_.triple == codegen::webgpu_triple; }

  int64_t bytes_of(uint32_t array) const { return memory_.plan.bytes[array]; }

  static json memory_of(const codegen::WasmMemory& memory, int64_t scratch_bytes) {
    constexpr int64_t alignment = 64;
    return {{"initialPages", memory.initial},
            {"maximumPages", memory.maximum},
            {"flagsAt", memory.flags_at},
            {"mostThreads", codegen::wasm_most_workers + 1},
            {"stackBytes", codegen::wasm_stack_bytes},
            {"scratchBytes", (scratch_bytes + alignment - 1) / alignment * alignment}};
  }

  void name_tensors() {
    const runtime::Signature signature = runtime::graph_signature(graph_);
    std::set<std::string> taken;
    auto unique = [&](const std::string& name) {
      std::string made = name;
      for (int n = 1; !taken.insert(made).second; ++n) made = format("{}_{}", name, n);
      return made;
    };
    for (uint32_t i = 0; i < f_.inputs.size(); ++i) {
      const uint32_t array = f_.inputs[i];
      (memory_.state[i] ? states_ : inputs_)
          .push_back({unique(signature.inputs[i].name), f_.arrays[array].dtype, memory_.plan.shapes[array], i});
    }
    taken.clear();
    for (uint32_t o = 0; o < f_.outputs.size(); ++o) {
      if (std::ranges::find(memory_.state, std::optional<uint32_t>(o)) != memory_.state.end()) continue;
      const uint32_t array = f_.outputs[o];
      outputs_.push_back({unique(signature.outputs[o].name), f_.arrays[array].dtype, memory_.plan.shapes[array], o});
    }
  }

  json describe() const {
    auto list = [](const std::vector<Tensors>& tensors) {
      json out = json::array();
      for (const Tensors& t : tensors) out.push_back({{"name", t.name}, {"dtype", t.dtype.str()}, {"shape", t.shape}});
      return out;
    };
    return {{"name", options_.name},  {"model", options_.model}, {"relay", options_.version},
            {"target", target_.name}, {"inputs", list(inputs_)}, {"outputs", list(outputs_)},
            {"state", list(states_)}};
  }

  std::string declarations() const {
    auto members = [](const std::vector<Tensors>& tensors, const char* optional, const char* more) {
      std::string out;
      for (const Tensors& t : tensors) {
        const bool is_big = t.dtype.bits == 64 && !t.dtype.is_float();
        out +=
            format("  /** {}[{}] */\n  {}{}: {}{};\n", t.dtype.str(), join(t.shape, ", "), json(t.name).dump(),
                   optional, array_type(t.dtype), *more ? format(" | {}", is_big ? "(bigint | number)[]" : more) : "");
      }
      return out;
    };
    std::string out =
        format("// The network {}, written by Relay {}.\n\n", json(options_.name).dump(), options_.version);
    out +=
        "/** Inputs of a run, row by row. One that is left out has the values of the run before, at first zeros. */\n";
    out += format("export interface Inputs {{\n{}}}\n\n", members(inputs_, "?", "number[]"));
    out += format("export interface Outputs {{\n{}}}\n\n", members(outputs_, "", ""));
    out += "/** Values that each run replaces. */\n";
    out += format("export interface State {{\n{}}}\n\n", members(states_, "", ""));
    out += R"(export interface Tensor {
  readonly name: string;
  /** "float32"; float16 and bfloat16 are bits in a Uint16Array. */
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** An argument or a file that does not fit the network. */
export class ModelError extends Error {}

export class Model {
  private constructor();
  /** The name of the network, and what it was compiled from. */
  readonly name: string;
  readonly about: string;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly state: readonly Tensor[];
@ENGINE@  /** Copies the inputs that are given, runs the network and returns copies of its outputs. */
  run(inputs?: Inputs): @OUTPUTS@;
  /** Copies inputs into the memory of the network. */
  set(inputs: Inputs): void;
  /** Runs the network on the memory of its inputs, without a copy. */
  compute(): @NOTHING@;
  /** The memory of an input: what is written there is what the next run reads. */
  input<Name extends keyof Inputs>(name: Name): Exclude<NonNullable<Inputs[Name]>, unknown[]>;
  /** The memory of an output: the next run overwrites it. */
  output<Name extends keyof Outputs>(name: Name): Outputs[Name];
  /** The memory of a state, which each run replaces. */
  stateOf<Name extends keyof State>(name: Name): State[Name];
  /** Sets all state to zeros. */
  reset(): void;
}

export type Source = string | URL | Response | ArrayBuffer | ArrayBufferView;

@LOAD@)";
    const bool gpu = is_for_gpus();
    out = filled(out, "@ENGINE@", gpu ? gpu_declarations : wasm_declarations);
    out = filled(out, "@OUTPUTS@", gpu ? "Promise<Outputs>" : "Outputs");
    out = filled(out, "@NOTHING@", gpu ? "Promise<void>" : "void");
    return filled(out, "@LOAD@", gpu ? gpu_load : wasm_load);
  }

  std::string manifest() const {
    const std::string code = is_for_gpus() ? "model.wgsl" : "model.wasm";
    json files = {"model.mjs", "model.d.mts", code};
    if (options_.weights_file || is_for_gpus()) files.push_back("model.weights");
    if (codegen::has_wasm_threads(target_)) files.push_back("worker.mjs");
    return json{{"name", options_.name},
                {"version", "1.0.0"},
                {"description", format("The network of {}, compiled to {} by Relay {}", options_.model,
                                       is_for_gpus() ? "WGSL" : "WebAssembly", options_.version)},
                {"type", "module"},
                {"main", "./model.mjs"},
                {"types", "./model.d.mts"},
                {"exports",
                 {{".", {{"types", "./model.d.mts"}, {"default", "./model.mjs"}}}, {"./" + code, "./" + code}}},
                {"files", files},
                {"scripts", {{"test", "node test.mjs"}}},
                {"engines", {{"node", ">=16.4"}}}}
               .dump(2) +
           "\n";
  }

  // test.mjs, and the recorded arrays in test_vectors.bin, each at a multiple of 8 bytes.
  void add_test(Package& out, double tolerance) const {
    std::string& bytes = out.files["test_vectors.bin"];
    auto put = [&](const Tensor& values) {
      bytes.resize((bytes.size() + 7) / 8 * 8);
      const size_t at = bytes.size();
      bytes.append(static_cast<const char*>(values.data()), values.bytes());
      return at;
    };
    json vectors{
        {"inputs", json::array()}, {"state", json::array()}, {"outputs", json::array()}, {"newState", json::array()}};
    for (const Tensors& t : inputs_) vectors["inputs"].push_back(put(recording_.inputs[t.port]));
    for (const Tensors& t : states_) vectors["state"].push_back(put(recording_.inputs[t.port]));
    for (const Tensors& t : outputs_) vectors["outputs"].push_back(put(recording_.outputs[t.port]));
    for (const Tensors& t : states_) vectors["newState"].push_back(put(recording_.outputs[*memory_.state[t.port]]));
    const std::string text = filled(test_text, "@VECTORS@", vectors.dump());
    out.files["test.mjs"] = filled(text, "@TOLERANCE@", format("{}", tolerance));
  }

  const runtime::Program& graph_;
  const runtime::Segment& f_;
  const Memory& memory_;
  const c_project::Recording& recording_;
  const Options& options_;
  const TargetDesc& target_;
  std::vector<Tensors> inputs_, outputs_, states_;
};

}  // namespace

// `code`: the object or the source of the kernels.
template <class Code>
static Result<Package> write_package(const runtime::Program& graph, std::span<const loop::Kernel> kernels,
                                     const Code& code, const c_project::Recording& recording, const Options& options,
                                     const TargetDesc& target) {
  std::vector<int64_t> scratch;
  for (const runtime::KernelEntry& kernel : graph.kernels) scratch.push_back(kernel.scratch_bytes);
  RELAY_ASSIGN(const Memory memory, c_project::place_arrays(graph, graph.graph(), scratch, {}));
  if (options.memory_limit == 0 || memory.workspace_bytes <= options.memory_limit)
    return Writer(graph, memory, recording, options, target).write(code);
  const runtime::Program ordered = c_project::in_order_of_least_peak(graph, memory, kernels, scratch);
  RELAY_ASSIGN(const Memory again, c_project::place_arrays(ordered, ordered.graph(), scratch, {}));
  if (again.workspace_bytes <= options.memory_limit)
    return Writer(ordered, again, recording, options, target).write(code);
  const bool is_better = again.workspace_bytes < memory.workspace_bytes;
  return c_project::over_limit(is_better ? ordered : graph, is_better ? again : memory, options.memory_limit);
}

Result<Package> write(const runtime::Program& graph, std::span<const loop::Kernel> kernels, std::string_view object,
                      const c_project::Recording& recording, const Options& options, const TargetDesc& target) {
  return write_package(graph, kernels, object, recording, options, target);
}

Result<Package> write(const runtime::Program& graph, std::span<const loop::Kernel> kernels,
                      const codegen::WgslSource& source, const c_project::Recording& recording, const Options& options,
                      const TargetDesc& target) {
  runtime::Program with_scratch = graph;  // of all threads, instead of one
  for (size_t i = 0; i < source.launches.size(); ++i)
    with_scratch.kernels[i].scratch_bytes = source.launches[i].scratch_bytes;
  return write_package(with_scratch, kernels, source, recording, options, target);
}

}  // namespace relay::js_package
