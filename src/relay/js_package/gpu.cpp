#include "relay/js_package/gpu.h"

#include <map>

namespace relay::js_package {

using codegen::WasmBlock;
using codegen::WasmPlace;
using codegen::WasmStep;
using json = nlohmann::ordered_json;

Status check_gpu_steps(const codegen::WasmProgram& program) {
  const char* what = program.repeats.empty() ? nullptr : "repeats steps";
  for (const WasmStep& step : program.steps) {
    if (step.kind == WasmStep::Kind::Check) what = "checks indices, which the host would have to read";
    if (step.kind == WasmStep::Kind::CallWhen) what = "has steps that depend on values";
  }
  for (const WasmBlock& block : program.blocks)
    if (starts_with(block.name, "relay_state_")) what = "has state";
  if (!what) return ok();
  return Diagnostic{
      DiagnosticKind::not_supported,     format("the network {}, and a package for WebGPU does not", what), {}, {}, {},
      "write a package with --emit wasm"};
}

namespace {

class Description {
 public:
  Description(const codegen::WasmProgram& program, std::span<const codegen::WgslLaunch> launches)
      : program_(program), launches_(launches) {
    for (const WasmBlock& block : program.blocks) {
      first_.push_back(bytes_);
      bytes_ += (block.bytes + alignment - 1) / alignment * alignment;
    }
    for (size_t i = 0; i < launches.size(); ++i) numbers_[launches[i].entry] = i;
  }

  json write() {
    json out{{"bytes", bytes_}, {"blocks", json::object()}};
    for (size_t i = 0; i < first_.size(); ++i)
      if (const std::string& name = program_.blocks[i].name; !name.empty()) out["blocks"][name] = first_[i];
    out["preparations"] = steps(program_.preparations), out["steps"] = steps(program_.steps);
    out["kernels"] = json::array();
    for (const codegen::WgslLaunch& launch : launches_)
      out["kernels"].push_back({{"entry", launch.entry}, {"groups", launch.groups}});
    return out;
  }

 private:
  static constexpr int64_t alignment = 256, word = 4;

  int64_t address(const WasmPlace& place) const { return first_[place.block] + place.offset; }

  json steps(std::span<const WasmStep> all) const {
    json out = json::array();
    for (const WasmStep& step : all) {
      if (step.kind == WasmStep::Kind::Copy) {
        out.push_back({{"copy", {address(step.arrays[0]), address(step.arrays[1]), step.bytes}}});
        continue;
      }
      const size_t kernel = numbers_.at(codegen::c_name(step.kernel));
      json call{{"kernel", kernel}, {"arrays", json::array()}};
      for (const WasmPlace& place : step.arrays) call["arrays"].push_back(address(place) / word);
      if (launches_[kernel].scratch_bytes > 0) call["scratch"] = address(step.scratch) / word;
      out.push_back(std::move(call));
    }
    return out;
  }

  const codegen::WasmProgram& program_;
  const std::span<const codegen::WgslLaunch> launches_;
  std::vector<int64_t> first_;  // by block: its first byte
  int64_t bytes_ = 0;
  std::map<std::string, size_t> numbers_;  // of kernels, by entry
};

}  // namespace

json gpu_description(const codegen::WasmProgram& program, std::span<const codegen::WgslLaunch> launches) {
  return Description(program, launches).write();
}

}  // namespace relay::js_package
