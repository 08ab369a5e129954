// Handles of OpenCL that release what they hold. Internal to opencl*.cpp.
#pragma once

#include <utility>

#include "relay/runtime/devices/opencl.h"
#include "relay/runtime/devices/opencl_library.h"

namespace relay::runtime {

struct FoundDevice {
  OpenClInfo about;
  cl_device_id id = nullptr;
};
// Sorted: those that kernels prefer come first.
std::vector<FoundDevice> found_devices(const OpenClLibrary& cl);

template <class T>
class OpenClHandle {
 public:
  using Release = cl_int (*)(T);
  OpenClHandle() = default;
  OpenClHandle(T handle, Release release) : handle_(handle), release_(release) {}
  OpenClHandle(OpenClHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), release_(other.release_) {}
  OpenClHandle& operator=(OpenClHandle&& other) noexcept {
    std::swap(handle_, other.handle_), std::swap(release_, other.release_);
    return *this;
  }
  ~OpenClHandle() {
    if (handle_ != nullptr) release_(handle_);
  }
  T get() const { return handle_; }
  // Keeps what it holds for ever: releasing it would wait for a kernel that hangs.
  void abandon() { handle_ = nullptr; }

 private:
  T handle_ = nullptr;
  Release release_ = nullptr;
};

}  // namespace relay::runtime
