#include "relay/exec/parts.h"

#include "relay/codegen/codegen.h"

namespace relay::exec {

uint32_t Parts::kernel(const loop::Kernel& kernel) {
  auto [it, fresh] = kernel_numbers_.try_emplace(kernel.name, static_cast<uint32_t>(kernels.size()));
  if (fresh) {
    kernels.push_back(kernel);
    program.kernels.push_back({kernel.name, codegen::scratch_bytes(kernel)});
  }
  return it->second;
}

uint32_t Parts::constant(const Tensor& value) {
  // Equal constants are merged; large ones are only merged if they are the same memory.
  bool small = value.bytes() <= small_bytes;
  uint64_t key = small ? hash(value) : reinterpret_cast<uintptr_t>(value.data());
  auto [begin, end] = constant_numbers_.equal_range(key);
  for (; begin != end; ++begin) {
    const Tensor& other = program.constants[begin->second];
    if (other.dtype() != value.dtype() || other.shape() != value.shape()) continue;
    if (small ? equal(other, value) : other.data() == value.data()) return begin->second;
  }
  uint32_t number = static_cast<uint32_t>(program.constants.size());
  program.constants.push_back(value);
  constant_numbers_.emplace(key, number);
  return number;
}

uint32_t Parts::external(const lower::ExternalCode& code, uint32_t inputs, uint32_t outputs) {
  auto [it, fresh] = external_numbers_.try_emplace({code.library, code.symbol, code.payload},
                                                   static_cast<uint32_t>(program.externals.size()));
  if (fresh) {
    runtime::ExternalEntry entry{code, {}, inputs, outputs};
    for (const Tensor& t : code.constants) entry.constants.push_back(constant(t));
    program.externals.push_back(std::move(entry));
  }
  return it->second;
}

uint32_t Parts::prepared_constant(const Tensor& type) {
  program.constants.push_back(type);
  return static_cast<uint32_t>(program.constants.size()) - 1;
}

}  // namespace relay::exec
