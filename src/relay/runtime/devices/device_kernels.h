// Kernels on a device that has memory of its own. Work is done in the order in which it is asked for; only downloads and
// finish() wait for it. Any thread may call, and calls of several threads take turns.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "relay/base/diagnostics.h"

namespace relay::runtime {

// Memory of a device, released with the last reference.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
};
using DeviceMemoryRef = std::shared_ptr<DeviceMemory>;

// An array in it, `offset` bytes from the beginning.
struct DeviceArray {
  DeviceMemoryRef memory;
  int64_t offset = 0;
};

// After an error the device may be lost: all further calls then return that error.
class DeviceKernels {
 public:
  virtual ~DeviceKernels() = default;
  virtual std::string device_name() const = 0;
  // `what`: for messages, "the temporaries". out_of_memory names it, its size and the limit.
  virtual Result<DeviceMemoryRef> allocate(int64_t bytes, const std::string& what) = 0;
  // `from` may be overwritten afterwards.
  virtual Status upload(const DeviceArray& to, const void* from, int64_t bytes) = 0;
  virtual Status download(void* to, const DeviceArray& from, int64_t bytes) = 0;
  virtual Status copy(const DeviceArray& to, const DeviceArray& from, int64_t bytes) = 0;
  virtual Status clear(const DeviceArray& to, int64_t bytes) = 0;  // to zeros
  // The number of a kernel; -1 if absent.
  virtual int find_kernel(const std::string& name) const = 0;
  // Runs tasks [0, tasks) of a kernel with its arrays, its shape variables, and scratch memory for each work-item.
  virtual Status launch(int kernel, std::span<const DeviceArray> arrays, std::span<const int64_t> shape, int64_t tasks,
                        int64_t scratch_bytes) = 0;
  // Waits until everything is done: limit_exceeded after the time limit, with the kernel that runs.
  virtual Status finish() = 0;
};

}  // namespace relay::runtime
