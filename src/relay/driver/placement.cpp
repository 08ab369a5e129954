#include "relay/driver/placement.h"

#include <optional>
#include <vector>

#include "relay/op/registry.h"

namespace relay::driver {

static Diagnostic wrong_device(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

Result<DeviceName> find_device(const std::string& text) {
  const Result<std::optional<DeviceName>> found = transform::device_of(text, {});
  if (!found) return wrong_device(found.errors()[0].message, found.errors()[0].help);
  if (!*found) return wrong_device("the name of a device is empty", "write a device, as in cpu or cpu:1");
  return **found;
}

Result<transform::DevicePlacement> placement_of(const DeviceMap& devices) {
  transform::DevicePlacement out;
  for (const auto& [name, device] : devices) {
    if (name == others_key) {
      out.otherwise = device;
      continue;
    }
    if (!op::find(name)) {
      std::vector<std::string> known;
      for (const op::OpDef* def : op::all()) known.push_back(def->name);
      const std::optional<std::string> near = nearest(name, known);
      return wrong_device(format("devices: there is no operator '{}'", name),
                        near ? format("did you mean {}?", *near)
                             : format("`relay ops` lists the operators; {} stands for all others", others_key));
    }
    out.operators[name] = device;
  }
  return out;
}

}  // namespace relay::driver
