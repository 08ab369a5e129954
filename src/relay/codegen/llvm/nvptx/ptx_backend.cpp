#include "relay/codegen/device_backend.h"
#include "relay/codegen/llvm/nvptx/ptx.h"

namespace relay::codegen {

namespace {

class PtxBackend final : public DeviceBackend {
 public:
  explicit PtxBackend(TargetDesc target) : DeviceBackend("cuda", "PTX"), target_(std::move(target)) {}

 protected:
  Result<std::string> text_of(std::span<const loop::Kernel> kernels) const override {
    return ptx_text(kernels, target_);
  }
  Status check_kernel(const loop::Kernel& kernel) const override {
    RELAY_RETURN_IF_ERROR(check_arguments(kernel, 8, 4096));
    RELAY_RETURN_IF_ERROR(check_async_copies(kernel, target_));
    return check_warp_tiles(kernel, target_);
  }

 private:
  const TargetDesc target_;
};

}  // namespace

std::unique_ptr<Backend> ptx_backend(const TargetDesc& target) { return std::make_unique<PtxBackend>(target); }

}  // namespace relay::codegen
