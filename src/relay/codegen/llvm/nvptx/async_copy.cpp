// Asynchronous copies to shared memory (loop/async_copies.h) by cp.async. A copy is of 4, 8 or 16 bytes, which the
// kernel states to be aligned.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/loop/async_copies.h"
#include "relay/machine/instruction.h"

namespace relay::codegen {

Status check_async_copies(const loop::Kernel& kernel, const TargetDesc& target) {
  for (const int64_t bytes : loop::async_copy_bytes(kernel))
    if (!machine::find_copy_instruction(target, bytes).instruction)
      return Diagnostic{DiagnosticKind::illegal_schedule,
                        format("kernel {}: {} has no asynchronous copies of {} bytes", kernel.name, target.name, bytes),
                        {},
                        {},
                        {},
                        "leave out ':async' in the schedule, or choose a target that has them, such as cuda:sm_80"};
  return ok();
}

void KernelEmitter::async_copy(const loop::Stmt& s) {
  constexpr unsigned global_space = 1, shared_space = 3;
  const int64_t bytes = s->extent->ivalue * s->buffer->dtype.bytes();
  const std::span<const machine::CopyInstruction> all = machine::copy_instructions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& i) { return i.bytes == bytes; });
  RELAY_CHECK(found != all.end(), "kernel {} copies {} bytes at once", kernel_.name, bytes);
  const loop::Buffer* from = static_cast<const loop::Buffer*>(s->value->source.get());
  Value* source = address(from, s->value->args, 1, true).pointer;
  Value* target = address(s->buffer.get(), s->indices, 1).pointer;
  auto in_space = [&](Value* pointer, unsigned space) {
    return b_.CreateAddrSpaceCast(pointer, llvm::PointerType::get(context_, space));
  };
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(found->intrinsic);
  RELAY_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic {}", found->intrinsic);
  b_.CreateIntrinsic(id, {in_space(target, shared_space), in_space(source, global_space)});
}

void KernelEmitter::commit_copies() { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}); }

void KernelEmitter::wait_for_copies(const loop::Stmt& s) {
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group,
                     {b_.getInt32(static_cast<uint32_t>(s->extent->ivalue))});
}

}  // namespace relay::codegen
