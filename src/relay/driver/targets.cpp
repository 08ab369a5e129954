#include "relay/driver/targets.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "relay/machine/instruction.h"
#include "relay/measure/calibration.h"
#include "relay/target/aarch64/aarch64.h"
#include "relay/target/cuda/cuda.h"
#include "relay/target/host/host.h"
#include "relay/target/metal/metal.h"
#include "relay/target/opencl/opencl.h"
#include "relay/target/others/others.h"
#include "relay/target/riscv/riscv.h"
#include "relay/target/rocm/rocm.h"
#include "relay/target/wasm/wasm.h"
#include "relay/target/webgpu/webgpu.h"
#include "relay/target/x86/x86.h"

namespace relay::driver {

const std::vector<codegen::TargetDef>& all_targets() {
  static const std::vector<codegen::TargetDef> table = {
#define RELAY_TARGET(name) target::name(),
#include "relay/driver/targets.def"
#undef RELAY_TARGET
  };
  return table;
}

// Names of devices that are not CPUs, as other frameworks call them.
static bool is_accelerator(std::string_view text) {
  static const std::set<std::string, std::less<>> devices = {
      "gpu", "nvptx", "rocm", "hip",      "vulkan",  "metal",  "mps",      "xpu",       "sycl",
      "tpu", "npu",   "dml",  "directml", "ethos-u", "coreml", "tensorrt", "level_zero"};
  std::string word(text.substr(0, text.find_first_of(":, ")));
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return devices.contains(word);
}

// True for the name of a target, alone or in front of a processor.
static bool names_target(std::string_view text) {
  return std::ranges::any_of(
      all_targets(), [&](const codegen::TargetDef& target) { return text.substr(0, text.find(':')) == target.name; });
}

static Result<TargetDesc> described_target(std::string_view text) {
  if (is_accelerator(trim(text)) && !names_target(trim(text)))
    return Diagnostic{
        .kind = DiagnosticKind::unknown_target,
        .message = format("Relay compiles for CPUs, CUDA and OpenCL devices, and '{}' is none", trim(text)),
        .help =
            "leave the target out to compile for this machine's CPU, or give cuda or opencl; rocm and metal are for "
            "source text (--emit c)"};
  size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    if (text.substr(0, colon) == "pjrt")
      return Diagnostic{
          .kind = DiagnosticKind::unknown_target,
          .message = format("'{}' is a PJRT plugin, which compiles and runs programs itself", trim(text)),
          .help = "give it to `relay run --target`, or to relay.pjrt.compile in Python (docs/stablehlo.md)"};
    std::vector<std::string> names;
    for (const codegen::TargetDef& target : all_targets()) {
      if (text.substr(0, colon) == target.name) return target.describe(text.substr(colon + 1));
      names.push_back(target.name);
    }
    return Diagnostic{DiagnosticKind::unknown_target,
                      format("no target is named '{}'", text.substr(0, colon)),
                      {},
                      {},
                      {},
                      format("the targets are: {}", join(names, ", "))};
  }
  // Without a name, the first target that knows the processor.
  if (Result<TargetDesc> here = target::host().describe(text)) return here;
  for (const codegen::TargetDef& target : all_targets())
    if (Result<TargetDesc> other = target.describe(text)) return other;
  // If none does: an error with the processors of all.
  const std::string name(trim(split(text, ',')[0]));
  std::vector<std::string> all, known;
  for (const codegen::TargetDef& target : all_targets()) {
    const std::vector<std::string> names = target.processors();
    if (std::find(names.begin(), names.end(), name) != names.end()) return target.describe(text);
    known.push_back(
        format("known, {}: {}", target.name, join(std::set<std::string>(names.begin(), names.end()), ", ")));
    all.insert(all.end(), names.begin(), names.end());
  }
  std::optional<std::string> near = nearest(name, all);
  return Diagnostic{
      .kind = DiagnosticKind::unknown_target,
      .message = format("no processor is named '{}'", name),
      .notes = known,
      .help = near ? format("did you mean '{}'?", *near) : "choose one of these; native is this machine's"};
}

bool is_native(std::string_view text) {
  const size_t colon = text.find(':');
  return trim(split(colon == std::string_view::npos ? text : text.substr(colon + 1), ',')[0]) == "native";
}

// The figures of this machine's processor for a device that is the same processor: kernels then have its schedules.
static TargetDesc as_device(TargetDesc native, const TargetDesc& device) {
  native.name = device.name, native.triple = device.triple, native.cpu = device.cpu, native.features = device.features;
  native.has_fma = device.has_fma;
  std::erase_if(native.instructions, [](const InstructionRate& rate) {
    return std::ranges::any_of(machine::instructions(),
                               [&](const machine::Instruction& i) { return i.on_tiles() && rate.name == i.name; });
  });
  return native;
}

Result<TargetDesc> find_target(std::string_view text) {
  Result<TargetDesc> target = described_target(text);
  if (target && target::is_cpu_device(*target)) {
    RELAY_ASSIGN(const TargetDesc native, find_target("native"));
    return as_device(native, *target);
  }
  if (target && is_native(text))
    if (const auto found = measure::saved_calibration(*target).figures) apply(*found, *target);
  return target;
}

std::string short_description(const TargetDesc& target) {
  static const std::vector<std::string> reported = {"+avx2",       "+fma",        "+avx512f",  "+avx512vnni",
                                                    "+avx512bf16", "+avx512fp16", "+amx-int8", "+amx-bf16",
                                                    "+neon",       "+sve"};
  std::string out = format("{}, {}-bit vectors", target.name, target.vector_bytes * 8);
  for (const std::string& feature : reported)
    if (std::find(target.features.begin(), target.features.end(), feature) != target.features.end())
      out += " " + feature.substr(1);
  return out;
}

}  // namespace relay::driver
