// The object files of kernels that compilations share: those of this process in memory, those of the package of common
// kernels if there is one, and those of the cache.
//
//   codegen::llvm_backend(target, threads, tier, kernel_store(target, options.run.kernels));
//
// The memory is a part of the process that all compilations share. It is limited: the least recently used files go
// first.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "relay/codegen/object_store.h"
#include "relay/driver/options.h"

namespace relay::driver {

// The store for a target. `open`: opens the cache, or is empty. Kernels are added to the cache when the store is
// destroyed, and those taken from the package are counted there. A cache or package that cannot be used is left out.
std::shared_ptr<codegen::ObjectStore> kernel_store(const TargetDesc& target, OpenCache open);

// The reason why the package that RELAY_KERNELS names cannot be used.
std::optional<std::string> problem_of_kernel_package();

// Everything of a target that determines code, as text.
std::string target_key(const TargetDesc& target);

}  // namespace relay::driver
