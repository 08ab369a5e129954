// A linked program on a device: its constants, which are there once, and the runs of its segments.
#pragma once

#include "relay/runtime/devices/device_kernels.h"
#include "relay/runtime/kernel.h"
#include "relay/runtime/program/planner.h"
#include "relay/runtime/program/program.h"

namespace relay::runtime {

struct RunState;  // segment_runner.h

class DeviceProgram {
 public:
  // Copies the constants that segments read, and computes those of preparations. `library` has a device and outlives
  // the program. not_supported for functions of other libraries, which read memory of the host; corrupt_file,
  // out_of_memory.
  static Result<std::shared_ptr<const DeviceProgram>> create(const Program& program, const KernelLibrary& library);

  DeviceKernels& device() const { return device_; }
  int kernel(uint32_t number) const { return kernels_[number]; }                     // of Program::kernels
  const DeviceArray& constant(uint32_t number) const { return constants_[number]; }  // of Program::constants

 private:
  explicit DeviceProgram(DeviceKernels& device) : device_(device) {}
  Status upload(const Program& program, const std::vector<bool>& is_read);
  Status prepare(const Program& program, const Preparation& preparation);

  DeviceKernels& device_;
  std::vector<int> kernels_;
  std::vector<DeviceArray> constants_;  // without memory where no segment reads them
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
  Status run_kernel(const Step& step, std::optional<int64_t> repetition);
  Status check(const RunState& state, const Step& step);
  Result<bool> has_flag(uint32_t array);
  Status download(const RunState& state);
  std::string name_of(uint32_t array) const;

  const DeviceProgram& on_device_;
  DeviceKernels& device_;
  const Program& program_;
  const Segment& segment_;
  const Plan& plan_;
  bool is_allocated_ = false;
  std::vector<DeviceArray> arrays_;  // by array
};

}  // namespace relay::runtime
