#include "relay/driver/placement.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "relay/ir/expr.h"
#include "relay/op/registry.h"
#include "relay/runtime/devices/opencl.h"

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

static bool has_float64(const ir::Type& type) {
  if (const ir::TensorType* tensor = ir::as<ir::TensorType>(type)) return tensor->dtype == DType::float64();
  const ir::TupleType* tuple = ir::as<ir::TupleType>(type);
  return tuple && std::ranges::any_of(tuple->fields, has_float64);
}

// The reason why a device of this machine has no kernel for a call.
static std::string refusal(const ir::Call& call, const DeviceName& device) {
  const auto has = [](const ir::Expr& arg) { return has_float64(arg->type); };
  if (device.kind != "opencl" || !(has_float64(call.type) || std::ranges::any_of(call.args, has))) return "";
  const Result<std::vector<runtime::OpenClInfo>> all = runtime::opencl_devices();
  const size_t number = static_cast<size_t>(device.number);
  if (!all || number >= all->size() || (*all)[number].has_double) return "";
  return format("it computes in float64, and `{}` lacks cl_khr_fp64", (*all)[number].name);
}

Result<transform::DevicePlacement> placement_of(const DeviceMap& devices) {
  transform::DevicePlacement out{.refusal = refusal};
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

static std::string times(const transform::LeftToHost& left) {
  return left.calls == 1 ? "" : format(" ({} calls)", left.calls);
}

std::string note_of(const transform::LeftToHost& left) {
  return format("{} runs on {} instead of {}{}: {}", left.name, str(DeviceName()), str(left.device), times(left),
                left.reason);
}

Diagnostic left_to_host(const std::vector<transform::LeftToHost>& all) {
  Diagnostic out{DiagnosticKind::not_supported, ""};
  std::vector<std::string> names;
  for (const transform::LeftToHost& one : all) {
    names.push_back(format("{} on {}{}", one.name, str(one.device), times(one)));
    out.notes.push_back(format("{}: {}", one.name, one.reason));
  }
  out.message = format("the program places operators on devices that cannot compute them: {}", join(names, ", "));
  out.help = format("place them on {}, or leave out --strict: the host computes them then", str(DeviceName()));
  return out;
}

}  // namespace relay::driver
