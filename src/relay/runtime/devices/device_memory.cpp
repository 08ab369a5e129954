#include "relay/runtime/devices/device_memory.h"

#include <algorithm>

#include "relay/base/bytes.h"

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
    if (buffers_[i]) continue;
    Diagnostic d{DiagnosticKind::out_of_memory,
                 format("no memory for {} of arrays on {}", bytes_text(bytes[i]), str(device(numbers[i]).name()))};
    if (const std::string limits = device(numbers[i]).limits(); !limits.empty()) d.notes.push_back(limits);
    d.help = "give smaller inputs, such as a smaller batch, or place less work on that device";
    return d;
  }
  return ok();
}

Status DeviceArenas::reserve(std::span<const uint32_t> numbers, const Segment& segment, const Plan& plan) {
  const Status done = reserve(numbers, plan.device_arena_bytes);
  if (done) return done;
  Diagnostics errors = done.errors();
  for (MemorySpace memory = 1; memory < plan.device_arena_bytes.size(); ++memory)
    if (!addresses_[memory] && plan.device_arena_bytes[memory] > 0)
      errors[0].notes.push_back(largest_arrays(segment, plan, memory));
  return errors;
}

}  // namespace relay::runtime
