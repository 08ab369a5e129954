#include "relay/runtime/devices/time_limit.h"

#include <cmath>
#include <cstdlib>

namespace relay::runtime {

Result<double> device_time_limit() {
  const char* given = std::getenv("RELAY_DEVICE_TIME_LIMIT");
  if (given == nullptr || *given == 0) return 60.0;
  char* end = nullptr;
  const double limit = std::strtod(given, &end);
  if (*end == 0 && std::isfinite(limit) && limit > 0 && limit <= 1e6) return limit;
  return Diagnostic{DiagnosticKind::bad_option,
                    format("RELAY_DEVICE_TIME_LIMIT is '{}', which is not a number of seconds", given),
                    {},
                    {},
                    {},
                    "give seconds, up to a million, such as 60"};
}

}  // namespace relay::runtime
