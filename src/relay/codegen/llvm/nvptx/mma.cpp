// Steps on tiles of warps (loop/warp_tiles.h) by mma.sync: what one lane does.
//
// The elements that a lane holds of a tile are local variables of it, which LLVM keeps in registers because all loops
// over tiles are unrolled. An operand whose rows are aligned to 16 bytes in shared memory is one ldmatrix. Otherwise
// each of its groups is a load of 32 bits, from an address that is computed from the place of the lane in its warp. The
// statement that stores a tile is emitted for each element that the lane holds.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/loop/tiles.h"
#include "relay/machine/instruction.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Buffer;
using loop::Stmt;
using loop::TileRole;
using loop::WarpStep;
using scalar::Expr;
using scalar::Exprs;

static const machine::Instruction* instruction_of(const TargetDesc& target, const WarpStep& step) {
  return machine::find_tile_instruction(target, step.left->dtype, step.right->dtype, step.tile->dtype,
                                        static_cast<int>(step.left->shape[2]->ivalue));
}

static Diagnostic illegal(const loop::Kernel& kernel, std::string what) {
  return {DiagnosticKind::illegal_schedule,
          format("kernel {}: {}", kernel.name, what),
          {},
          {},
          {},
          "take the sizes of an instruction of machine/instructions.def for the tile's loops"};
}

Status check_warp_tiles(const loop::Kernel& kernel, const TargetDesc& target) {
  if (!loop::has_warp_tiles(kernel)) return ok();
  RELAY_ASSIGN(const loop::Kernel tiles, loop::with_operand_tiles(loop::unroll(kernel)));
  const std::unordered_map<const Buffer*, TileRole> roles = loop::tile_roles(tiles);
  std::optional<Diagnostic> failed;
  loop::visit(
      tiles.body,
      [&](const Stmt& s) {
        if (s->kind == loop::StmtKind::Alloc && s->buffer->scope == loop::Scope::Tile && !roles.count(s->buffer.get()))
          failed = illegal(kernel, format("tile {} is in no product", s->buffer->name));
        const std::optional<WarpStep> step = s->kind == loop::StmtKind::For ? loop::warp_step(s) : std::nullopt;
        if (!step || step->kind != WarpStep::Kind::Multiply) return;
        const machine::Instruction* found = instruction_of(target, *step);
        const int64_t rows = step->tile->shape[0]->ivalue, columns = step->tile->shape[1]->ivalue,
                      groups = step->left->shape[1]->ivalue;
        if (!found || found->rows != rows || found->columns() != columns || found->steps != groups)
          failed = illegal(kernel, format("{} multiplies no tiles of {} and {} of {} x {} sums in {} groups of {}",
                                          target.name, step->left->dtype.str(), step->right->dtype.str(), rows, columns,
                                          groups, step->left->shape[2]->ivalue));
      },
      [](const Expr&) {});
  if (failed) return *failed;
  return ok();
}

void KernelEmitter::alloc_fragment(const Stmt& s) {
  const Buffer& tile = *s->buffer;
  const TileRole role = roles_.at(&tile);
  llvm::Type* type = role == TileRole::Sums ? values_.memory_type(tile.dtype) : b_.getInt32Ty();
  llvm::IRBuilder<> entry(function_->getEntryBlock().getTerminator());
  std::vector<llvm::AllocaInst*>& registers = fragments_[&tile];
  const size_t count = loop::elements_of(tile, role, lane_).size();
  while (registers.size() < count) registers.push_back(entry.CreateAlloca(type, nullptr, tile.name));
  stmt(s->body[0]);
}

void KernelEmitter::warp_tile_stmt(const Stmt& s) {
  const std::optional<WarpStep> step = loop::warp_step(s);
  RELAY_CHECK(step, "a nest of tile loops in kernel {} is not a step on tiles", kernel_.name);
  switch (step->kind) {
    case WarpStep::Kind::Fill: fill_fragment(*step); break;
    case WarpStep::Kind::Store: store_fragment(*step); break;
    case WarpStep::Kind::Multiply: multiply_fragments(*step); break;
  }
}

