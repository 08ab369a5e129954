// A long division with digits of 26 bits, in doubles: while a lane has r >= |y|, subtract from r the multiple of
// d = |y| * 2^k that is just below it, k chosen so that r / d < 2^26. Both halves of d, times the quotient, are exact,
// and so are the differences. Most divisions take one step; the quotient of doubles has at most 2098 bits, 84 steps.
#include "relay/codegen/llvm/remainder.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

namespace relay::codegen {

using llvm::ConstantFP;
using llvm::ConstantInt;
using llvm::Type;
using llvm::Value;

namespace {

class Step {
 public:
  Step(llvm::IRBuilder<>& builder, Type* type) : b(builder), real_(type) {
    llvm::FixedVectorType* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    integer_ = vector ? static_cast<Type*>(llvm::FixedVectorType::get(b.getInt64Ty(), vector->getNumElements()))
                      : b.getInt64Ty();
  }

  // The rest of r after one step, where 0 < size <= r.
  Value* operator()(Value* r, Value* size) {
    Value* gap = b.CreateSub(b.CreateSub(exponent(r), exponent(size)), k(25));
    Value* shift = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, gap, k(0));
    Value* first = b.CreateLShr(shift, k(1));
    Value* d = b.CreateFMul(b.CreateFMul(size, power_of_two(first)), power_of_two(b.CreateSub(shift, first)));
    Value* high = b.CreateBitCast(b.CreateAnd(b.CreateBitCast(d, integer_), k(~((uint64_t{1} << 27) - 1))), real_);
    Value* low = b.CreateFSub(d, high);
    Value* q = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b.CreateFDiv(r, d));
    Value* left = b.CreateFSub(b.CreateFSub(r, b.CreateFMul(q, high)), b.CreateFMul(q, low));
    return b.CreateSelect(b.CreateFCmpOLT(left, c(0)), b.CreateFAdd(left, d), left);  // a quotient rounded up
  }

  Value* c(double v) { return ConstantFP::get(real_, v); }

 private:
  Value* k(uint64_t v) { return ConstantInt::get(integer_, v); }
  Value* power_of_two(Value* n) { return b.CreateBitCast(b.CreateShl(b.CreateAdd(n, k(1023)), k(52)), real_); }
  // n of a positive number in [2^n, 2^(n + 1)).
  Value* exponent(Value* v) {
    Value* tiny = b.CreateFCmpOLT(v, c(0x1p-1022));
    Value* normal = b.CreateSelect(tiny, b.CreateFMul(v, c(0x1p54)), v);
    Value* n = b.CreateLShr(b.CreateBitCast(normal, integer_), k(52));
    return b.CreateSub(n, b.CreateSelect(tiny, k(1023 + 54), k(1023)));
  }

  llvm::IRBuilder<>& b;
  Type *real_, *integer_ = nullptr;
};

}  // namespace

Value* float_remainder(llvm::IRBuilder<>& b, Value* x, Value* y) {
  Type* given = x->getType();
  if (given->getScalarType()->isFloatTy()) {
    llvm::FixedVectorType* vector = llvm::dyn_cast<llvm::FixedVectorType>(given);
    Type* wide = vector ? static_cast<Type*>(llvm::FixedVectorType::get(b.getDoubleTy(), vector->getNumElements()))
                        : b.getDoubleTy();
    return b.CreateFPTrunc(float_remainder(b, b.CreateFPExt(x, wide), b.CreateFPExt(y, wide)), given);
  }
  Step step(b, given);
  Value *infinity = ConstantFP::getInfinity(given), *whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y);
  Value* divides = b.CreateAnd(b.CreateFCmpOGT(size, step.c(0)), b.CreateFCmpOLT(whole, infinity));

  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(b.getContext(), "remainder", function);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(b.getContext(), "digits", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b.getContext(), "divided", function);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* r = b.CreatePHI(given, 2);
  r->addIncoming(whole, before);
  Value* more = b.CreateAnd(divides, b.CreateFCmpOGE(r, size));
  b.CreateCondBr(given->isVectorTy() ? b.CreateOrReduce(more) : more, body, after);
  b.SetInsertPoint(body);
  r->addIncoming(b.CreateSelect(more, step(r, size), r), body);
  b.CreateBr(loop);
  b.SetInsertPoint(after);
  Value* is_number = b.CreateAnd(divides, b.CreateFCmpORD(y, y));
  Value* result = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, r, x);
  return b.CreateSelect(is_number, result, ConstantFP::getNaN(given));
}

}  // namespace relay::codegen
