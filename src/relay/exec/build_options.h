// Options for building a lowered program and its executable.
#pragma once

#include <optional>

#include "relay/base/device_name.h"
#include "relay/codegen/backend.h"
#include "relay/machine/target_desc.h"
#include "relay/runtime/executable.h"

namespace relay::exec {

struct BuildOptions {
  TargetDesc target;
  // The machine that compiles and runs the work on constants if `target` is another machine; unset if the target is
  // this machine.
  std::optional<TargetDesc> host{};
  std::vector<DeviceName> devices{DeviceName{}};  // of the program; the first is the host
  // If set, all kernels run on this device, which `devices` does not name.
  std::optional<DeviceName> all_on{};
  int threads = 0;                              // of the executable and of compilation; 0: all cores
  std::optional<runtime::Executor> executor{};  // unset: graphs run as graphs, functions in the VM
  int64_t memory_limit = 0;                     // bytes per run (runtime/executable.h); 0: unlimited
  codegen::Tier tier = codegen::Tier::Full;     // of the code of the executable
  bool keeps_subnormals = false;                // Program::keeps_subnormals
  // The generator of code for `target`, which may have begun to compile the kernels; null: a new one.
  std::shared_ptr<codegen::Backend> backend{};
};

// The backend of the options, or a new one.
std::shared_ptr<codegen::Backend> target_backend(const BuildOptions& options);
// The same for the machine that does the work on constants.
std::shared_ptr<codegen::Backend> host_backend(const BuildOptions& options);

}  // namespace relay::exec
