// Steps on tiles (loop/tiles.h) whose registers are vectors: AArch64's smmla and its kin. Each tile is a value of 16
// bytes:
//
//   left operand     row 0: 8 bytes, row 1: 8 bytes         2 groups of products
//   right operand    column 0: 8 bytes, column 1: 8 bytes   the same, so that neighbours in memory are one load
//   sums             [0, 0], [0, 1], [1, 0], [1, 1]         4 bytes each
//
// A tile with fewer rows or columns has zeros in place of the others. LLVM assigns registers; with_operand_tiles has
// checked that there are enough.
#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Buffer;
using loop::TileStep;

namespace {

constexpr int tile_bytes = 16, tile_row_bytes = 8;

bool holds_sums(const Buffer& tile) { return tile.shape.size() == 2; }
int64_t rows_of(const Buffer& tile) { return tile.shape[0]->ivalue; }

// A tile as integers, each of which is what a row of `bytes` has in memory; the lane of a row.
llvm::FixedVectorType* row_vector(llvm::IRBuilder<>& b, int bytes) {
  return llvm::FixedVectorType::get(b.getIntNTy(8 * static_cast<unsigned>(bytes)),
                                    static_cast<unsigned>(tile_bytes / bytes));
}
unsigned lane_of(int64_t row, int bytes) { return static_cast<unsigned>(row * tile_row_bytes / bytes); }

}  // namespace

void KernelEmitter::alloc_vector_tile(const loop::Stmt& s) {
  const Buffer& tile = *s->buffer;
  llvm::AllocaInst*& slot = vector_tiles_[&tile];
  if (!slot) {
    llvm::IRBuilder<> entry(function_->getEntryBlock().getTerminator());
    llvm::Type* element = holds_sums(tile) ? values_.type(tile.dtype) : b_.getInt64Ty();
    const unsigned bytes = element->getPrimitiveSizeInBits().getFixedValue() / 8;
    slot = entry.CreateAlloca(llvm::FixedVectorType::get(element, tile_bytes / bytes), nullptr, tile.name);
    register_slots_.push_back(slot);
  }
  stmt(s->body[0]);
}

llvm::Value* KernelEmitter::row_pointer(const TileStep& step, int64_t row) {
  const Buffer* memory = static_cast<const Buffer*>(step.memory.get());
  const scalar::Expr offset = scalar::simplify(step.row_stride * row, bounds_);
  llvm::Value* first = address(memory, step.origin, 1).pointer;
  return row == 0 ? first : b_.CreateGEP(values_.memory_type(memory->dtype), first, emit(offset));
}

llvm::Value* KernelEmitter::loaded_rows(const TileStep& step) {
  const Buffer *memory = static_cast<const Buffer*>(step.memory.get()), &tile = *step.tile;
  const llvm::Align align(static_cast<uint64_t>(memory->dtype.bytes()));
  const int bytes = loop::row_bytes(tile);
  auto loaded = [&](llvm::Type* type, int64_t row) {
    llvm::Value* value = b_.CreateAlignedLoad(type, row_pointer(step, row), align);
    annotate(value, memory);
    return value;
  };
  const bool adjacent = bytes == tile_row_bytes && scalar::is_int(step.row_stride, bytes / memory->dtype.bytes());
  if (bytes == tile_bytes || (adjacent && rows_of(tile) * bytes == tile_bytes))
    return loaded(llvm::FixedVectorType::get(b_.getInt64Ty(), tile_bytes / tile_row_bytes), 0);
  llvm::FixedVectorType* type = row_vector(b_, bytes);
  llvm::Value* all = llvm::Constant::getNullValue(type);
  for (int64_t r = 0; r < rows_of(tile); ++r)
    all = b_.CreateInsertElement(all, loaded(type->getElementType(), r), lane_of(r, bytes));
  return all;
}

void KernelEmitter::store_rows(const TileStep& step) {
  const Buffer *memory = static_cast<const Buffer*>(step.memory.get()), &tile = *step.tile;
  const int bytes = loop::row_bytes(tile);
  llvm::AllocaInst* slot = vector_tiles_.at(&tile);
  llvm::Value* all = b_.CreateBitCast(b_.CreateLoad(slot->getAllocatedType(), slot), row_vector(b_, bytes));
  for (int64_t r = 0; r < rows_of(tile); ++r)
    annotate(b_.CreateAlignedStore(b_.CreateExtractElement(all, lane_of(r, bytes)), row_pointer(step, r),
                                   llvm::Align(static_cast<uint64_t>(memory->dtype.bytes()))),
             memory);
}

void KernelEmitter::vector_tile_step(const TileStep& step) {
  llvm::AllocaInst* slot = vector_tiles_.at(step.tile.get());
  llvm::Type* type = slot->getAllocatedType();
  auto value = [&](const loop::BufferRef& tile) {
    llvm::AllocaInst* from = vector_tiles_.at(tile.get());
    return b_.CreateLoad(from->getAllocatedType(), from);
  };
  switch (step.kind) {
    case TileStep::Kind::Zero: b_.CreateStore(llvm::Constant::getNullValue(type), slot); break;
    case TileStep::Kind::Load: b_.CreateStore(b_.CreateBitCast(loaded_rows(step), type), slot); break;
    case TileStep::Kind::Store: store_rows(step); break;
    case TileStep::Kind::Multiply: {
      const DType number = step.left->dtype;
      llvm::Type* element = number == DType::bfloat16() ? b_.getBFloatTy() : values_.memory_type(number);
      llvm::Type* operand = llvm::FixedVectorType::get(element, static_cast<unsigned>(tile_bytes / number.bytes()));
      llvm::Value *left = b_.CreateBitCast(value(step.left), operand), *sum = value(step.tile),
                  *right = b_.CreateBitCast(value(step.right), operand);
      const llvm::Intrinsic::ID id = product_of(target_, step);
      b_.CreateStore(llvm::Intrinsic::isOverloaded(id) ? b_.CreateIntrinsic(id, {type, operand}, {sum, left, right})
                                                       : b_.CreateIntrinsic(id, {sum, left, right}),
                     slot);
      break;
    }
  }
}

}  // namespace relay::codegen
