#include "relay/transform/devices.h"

#include <charconv>

namespace relay::transform {

Result<std::optional<int64_t>> device_of(const std::string& name, const Span& span) {
  if (name.empty()) return std::optional<int64_t>();
  if (name == "cpu") return std::optional<int64_t>(0);
  std::string_view number = name;
  const bool in_parentheses = starts_with(name, "cpu(") && name.back() == ')';
  if (in_parentheses || starts_with(name, "cpu:")) {
    number.remove_prefix(4);
    if (in_parentheses) number.remove_suffix(1);
    int64_t value = -1;
    const std::from_chars_result read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (read.ec == std::errc() && read.ptr == number.data() + number.size() && value >= 0)
      return std::optional<int64_t>(value);
  }
  return Diagnostic{DiagnosticKind::not_supported,
                    format("there is no device '{}'", name),
                    span,
                    {},
                    {},
                    "programs run on the processor: cpu, or cpu:1 to tell several places apart"};
}

std::string device_name(int64_t number) { return format("cpu:{}", number); }

}  // namespace relay::transform
