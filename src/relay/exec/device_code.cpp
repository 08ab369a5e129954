#include "relay/exec/device_code.h"

#include <set>

#include "relay/codegen/c/c_backend.h"
#include "relay/codegen/c/c_source.h"
#include "relay/runtime/devices/opencl.h"

namespace relay::exec {

namespace {

// Machine code for the host, and source for devices.
class MixedLibrary final : public codegen::KernelLibrary {
 public:
  MixedLibrary(std::shared_ptr<const codegen::KernelLibrary> host, std::string source)
      : host_(std::move(host)), source_(std::move(source)) {}
  codegen::KernelFn find(const std::string& name) const override { return host_->find(name); }
  const relay_functions* functions() const override { return host_->functions(); }
  const std::string& source() const override { return source_; }

 private:
  const std::shared_ptr<const codegen::KernelLibrary> host_;
  const std::string source_;
};

// Calls visit(step, device) for each step that is a kernel on an OpenCL device.
void for_each_opencl_step(const runtime::Program& program,
                          function_ref<void(const runtime::Step&, const DeviceName&)> visit) {
  for (const runtime::Segment& segment : program.segments)
    for (const runtime::Step& step : segment.steps)
      if (step.kind == runtime::Step::Kind::Kernel || step.kind == runtime::Step::Kind::KernelWhen)
        if (const DeviceName& device = program.devices[segment.device_of(step)]; device.kind == "opencl")
          visit(step, device);
}

}  // namespace

bool has_opencl_steps(const runtime::Program& program) {
  bool found = false;
  for_each_opencl_step(program, [&](const runtime::Step&, const DeviceName&) { found = true; });
  return found;
}

Result<std::shared_ptr<const codegen::KernelLibrary>> with_opencl_source(
    const runtime::Program& program, std::span<const loop::Kernel> all_kernels,
    std::shared_ptr<const codegen::KernelLibrary> host) {
  std::set<uint32_t> numbers;
  std::set<int64_t> devices;
  for_each_opencl_step(program, [&](const runtime::Step& step, const DeviceName& device) {
    numbers.insert(step.kernel), devices.insert(device.number);
  });
  if (numbers.empty()) return host;
  RELAY_ASSIGN(const std::vector<runtime::OpenClInfo> all, runtime::opencl_devices());
  bool fine_tasks = false;
  for (int64_t device : devices)
    fine_tasks |= static_cast<size_t>(device) < all.size() && all[static_cast<size_t>(device)].kind != "CPU";
  std::vector<loop::Kernel> kernels;
  for (uint32_t number : numbers) kernels.push_back(all_kernels[number]);
  return std::shared_ptr<const codegen::KernelLibrary>(
      std::make_shared<MixedLibrary>(std::move(host), codegen::opencl_source(kernels, fine_tasks)));
}

}  // namespace relay::exec
