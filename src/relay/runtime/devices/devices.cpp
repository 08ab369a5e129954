#include "relay/runtime/devices/devices.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "relay/runtime/devices/cpu_device.h"
#include "relay/runtime/devices/cuda/cuda.h"
#include "relay/runtime/devices/opencl.h"

namespace relay::runtime {

namespace {

// Makes the device of this number; a diagnostic says why there is none.
using MakeDevice = Result<std::unique_ptr<Device>> (*)(int64_t number);
struct Kind {
  const char* name;
  MakeDevice make;
};
constexpr Kind kinds[] = {{"cpu", make_cpu_device}, {"cuda", make_cuda_device}, {"opencl", make_opencl_device}};

struct Registry {
  std::mutex mutex;
  std::array<std::unique_ptr<Device>, max_devices> devices;  // by number; the host's place stays empty
  uint32_t count = 1;
};
Registry& registry() {
  static Registry* made = new Registry;
  return *made;
}

}  // namespace

Result<uint32_t> device_number(const DeviceName& name) {
  if (name.is_host()) return host_device;
  Registry& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  for (uint32_t i = 1; i < r.count; ++i)
    if (r.devices[i]->name() == name) return i;
  const Kind* kind =
      std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return k.name == name.kind; });
  if (kind == std::end(kinds)) {
    std::vector<std::string> known;
    for (const Kind& k : kinds) known.push_back(k.name);
    return Diagnostic{DiagnosticKind::not_supported,
                      format("the program uses the device {}, but this runtime has devices of kind {} only", str(name),
                             join(known, ", ")),
                      {},
                      {},
                      {},
                      "place the work on another device when the model is compiled"};
  }
  if (r.count == max_devices)
    return Diagnostic{DiagnosticKind::limit_exceeded,
                      format("this process uses {} devices already, and there is no place for {}", r.count, str(name)),
                      {},
                      {},
                      {},
                      "use fewer devices"};
  RELAY_ASSIGN(r.devices[r.count], kind->make(name.number));
  return r.count++;
}

Device& device(uint32_t number) {
  // Entries below the count never change, and whoever knows a number got it under the lock.
  RELAY_CHECK(number > 0 && number < max_devices && registry().devices[number], "there is no device {}", number);
  return *registry().devices[number];
}

Status copy_between(uint32_t from_device, const void* from, uint32_t to_device, void* to, size_t bytes) {
  if (from_device == host_device) return device(to_device).upload(to, from, bytes);
  if (to_device == host_device) return device(from_device).download(to, from, bytes);
  if (from_device == to_device) return device(from_device).copy(to, from, bytes);
  constexpr size_t block = size_t{4} << 20;
  std::vector<std::byte> staging(std::min(bytes, block));
  for (size_t at = 0; at < bytes; at += block) {
    const size_t now = std::min(block, bytes - at);
    RELAY_RETURN_IF_ERROR(device(from_device).download(staging.data(), static_cast<const std::byte*>(from) + at, now));
    RELAY_RETURN_IF_ERROR(device(to_device).upload(static_cast<std::byte*>(to) + at, staging.data(), now));
  }
  return ok();
}

}  // namespace relay::runtime
