// Programs on PJRT plugins (docs/stablehlo.md). The Python package writes them as StableHLO and calls the plugin.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "relay/base/diagnostics.h"
#include "relay/ir/expr.h"
#include "relay/tensor/tensor.h"

namespace relay::driver {

// The path in a target of the form "pjrt:PATH"; unset for other targets.
std::optional<std::string> pjrt_plugin(const std::string& target);

struct PjrtRun {
  std::vector<Tensor> results;  // tuples flattened
  std::string device;           // "cpu through pjrt_plugin.so, PJRT 0.81"
  double compile_ms = 0, run_ms = 0;
};
// Compiles @main for the first device of a plugin, and runs it once. `inputs`: tuples flattened.
using PjrtRunner = std::function<Result<PjrtRun>(const ir::Module& module, const std::string& plugin,
                                                 const std::vector<Tensor>& inputs)>;
// The Python package sets the runner while it runs the command line; it is null otherwise.
void set_pjrt_runner(PjrtRunner runner);
const PjrtRunner& pjrt_runner();

}  // namespace relay::driver
