#include "relay/codegen/llvm/byte_table.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <functional>

namespace relay::codegen {

using llvm::Value;

namespace {

constexpr int row_bytes = 16;

// The intrinsic that permutes 16-byte parts of a vector of `lanes` bytes.
llvm::Intrinsic::ID permutation(int lanes) {
  switch (lanes) {
    case 16: return llvm::Intrinsic::x86_ssse3_pshuf_b_128;
    case 32: return llvm::Intrinsic::x86_avx2_pshuf_b;
    case 64: return llvm::Intrinsic::x86_avx512_pshuf_b_512;
    default: return llvm::Intrinsic::not_intrinsic;
  }
}

llvm::SmallVector<int, 64> repeated_lanes(int lanes) {
  llvm::SmallVector<int, 64> out;
  for (int l = 0; l < lanes; ++l) out.push_back(l % row_bytes);
  return out;
}

}  // namespace

bool looks_up_bytes(const TargetDesc& target, int lanes) {
  const char* feature = lanes == 64 ? "+avx512bw" : lanes == 32 ? "+avx2" : "+sse4.1";
  return permutation(lanes) != llvm::Intrinsic::not_intrinsic && target.triple.starts_with("x86_64") &&
         std::find(target.features.begin(), target.features.end(), feature) != target.features.end();
}

Value* look_up_bytes(llvm::IRBuilder<>& b, const std::vector<Value*>& rows, Value* index) {
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(index->getType())->getNumElements());
  Value* position = b.CreateAnd(index, llvm::ConstantInt::get(index->getType(), row_bytes - 1));
  // The sign bit of a byte chooses, so the bit is moved there.
  std::vector<Value*> is_upper;
  for (uint64_t up = 0; up < 4; ++up) {
    Value* moved = b.CreateShl(index, llvm::ConstantInt::get(index->getType(), up));
    is_upper.push_back(b.CreateICmpSLT(moved, llvm::Constant::getNullValue(index->getType())));
  }
  // Computes one half after the other, so that few registers are in use.
  std::function<Value*(size_t, size_t, size_t)> pick = [&](size_t first, size_t count, size_t bit) {
    if (count == 1)
      return static_cast<Value*>(b.CreateIntrinsic(
          permutation(lanes), {}, {b.CreateShuffleVector(rows[first], repeated_lanes(lanes)), position}));
    Value* lower = pick(first, count / 2, bit + 1);
    return b.CreateSelect(is_upper[bit], pick(first + count / 2, count / 2, bit + 1), lower);
  };
  return pick(0, rows.size(), 0);
}

}  // namespace relay::codegen
