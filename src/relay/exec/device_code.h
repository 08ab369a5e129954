// The code of programs with kernels on devices that compile them themselves.
#pragma once

#include <memory>
#include <set>
#include <span>

#include "relay/codegen/codegen.h"
#include "relay/runtime/program/program.h"

namespace relay::exec {

// True if some kernels run on devices that compile them themselves.
bool has_source_steps(const runtime::Program& program);
// The numbers of these kernels.
std::set<uint32_t> source_kernels(const runtime::Program& program);

// `host` with the source of the kernels that run on such devices.
Result<std::shared_ptr<const codegen::KernelLibrary>> with_device_source(
    const runtime::Program& program, std::span<const loop::Kernel> all_kernels,
    std::shared_ptr<const codegen::KernelLibrary> host);

}  // namespace relay::exec
