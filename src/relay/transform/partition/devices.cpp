#include "relay/transform/partition/devices.h"

#include <algorithm>
#include <charconv>

#include "relay/ir/rewrite.h"
#include "relay/op/annotation/device_kinds.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

using namespace ir;

// The number after a device kind: "", ":1", "(1)".
static std::optional<int64_t> number_of(std::string_view text) {
  if (text.empty()) return 0;
  const bool in_parentheses = text.front() == '(' && text.back() == ')';
  if (!in_parentheses && text.front() != ':') return std::nullopt;
  text.remove_prefix(1);
  if (in_parentheses) text.remove_suffix(1);
  int64_t value = -1;
  const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Result<std::optional<Device>> device_of(const std::string& name, const Span& span) {
  if (name.empty()) return std::optional<Device>();
  const size_t end = std::min(name.find_first_of(":("), name.size());
  const std::string kind = name.substr(0, end) == "gpu" ? "cuda" : name.substr(0, end);
  const std::optional<int64_t> number = number_of(std::string_view(name).substr(end));
  std::string known;
  for (const op::DeviceKind& one : op::device_kinds) {
    if (one.name == kind && number) return std::optional<Device>({kind, *number});
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  return Diagnostic{DiagnosticKind::not_supported,
                    format("there is no device '{}'", name),
                    span,
                    {},
                    {},
                    format("a device is a kind ({}), optionally with a number: cpu, cpu:1", known)};
}

std::string device_name(const Device& device) { return format("{}:{}", device.kind, device.number); }

static Status check_device(const AttrValue& value, const Span& span) {
  const std::string* name = std::get_if<std::string>(&value);
  RELAY_ASSIGN(const std::optional<Device> device, device_of(name ? *name : "", span));
  if (!device || device->kind == "cpu") return ok();
  return Diagnostic{
      DiagnosticKind::not_supported,
      format("a value is placed on {}, but there are kernels for the processor only", device_name(*device)),
      span,
      {},
      {},
      "place it on cpu, or on cpu:1 to distinguish several places; other devices can be planned, but not run"};
}

Status check_devices(const Module& module) {
  Diagnostics errors;
  auto check = [&](const AttrValue& value, const Span& span) {
    if (const Status good = check_device(value, span); !good)
      errors.insert(errors.end(), good.errors().begin(), good.errors().end());
  };
  for (const auto& [name, f] : module.functions) {
    for (const auto& [key, value] : f->attrs) {
      if (key == "result_virtual_device" || key == "virtual_device") check(value, f->span);
      if (const Strings* devices = std::get_if<Strings>(&value); devices && key == "param_virtual_devices")
        for (const std::string& device : *devices) check(device, f->span);
    }
    visit(f, [&](const Expr& e) {
      if (const Call* on = call_of(e, "on_device")) check(attribute<std::string>(*on, "virtual_device", ""), e->span);
      const Call* copy = call_of(e, "device_copy");
      if (!copy) return;
      for (const char* side : {"src_virtual_device", "dst_virtual_device"})
        check(attribute<std::string>(*copy, side, ""), e->span);
    });
  }
  if (!errors.empty()) return errors;
  return ok();
}

}  // namespace relay::transform
