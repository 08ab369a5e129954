// Functions outside of Relay that programs call through the plain C interface of relay_external.h: finds the library,
// loads a function of it and calls it.
//
//   RELAY_ASSIGN(std::shared_ptr<const External> f, load_external(entry, constants));
//   RELAY_RETURN_IF_ERROR(f->run(arrays, inputs, threads));
//
// Libraries are registered ones, plugins, and "elf", whose payload is the machine code itself.
#pragma once

#include <memory>
#include <span>

#include "relay/runtime/program/program.h"
#include "relay/runtime/relay_external.h"

namespace relay::runtime {

class External {
 public:
  External(const relay_external_library& library, const ExternalEntry& entry) : library_(library), entry_(entry) {}
  ~External();
  External(const External&) = delete;
  External& operator=(const External&) = delete;

  // The first entry.inputs of `arrays` are read, the others written. Any number of threads may call it at once.
  Status run(std::span<const relay_external_array> arrays, int threads) const;

 private:
  friend Result<std::shared_ptr<const External>> load_external(const ExternalEntry&, const std::vector<Tensor>&);
  const relay_external_library& library_;
  const ExternalEntry entry_;
  std::vector<Tensor> constants_;  // the function reads them
  std::vector<relay_external_array> arrays_;
  void* function_ = nullptr;
};

// `constants`: of the program. incompatible_artifact if the library is missing or cannot load the function.
Result<std::shared_ptr<const External>> load_external(const ExternalEntry& entry, const std::vector<Tensor>& constants);

// A view without ownership; `shape` must outlive it.
relay_external_array external_array(void* data, const Shape& shape, DType dtype);

}  // namespace relay::runtime
