#include "relay/transform/partition/devices.h"

#include <algorithm>
#include <charconv>

#include "relay/op/annotation/device_kinds.h"

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

Result<std::optional<DeviceName>> device_of(const std::string& name, const Span& span) {
  if (name.empty()) return std::optional<DeviceName>();
  const size_t end = std::min(name.find_first_of(":("), name.size());
  const std::string kind = name.substr(0, end) == "gpu" ? "cuda" : name.substr(0, end);
  const std::optional<int64_t> number = number_of(std::string_view(name).substr(end));
  std::string known;
  for (const op::DeviceKind& one : op::device_kinds) {
    if (one.name == kind && number) return std::optional<DeviceName>({kind, *number});
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  return Diagnostic{DiagnosticKind::not_supported,
                    format("there is no device '{}'", name),
                    span,
                    {},
                    {},
                    format("a device is a kind ({}), optionally with a number: cpu, cpu:1", known)};
}

const Call* device_copy_of(const Call& call) {
  const Function* f = as<Function>(call.callee);
  if (f && !f->is_primitive()) return nullptr;
  const Call* inner = f ? as<Call>(f->body) : &call;
  const Op* op = inner ? as<Op>(inner->callee) : nullptr;
  if (!op || op->name != "device_copy") return nullptr;
  // A function that copies a constant of its own has no argument to transfer: it is a kernel on the constant's device.
  return !f || (f->params.size() == 1 && inner->args[0] == Expr(f->params[0])) ? inner : nullptr;
}

}  // namespace relay::transform
