#include "relay/frontend/common/limits.h"

#include "relay/base/text.h"

namespace relay::frontend {

Result<ImportLimits> import_limits(const NamedLimits& named) {
  ImportLimits out;
  const std::map<std::string, int64_t*> fields = {
      {"calls", &out.calls}, {"nodes", &out.nodes}, {"constants", &out.constants}};
  for (const auto& [name, value] : named) {
    const auto field = fields.find(name);
    if (field == fields.end())
      return Diagnostic{DiagnosticKind::bad_option,
                        format("an import has no limit '{}'", name),
                        {},
                        {},
                        {},
                        "the limits are calls, nodes and constants (bytes); docs/security.md describes them"};
    if (value < 1)
      return Diagnostic{DiagnosticKind::bad_option, format("the limit of {} is {}", name, value), {}, {}, {},
                        "give a positive number"};
    *field->second = value;
  }
  return out;
}

std::string how_to_allow(const char* limit) {
  return format("for a model that you trust, --import-limit {0}=N (import_limits={{\"{0}\": N}} in Python) allows more",
                limit);
}

}  // namespace relay::frontend
