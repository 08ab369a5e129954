// Steps on tiles (loop/tiles.h) by AMX instructions.
//
// LLVM has two families of intrinsics. The one with tiles as values lets LLVM choose registers, insert configurations
// and spill. This is the other one, with the numbers of registers as constants, because the kernel's scopes already say
// which tiles are alive: no tile is ever spilled at any level of optimisation, and a configuration is loaded once for a
// call of the kernel instead of in front of each region that LLVM finds. LLVM orders these instructions like calls, so
// the order of steps stays as it is here.
//
// A kernel loads its first configuration on entry and releases all tiles at its end. So tiles hold nothing between
// kernels, and a thread that runs other code pays nothing for them. The system saves tiles when it interrupts a kernel.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <array>

#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/codegen/tile_plan.h"
#include "relay/machine/instruction.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Buffer;
using loop::Stmt;
using loop::TileStep;

llvm::Intrinsic::ID product_of(const TargetDesc& target, const TileStep& step) {
  const machine::Instruction* found = machine::find_tile_instruction(
      target, step.left->dtype, step.right->dtype, step.tile->dtype, static_cast<int>(step.left->shape[2]->ivalue));
  RELAY_CHECK(found, "{} has no product of tiles of {} and {}", target.name, step.left->dtype.str(),
              step.right->dtype.str());
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(found->intrinsic);
  RELAY_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic {}", found->intrinsic);
  return id;
}

// The memory format of a configuration: palette 1, then bytes in a row of each tile (16 bits), then rows (8 bits).
void KernelEmitter::configure(const TileConfiguration& configuration) {
  constexpr size_t bytes = 64, row_bytes_at = 16, rows_at = 48;
  std::array<uint8_t, bytes> memory{1};
  for (size_t t = 0; t < configuration.size(); ++t) {
    memory[row_bytes_at + 2 * t] = static_cast<uint8_t>(configuration[t].row_bytes);
    memory[rows_at + t] = static_cast<uint8_t>(configuration[t].rows);
  }
  llvm::Constant* value = llvm::ConstantDataArray::get(context_, memory);
  llvm::GlobalVariable* global = nullptr;
  for (llvm::GlobalVariable& g : module_.globals())
    if (g.isConstant() && g.hasInitializer() && g.getInitializer() == value) global = &g;
  if (!global) {
    global =
        new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "tiles");
    global->setAlignment(llvm::Align(bytes));
  }
  b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {global});
}

// Tiles with another configuration than the kernel's: nothing is alive before and after them.
void KernelEmitter::alloc_tile(const Stmt& s) {
  if (lane_.row) return alloc_fragment(s);
  if (tiles_in_vectors_) return alloc_vector_tile(s);
  const auto own = tiles_.configurations.find(s.get());
  const bool other = own != tiles_.configurations.end() && own->second != *tiles_.first;
  if (other) configure(own->second);
  stmt(s->body[0]);
  if (other) configure(*tiles_.first);
}

llvm::Value* KernelEmitter::tile_number(const Buffer* tile) {
  return b_.getInt8(static_cast<uint8_t>(tiles_.numbers.at(tile)));
}

void KernelEmitter::tile_stmt(const Stmt& s) {
  if (lane_.row) return warp_tile_stmt(s);
  const std::optional<TileStep> step = loop::tile_step(s);
  RELAY_CHECK(step, "a nest of tile loops in kernel {} is not a step on tiles", kernel_.name);
  if (tiles_in_vectors_) return vector_tile_step(*step);
  Value* tile = tile_number(step->tile.get());
  switch (step->kind) {
    case TileStep::Kind::Zero: b_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {tile}); break;
    case TileStep::Kind::Multiply:
      b_.CreateIntrinsic(product_of(target_, *step),
                         {tile, tile_number(step->left.get()), tile_number(step->right.get())});
      break;
    case TileStep::Kind::Load:
    case TileStep::Kind::Store: {
      const Buffer* memory = static_cast<const Buffer*>(step->memory.get());
      Value* pointer = address(memory, step->origin, 1).pointer;
      Value* stride = emit(scalar::simplify(step->row_stride * int64_t{memory->dtype.bytes()}, bounds_));
      b_.CreateIntrinsic(
          step->kind == TileStep::Kind::Load ? llvm::Intrinsic::x86_tileloadd64 : llvm::Intrinsic::x86_tilestored64,
          {tile, pointer, stride});
      break;
    }
  }
}

}  // namespace relay::codegen
