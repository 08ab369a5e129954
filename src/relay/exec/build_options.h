// Options for building a lowered program and its executable.
#pragma once

#include <optional>

#include "relay/machine/target_desc.h"
#include "relay/runtime/executable.h"

namespace relay::exec {

struct BuildOptions {
  TargetDesc target;
  // The machine that compiles and runs the work on constants if `target` is another machine; unset if the target is
  // this machine.
  std::optional<TargetDesc> host{};
  int threads = 0;                              // of the executable and of compilation; 0: all cores
  std::optional<runtime::Executor> executor{};  // unset: graphs run as graphs, functions in the VM
  int64_t memory_limit = 0;                     // bytes per run (runtime/executable.h); 0: unlimited
};

}  // namespace relay::exec
