// Object files of kernels that were compiled before, for one target: by earlier compilations of this process, or by
// other processes.
#pragma once

#include <optional>
#include <string>

#include "relay/runtime/kernel.h"

namespace relay::codegen {

// Any number of threads may use it at once. A key is a hash of what a kernel computes, 32 hexadecimal digits.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  // The object file that keep() was called with, or unset.
  virtual std::optional<std::string> find(const std::string& key, runtime::Tier tier) = 0;
  virtual void keep(const std::string& key, runtime::Tier tier, const std::string& object) = 0;
};

}  // namespace relay::codegen
