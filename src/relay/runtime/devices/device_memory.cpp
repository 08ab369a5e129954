#include "relay/runtime/devices/device_memory.h"

#include <algorithm>

namespace relay::runtime {

DeviceBuffer allocate_on(uint32_t device_number, size_t bytes) {
  Device& owner = device(device_number);
  void* memory = owner.allocate(std::max<size_t>(bytes, 1));
  if (memory == nullptr) return nullptr;
  return DeviceBuffer(memory, [&owner](void* p) { owner.free(p); });
}

Status DeviceArenas::reserve(std::span<const uint32_t> numbers, std::span<const int64_t> bytes) {
  if (bytes.empty()) return ok();
  buffers_.resize(bytes.size()), bytes_.resize(bytes.size()), addresses_.resize(bytes.size());
  for (size_t i = 1; i < bytes.size(); ++i) {
    if (bytes[i] <= bytes_[i]) continue;
    buffers_[i] = allocate_on(numbers[i], static_cast<size_t>(bytes[i]));
    bytes_[i] = buffers_[i] ? bytes[i] : 0;
    addresses_[i] = static_cast<std::byte*>(buffers_[i].get());
    if (!buffers_[i])
      return Diagnostic{DiagnosticKind::out_of_memory,
                        format("no memory for {} bytes of temporaries on {}", bytes[i], str(device(numbers[i]).name())),
                        {},
                        {},
                        {},
                        "give smaller inputs, such as a smaller batch, or place less work on that device"};
  }
  return ok();
}

}  // namespace relay::runtime
