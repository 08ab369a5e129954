// Devices other than the host: processors with a memory of their own, where the arrays of their kernels lie.
//
// A program names its devices, the host first (program/program.h). The host's kernels are called directly
// (segment_runner.h); everything about another device goes through this interface. cpu_device.h implements it for
// further memories of the processor. To add a kind of device, implement it and add a line to the table in devices.cpp.
//
// The operations of a device are ordered: each finds memory as all earlier ones leave it. An implementation may run
// them later, and at once if they do not touch the same memory. download() returns when the bytes are there, and
// synchronise() when all earlier operations have ended. Errors may be returned by
// a later operation than the one that caused them. Any number of threads may call a device at once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "relay/base/device_name.h"
#include "relay/base/diagnostics.h"
#include "relay/runtime/kernel.h"
#include "relay/runtime/threads/thread_pool.h"

namespace relay::runtime {

// A kernel of a program, loaded by a device.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
};

// The arguments of a kernel's call, as those of KernelFn (kernel.h).
struct Launch {
  std::span<void* const> arrays;   // addresses in the device's memory, in the kernel's order
  std::span<const int64_t> bytes;  // of each array
  std::span<const int64_t> sizes;  // the values of the kernel's shape variables
  int64_t tasks = 0;               // all are run; > 0
  int64_t scratch_bytes = 0;       // of each thread that runs tasks, aligned to 64 bytes
  ThreadPool::Session& session;    // the threads of the run, for devices that are the same processor
};

// A kernel's launch, or, without a kernel, a copy of `tasks` bytes from the first of two arrays to the second.
struct DeviceOperation {
  const DeviceKernel* kernel;
  Launch launch;
};

// A sequence of operations that a device keeps, to start the same ones faster.
class KeptOperations {
 public:
  virtual ~KeptOperations() = default;
};

// An operation of a device in time.
struct DeviceSpan {
  std::string name;      // the kernel's, or "upload", "download", "copy"
  double queued_us = 0;  // when the host asked for it, on a steady clock
  double begin_us = 0, us = 0;
};

class Device {
 public:
  explicit Device(DeviceName name) : name_(std::move(name)) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceName& name() const { return name_; }

  // Memory of `bytes` (> 0), aligned to 64 bytes; null if there is none left. The address plus an offset below `bytes`
  // is the address of a part. The host must not access it.
  virtual void* allocate(size_t bytes) = 0;
  // The memory that there is, as a sentence for messages; empty if unknown.
  virtual std::string limits() const { return {}; }
  // Operations that were called before may still use the memory: it is freed after them.
  virtual void free(void* memory) noexcept = 0;

  // Copies `bytes` (> 0) from or to the host's memory, and between two places of this device that do not overlap. The
  // host's memory may be changed or freed as soon as upload() returns.
  virtual Status upload(void* to, const void* from, size_t bytes) = 0;
  virtual Status download(void* to, const void* from, size_t bytes) = 0;
  virtual Status copy(void* to, const void* from, size_t bytes) = 0;

  // The kernel `name` of a program's code; corrupt_file if there is none for this kind of device. The result keeps
  // whatever it needs of the library.
  virtual Result<std::shared_ptr<const DeviceKernel>> load(const std::shared_ptr<const KernelLibrary>& library,
                                                           const std::string& name) = 0;
  // `kernel` was loaded by this device.
  virtual Status launch(const DeviceKernel& kernel, const Launch& launch) = 0;
  virtual Status synchronise() = 0;

  // Starts operations on this device's memory, one after another. `kept` belongs to the caller: null at first, and
  // given again with the next sequence, which may be another one. It must not outlive the operations' kernels.
  virtual Status start(std::span<const DeviceOperation> operations, std::unique_ptr<KeptOperations>& /*kept*/) {
    for (const DeviceOperation& one : operations)
      RELAY_RETURN_IF_ERROR(one.kernel != nullptr ? launch(*one.kernel, one.launch)
                                                  : copy(one.launch.arrays[1], one.launch.arrays[0],
                                                         static_cast<size_t>(one.launch.tasks)));
    return ok();
  }

  // Starts or stops to note the times of operations; take_spans() returns and forgets those that have ended. Does
  // nothing for devices that cannot tell, which return none.
  virtual Status record_spans(bool /*on*/) { return ok(); }
  virtual Result<std::vector<DeviceSpan>> take_spans() { return std::vector<DeviceSpan>{}; }

 private:
  const DeviceName name_;
};

}  // namespace relay::runtime
