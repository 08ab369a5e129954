// A linked program on a device: its constants, which are there once, and the runs of its segments.
#pragma once

#include "relay/runtime/devices/devices.h"
#include "relay/runtime/program/planner.h"
#include "relay/runtime/program/program.h"

namespace relay::runtime {

struct RunState;  // segment_runner.h

// A block of a device's memory.
struct FreeOnDevice {
  Device* device = nullptr;
  void operator()(void* memory) const { device->free(memory); }
};
using OnDevice = std::unique_ptr<void, FreeOnDevice>;
// `what`: for the message of out_of_memory, "the weights".
Result<OnDevice> allocate_on(Device& device, int64_t bytes, const std::string& what);

class DeviceProgram {
 public:
  // Copies the constants that segments read, and computes those of preparations. `library` has a device. not_supported
  // for functions of other libraries, which read memory of the host; corrupt_file, out_of_memory.
  static Result<std::shared_ptr<const DeviceProgram>> create(const Program& program,
                                                             const std::shared_ptr<const KernelLibrary>& library);

  Device& device() const { return device_; }
  const DeviceKernel& kernel(uint32_t number) const { return *kernels_[number]; }  // of Program::kernels
  void* constant(uint32_t number) const { return constants_[number].get(); }       // of Program::constants

 private:
  explicit DeviceProgram(Device& device) : device_(device) {}
  Status upload(const Program& program, const std::vector<bool>& is_read);
  Status prepare(const Program& program, const Preparation& preparation);

  Device& device_;
  std::vector<std::shared_ptr<const DeviceKernel>> kernels_;
  std::vector<OnDevice> constants_;  // null where no segment reads them
};

// Runs a segment whose arrays are on the device: inputs are copied there, and results back.
class DeviceSegment {
 public:
  // All must outlive it.
  DeviceSegment(const DeviceProgram& on_device, const Program& program, const Segment& segment, const Plan& plan);
  // Must not be called concurrently.
  Status run(const RunState& state);

 private:
  Status allocate();
  Status upload(const RunState& state);
  Status step(const RunState& state, uint32_t number, std::optional<int64_t> repetition);
  Status run_kernel(const RunState& state, const Step& step, std::optional<int64_t> repetition);
  Status check(const RunState& state, const Step& step);
  Result<bool> has_flag(uint32_t array);
  Status download(const RunState& state);
  std::string name_of(uint32_t array) const;

  const DeviceProgram& on_device_;
  Device& device_;
  const Program& program_;
  const Segment& segment_;
  const Plan& plan_;
  std::vector<OnDevice> blocks_;    // of the arena, the inputs and the results
  std::vector<std::byte*> arrays_;  // addresses on the device, by array
};

}  // namespace relay::runtime
