#include "relay/runtime/devices/driver_errors.h"

#include "relay/base/bytes.h"

namespace relay::runtime {

Diagnostic driver_failure(const std::string& doing, const DeviceInMessages& device, const std::string& error,
                          bool is_memory) {
  Diagnostic d{is_memory ? DiagnosticKind::out_of_memory : DiagnosticKind::incompatible_artifact,
               format("{} on `{}` failed: {}", doing, device.name, error)};
  if (!device.last_kernel.empty()) d.notes.push_back(format("the last kernel asked for is `{}`", device.last_kernel));
  if (is_memory) d.notes.push_back(device.limits);
  d.help = is_memory ? "use smaller inputs, such as a smaller batch"
                     : "start the program again; if this happens again, the driver or the device is faulty";
  return d;
}

Diagnostic not_done_after(double seconds, const DeviceInMessages& device) {
  return {DiagnosticKind::limit_exceeded,
          format("the work on `{}` is not done after {} seconds{}", device.name, seconds,
                 device.last_kernel.empty() ? "" : format("; the last kernel asked for is `{}`", device.last_kernel)),
          {},
          {},
          {},
          "if this is not a fault, allow more time: RELAY_DEVICE_TIME_LIMIT=seconds"};
}

Diagnostic no_scratch_memory(const std::string& kernel, size_t bytes, const DeviceInMessages& device,
                             const std::string& error) {
  return {DiagnosticKind::out_of_memory,
          format("no memory for the scratch arrays of kernel `{}`, {}: {}", kernel,
                 bytes_text(static_cast<int64_t>(bytes)), error),
          {},
          {},
          {device.limits},
          "use smaller inputs, such as a smaller batch"};
}

Diagnostic no_kernel(const std::string& kernel, const DeviceName& device) {
  return {DiagnosticKind::corrupt_file, format("the code has no kernel `{}` for {}", kernel, str(device)), {}, {}, {},
          "compile the model again"};
}

Diagnostic not_in_its_memory(const DeviceName& device) {
  return {DiagnosticKind::corrupt_file, format("an array is not in the memory of {}", str(device)), {}, {}, {},
          "compile the model again"};
}

}  // namespace relay::runtime
