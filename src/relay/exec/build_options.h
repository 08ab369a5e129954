// How a lowered program is built, and what its executable is like.
#pragma once

#include <optional>

#include "relay/base/target_desc.h"
#include "relay/runtime/executable.h"

namespace relay::exec {

struct BuildOptions {
  TargetDesc target;
  // What compiles and runs the work on constants when `target` is another machine; none: the target is this machine.
  std::optional<TargetDesc> host{};
  int threads = 0;                              // of the executable and of compilation; 0: all
  std::optional<runtime::Executor> executor{};  // none: graphs are run as such, functions by the VM
  int64_t memory_limit = 0;                     // of a run, in bytes (runtime/executable.h); 0: none
};

}  // namespace relay::exec