// Matrix m of ldmatrix becomes register m of each lane: 8 rows of the operand (columns of the right one), each of four
// groups. Lane 8 m + r passes the address of row r of matrix m.
bool KernelEmitter::load_matrices(const WarpStep& step, TileRole role) {
  const Expr value = step.inside->value;
  const Buffer* memory = static_cast<const Buffer*>(value->source.get());
  const std::vector<llvm::AllocaInst*>& to = fragments_.at(step.tile.get());
  if (memory->scope != loop::Scope::Shared || (to.size() != 1 && to.size() != 2 && to.size() != 4)) return false;
  const bool is_left = role == TileRole::Left, has_lower_rows = is_left && step.tile->shape[0]->ivalue > 8;
  const Expr row = has_lower_rows ? matrix_row_ + matrix_low_ * 8 : matrix_row_,
             group = to.size() == 4                      ? matrix_high_ * 4
                     : to.size() == 2 && !has_lower_rows ? matrix_low_ * 4
                                                         : scalar::imm(0);
  Exprs at;
  for (const Expr& index : value->args)
    at.push_back(scalar::simplify(scalar::substitute(index, {{step.vars[0], is_left ? row : group},
                                                             {step.vars[1], is_left ? group : row},
                                                             {step.vars[2], scalar::imm(0)}}),
                                  bounds_));
  constexpr uint64_t row_bytes = 16;
  if (shared_alignment(*memory, at).value() < row_bytes) return false;
  constexpr unsigned shared_space = 3;
  llvm::Type* type = llvm::PointerType::get(context_, shared_space);
  Value* pointer = b_.CreateAddrSpaceCast(address(memory, at, 1, true).pointer, type);
  const llvm::Intrinsic::ID id = to.size() == 4   ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16
                                 : to.size() == 2 ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16
                                                  : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_b16;
  Value* all = b_.CreateIntrinsic(id, {type}, {pointer});
  for (unsigned i = 0; i < to.size(); ++i) b_.CreateStore(to.size() == 1 ? all : b_.CreateExtractValue(all, i), to[i]);
  return true;
}

void KernelEmitter::fill_fragment(const WarpStep& step) {
  const TileRole role = roles_.at(step.tile.get());
  if (role != TileRole::Sums && load_matrices(step, role)) return;
  const std::vector<Exprs> elements = loop::elements_of(*step.tile, role, lane_);
  for (size_t i = 0; i < elements.size(); ++i) {
    const Expr value = loop::for_element(step, elements[i])->value;
    Value* made = nullptr;
    if (role == TileRole::Sums) {
      made = emit(value);
    } else {
      const Buffer* memory = static_cast<const Buffer*>(value->source.get());
      Exprs at;
      for (const Expr& index : value->args)
        at.push_back(scalar::simplify(scalar::substitute(index, {{step.vars[2], scalar::imm(0)}}), bounds_));
      const llvm::Align align = memory->scope == loop::Scope::Shared
                                    ? shared_alignment(*memory, at)
                                    : llvm::Align(static_cast<uint64_t>(memory->dtype.bytes()));
      made = b_.CreateAlignedLoad(b_.getInt32Ty(), address(memory, at, 1, true).pointer, align);
      annotate(made, memory);
    }
    b_.CreateStore(made, fragments_.at(step.tile.get())[i]);
    locals_.clear(), local_index_.clear();
  }
}

void KernelEmitter::store_fragment(const WarpStep& step) {
  const std::vector<Exprs> elements = loop::elements_of(*step.tile, TileRole::Sums, lane_);
  for (size_t i = 0; i < elements.size(); ++i) {
    llvm::AllocaInst* from = fragments_.at(step.tile.get())[i];
    const Expr held = scalar::var("held", step.tile->dtype);
    const Stmt one = loop::rewrite(
        loop::for_element(step, elements[i]), [](const Stmt& n) { return n; },
        [&](const Expr& e) {
          return scalar::rewrite(e, [&](const Expr& n) {
            return n->kind == scalar::Kind::Load && n->source.get() == step.tile.get() ? held : n;
          });
        });
    Value* value = b_.CreateLoad(from->getAllocatedType(), from);
    scopes_.push_back({});
    define(held, value);
    stmt(one);
    scopes_.pop_back();
  }
}

void KernelEmitter::multiply_fragments(const WarpStep& step) {
  const machine::Instruction* found = instruction_of(target_, step);
  RELAY_CHECK(found, "{} has no product of tiles of {} and {}", target_.name, step.left->dtype.str(),
              step.right->dtype.str());
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(found->intrinsic);
  RELAY_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic {}", found->intrinsic);
  llvm::Function* product = llvm::Intrinsic::getOrInsertDeclaration(&module_, id);
  std::vector<Value*> operands;
  for (const Buffer* tile : {step.left.get(), step.right.get(), step.tile.get()})
    for (llvm::AllocaInst* from : fragments_.at(tile)) {
      Value* value = b_.CreateLoad(from->getAllocatedType(), from);
      operands.push_back(b_.CreateBitCast(value, product->getArg(static_cast<unsigned>(operands.size()))->getType()));
    }
  Value* sums = b_.CreateCall(product, operands);
  const std::vector<llvm::AllocaInst*>& to = fragments_.at(step.tile.get());
  for (unsigned i = 0; i < to.size(); ++i) b_.CreateStore(b_.CreateExtractValue(sums, i), to[i]);
}

}  // namespace relay::codegen
