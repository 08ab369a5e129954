#include "relay/exec/device_code.h"

#include <map>
#include <set>

#include "relay/codegen/c/c_source.h"
#include "relay/codegen/device_backend.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/runtime/devices/cuda/cuda.h"
#include "relay/runtime/devices/opencl.h"

namespace relay::exec {

namespace {

// Machine code for the host, and source for devices.
class MixedLibrary final : public codegen::KernelLibrary {
 public:
  using Sources = std::map<std::string, std::string, std::less<>>;  // by kind of device
  MixedLibrary(std::shared_ptr<const codegen::KernelLibrary> host, Sources sources)
      : host_(std::move(host)), sources_(std::move(sources)) {}
  codegen::KernelFn find(const std::string& name) const override { return host_->find(name); }
  const relay_functions* functions() const override { return host_->functions(); }
  const std::string& source(std::string_view kind) const override {
    const auto found = sources_.find(kind);
    return found == sources_.end() ? KernelLibrary::source(kind) : found->second;
  }

 private:
  const std::shared_ptr<const codegen::KernelLibrary> host_;
  const Sources sources_;
};

using KernelSpan = std::span<const loop::Kernel>;
using DeviceNumbers = std::set<int64_t>;  // of devices of a kind

Result<std::string> opencl_code(KernelSpan kernels, const DeviceNumbers& devices) {
  RELAY_ASSIGN(const std::vector<runtime::OpenClInfo> all, runtime::opencl_devices());
  bool fine_tasks = false;
  for (int64_t device : devices)
    fine_tasks |= static_cast<size_t>(device) < all.size() && all[static_cast<size_t>(device)].kind != "CPU";
  return codegen::opencl_source(kernels, fine_tasks);
}

// The code of the oldest of the devices, which runs on all of them.
Result<std::string> cuda_code(KernelSpan kernels, const DeviceNumbers& devices) {
  RELAY_ASSIGN(const std::vector<runtime::CudaInfo> all, runtime::cuda_devices());
  std::optional<runtime::CudaInfo> oldest;
  for (int64_t device : devices)
    if (static_cast<size_t>(device) < all.size())
      if (const runtime::CudaInfo& info = all[static_cast<size_t>(device)];
          !oldest || info.capability < oldest->capability)
        oldest = info;
  const std::string processor = !oldest ? runtime::common_cuda_processor : runtime::cuda_processor(*oldest);
  return codegen::ptx_text(kernels,
                           codegen::ptx_target(devices.size() > 1 ? runtime::common_cuda_processor : processor));
}

// Devices whose drivers compile the source of kernels.
struct SourceKind {
  const char* name;
  Result<std::string> (*code)(KernelSpan kernels, const DeviceNumbers& devices);
};
constexpr SourceKind source_kinds[] = {{"cuda", cuda_code}, {"opencl", opencl_code}};

// Calls visit(step, device) for each step that is a kernel on a device of this kind.
void for_each_step_on(const char* kind, const runtime::Program& program,
                      function_ref<void(const runtime::Step&, const DeviceName&)> visit) {
  for (const runtime::Segment& segment : program.segments)
    for (const runtime::Step& step : segment.steps)
      if (step.calls_kernel())
        if (const DeviceName& device = program.devices[segment.device_of(step)]; device.kind == kind)
          visit(step, device);
}

}  // namespace

std::set<uint32_t> source_kernels(const runtime::Program& program) {
  std::set<uint32_t> out;
  for (const SourceKind& kind : source_kinds)
    for_each_step_on(kind.name, program, [&](const runtime::Step& s, const DeviceName&) { out.insert(s.kernel); });
  return out;
}

bool has_source_steps(const runtime::Program& program) { return !source_kernels(program).empty(); }

Result<std::shared_ptr<const codegen::KernelLibrary>> with_device_source(
    const runtime::Program& program, std::span<const loop::Kernel> all_kernels,
    std::shared_ptr<const codegen::KernelLibrary> host) {
  MixedLibrary::Sources sources;
  for (const SourceKind& kind : source_kinds) {
    std::set<uint32_t> numbers;
    DeviceNumbers devices;
    for_each_step_on(kind.name, program, [&](const runtime::Step& step, const DeviceName& device) {
      numbers.insert(step.kernel), devices.insert(device.number);
    });
    if (numbers.empty()) continue;
    std::vector<loop::Kernel> kernels;
    for (uint32_t number : numbers) kernels.push_back(all_kernels[number]);
    RELAY_ASSIGN(sources[kind.name], kind.code(kernels, devices));
  }
  if (sources.empty()) return host;
  return std::shared_ptr<const codegen::KernelLibrary>(
      std::make_shared<MixedLibrary>(std::move(host), std::move(sources)));
}

}  // namespace relay::exec
