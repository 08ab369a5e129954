#include "relay/driver/pjrt_run.h"

namespace relay::driver {

std::optional<std::string> pjrt_plugin(const std::string& target) {
  constexpr std::string_view prefix = "pjrt:";
  if (!target.starts_with(prefix)) return {};
  return target.substr(prefix.size());
}

static PjrtRunner& runner_in_use() {
  static PjrtRunner runner;
  return runner;
}
void set_pjrt_runner(PjrtRunner runner) { runner_in_use() = std::move(runner); }
const PjrtRunner& pjrt_runner() { return runner_in_use(); }

}  // namespace relay::driver
