// Payne and Hanek's reduction in integers. x = m * 2^s with an integer m, and of m * 2^s / (2 * pi) only the fraction
// matters: m times the 192 bits of 1 / (2 * pi) from bit s + 1 on, whose bits above the fraction are dropped. It has
// 139 correct bits, and no double is so close to a multiple of pi / 2 that more than 62 of them cancel.
#include "relay/codegen/llvm/far_angles.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <span>

#include "relay/base/diagnostics.h"
#include "relay/scalar/math.h"

namespace relay::codegen {

using llvm::Constant;
using llvm::ConstantFP;
using llvm::ConstantInt;
using llvm::FixedVectorType;
using llvm::Type;
using llvm::Value;
using scalar::UnaryOp;

namespace {

constexpr double least_far = 0x1p28;

// The bits of 1 / (2 * pi) behind 64 zeros.
constexpr uint64_t turn_bits[] = {0,
                                  0x28be60db9391054a,
                                  0x7f09d5f47d4d3770,
                                  0x36d8a5664f10e410,
                                  0x7f9458eaf7aef158,
                                  0x6dc91b8e909374b8,
                                  0x01924bba82746487,
                                  0x3f877ac72c4a69cf,
                                  0xba208d7d4baed121,
                                  0x3a671c09ad17df90,
                                  0x4e64758e60d4ce7d,
                                  0x272117e2ef7e4a0e,
                                  0xc7fe25fff7816603,
                                  0xfbcbc462d6829b47,
                                  0xdb4d9fb3c9f2c26d,
                                  0xd3d18fd9a797fa8b,
                                  0x5d49eeb1faf97c5e,
                                  0xcf41ce7de294a4ba,
                                  0x9afed7ec47e35742,
                                  0x1580cc11bf1edaea,
                                  0xfc33ef0826bd0d87};
// 2 * pi * 2^125
constexpr uint64_t turn_high = 0xc90fdaa22168c234, turn_low = 0xc4c6628b80dc1cd1;

// Writes the reduction of a positive double.
class Reduction {
 public:
  explicit Reduction(llvm::IRBuilder<>& builder)
      : b(builder), i64_(b.getInt64Ty()), i192_(b.getIntNTy(192)), i256_(b.getIntNTy(256)) {}

  // An angle in [-pi / 4, pi / 4] as a sum of two doubles, behind a number of quarter turns, of which the last two bits
  // count.
  struct Angle {
    Value *high, *low, *quarters;
  };
  Angle reduced(Value* x) {
    Value* turn = fraction(x);
    Value* quarters = b.CreateLShr(b.CreateAdd(turn, bit(189)), 190);
    Value* rest = b.CreateSub(turn, b.CreateShl(quarters, 190));
    Value* negative = b.CreateICmpSLT(rest, ConstantInt::get(i192_, 0));
    const std::array<Value*, 2> angle = in_radians(b.CreateSelect(negative, b.CreateNeg(rest), rest));
    auto with_sign = [&](Value* v) { return b.CreateSelect(negative, b.CreateFNeg(v), v); };
    return {with_sign(angle[0]), with_sign(angle[1]), b.CreateTrunc(quarters, b.getInt32Ty())};
  }

 private:
  Constant* bit(unsigned n) { return ConstantInt::get(b.getContext(), llvm::APInt::getOneBitSet(192, n)); }
  // The table, which all functions of a module share.
  llvm::GlobalVariable* table() {
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    const char* name = "relay_turn_bits";
    if (llvm::GlobalVariable* known = module.getNamedGlobal(name)) return known;
    llvm::Constant* bits = llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef<uint64_t>(turn_bits));
    return new llvm::GlobalVariable(module, bits->getType(), true, llvm::GlobalValue::InternalLinkage, bits, name);
  }

  // x / (2 * pi) without its integer part, times 2^192.
  Value* fraction(Value* x) {
    llvm::GlobalVariable* words = table();
    Value* bits = b.CreateBitCast(x, i64_);
    Value* m = b.CreateOr(b.CreateAnd(bits, (uint64_t{1} << 52) - 1), uint64_t{1} << 52);
    Value* from = b.CreateSub(b.CreateLShr(bits, 52), b.getInt64(1075 - 64));    // the first bit of the table
    from = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, from, b.getInt64(0));  // lanes that are not far
    Value *first = b.CreateLShr(from, 6), *window = ConstantInt::get(i256_, 0);
    for (unsigned word = 0; word < 4; ++word) {
      Value* at =
          b.CreateInBoundsGEP(words->getValueType(), words, {b.getInt64(0), b.CreateAdd(first, b.getInt64(word))});
      window = b.CreateOr(window, b.CreateShl(b.CreateZExt(b.CreateLoad(i64_, at), i256_), 64 * (3 - word)));
    }
    window = b.CreateShl(window, b.CreateZExt(b.CreateAnd(from, 63), i256_));
    return b.CreateMul(b.CreateTrunc(b.CreateLShr(window, 64), i192_), b.CreateZExt(m, i192_));
  }

  // turn * 2 * pi / 2^192, in two parts of 53 and 64 bits; turn is positive.
  std::array<Value*, 2> in_radians(Value* turn) {
    Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, turn, b.getFalse());
    Value* upper = b.CreateZExt(b.CreateLShr(b.CreateShl(turn, zeros), 64), i256_);  // 128 bits
    const uint64_t turn_words[] = {turn_low, turn_high, 0, 0};
    Value* product = b.CreateMul(upper, ConstantInt::get(b.getContext(), llvm::APInt(256, turn_words)));
    Value* more = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, product, b.getFalse());
    product = b.CreateShl(product, more);
    Value* exponent = b.CreateAdd(b.CreateTrunc(zeros, i64_), b.CreateTrunc(more, i64_));
    Value* high = b.CreateTrunc(b.CreateLShr(product, 203), i64_);
    Value* low = b.CreateTrunc(b.CreateLShr(product, 139), i64_);
    auto scaled = [&](Value* digits, int64_t power) {  // digits * 2^(power - exponent)
      Value* factor = b.CreateShl(b.CreateSub(b.getInt64(static_cast<uint64_t>(1023 + power)), exponent), 52);
      return b.CreateFMul(b.CreateUIToFP(digits, b.getDoubleTy()), b.CreateBitCast(factor, b.getDoubleTy()));
    };
    return {scaled(high, -50), scaled(low, -114)};
  }

  llvm::IRBuilder<>& b;
  Type *i64_, *i192_, *i256_;
};

Value* polynomial(llvm::IRBuilder<>& b, std::span<const double> terms, Value* x) {
  Value* sum = ConstantFP::get(x->getType(), terms.back());
  for (size_t i = terms.size() - 1; i-- > 0;)
    sum = b.CreateFAdd(b.CreateFMul(sum, x), ConstantFP::get(x->getType(), terms[i]));
  return sum;
}

// Writes the function of one double.
Value* of_one(llvm::IRBuilder<>& b, UnaryOp op, Value* x) {
  const auto [r, t, quarters] = Reduction(b).reduced(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x));
  auto c = [&](double v) { return ConstantFP::get(b.getDoubleTy(), v); };
  Value *z = b.CreateFMul(r, r), *half = b.CreateFMul(z, c(0.5));
  Value* cubic = b.CreateFMul(b.CreateFMul(r, z), polynomial(b, scalar::sine_terms(), z));
  Value* sine = b.CreateFAdd(r, b.CreateFAdd(cubic, b.CreateFMul(t, b.CreateFSub(c(1), half))));
  Value* fourth = b.CreateFMul(b.CreateFMul(z, z), polynomial(b, scalar::cosine_terms(), z));
  // 1 - half, and what its rounding loses
  Value *near = b.CreateFSub(c(1), half), *lost = b.CreateFSub(b.CreateFSub(c(1), near), half);
  Value* cosine = b.CreateFAdd(near, b.CreateFAdd(lost, b.CreateFSub(fourth, b.CreateFMul(r, t))));
  auto has = [&](Value* v, uint32_t flag) { return b.CreateICmpNE(b.CreateAnd(v, b.getInt32(flag)), b.getInt32(0)); };
  Value *odd = has(quarters, 1), *below = b.CreateFCmpOLT(x, c(0));
  auto negated = [&](Value* v, Value* condition) { return b.CreateSelect(condition, b.CreateFNeg(v), v); };
  switch (op) {
    case UnaryOp::Sin: {
      Value* turned = negated(b.CreateSelect(odd, cosine, sine), has(quarters, 2));
      return negated(turned, below);
    }
    case UnaryOp::Cos: return negated(b.CreateSelect(odd, sine, cosine), has(b.CreateAdd(quarters, b.getInt32(1)), 2));
    case UnaryOp::Tan: {
      Value* over = b.CreateSelect(odd, b.CreateFNeg(cosine), sine);
      return negated(b.CreateFDiv(over, b.CreateSelect(odd, sine, cosine)), below);
    }
    default: break;
  }
  RELAY_CHECK(false, "{} is not a function of an angle", scalar::name(op));
}

// The function of one double, which all kernels of a module share.
llvm::Function* function_of(const llvm::Function& caller, llvm::Module& module, UnaryOp op) {
  const std::string name = format("relay_far_{}", scalar::name(op));
  if (llvm::Function* known = module.getFunction(name)) return known;
  llvm::IRBuilder<> b(module.getContext());
  llvm::FunctionType* type = llvm::FunctionType::get(b.getDoubleTy(), {b.getDoubleTy()}, false);
  llvm::Function* f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  for (llvm::Attribute::AttrKind kind : {llvm::Attribute::NoInline, llvm::Attribute::Cold, llvm::Attribute::NoUnwind})
    f->addFnAttr(kind);
  for (const char* same : {"target-cpu", "target-features"}) f->addFnAttr(caller.getFnAttribute(same));
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", f));
  b.CreateRet(of_one(b, op, f->getArg(0)));
  return f;
}

}  // namespace

Value* far_angles(llvm::IRBuilder<>& b, UnaryOp op, Value* x) {
  Type* type = x->getType();
  FixedVectorType* vector = llvm::dyn_cast<FixedVectorType>(type);
  const unsigned lanes = vector ? vector->getNumElements() : 1;
  Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* far = b.CreateAnd(b.CreateFCmpOGE(size, ConstantFP::get(type, least_far)),
                           b.CreateFCmpOLT(size, ConstantFP::getInfinity(type)));
  Value* usual = b.CreateFSub(x, x);  // NaN for infinities
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b.getContext();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, function); };
  llvm::BasicBlock *before = b.GetInsertBlock(), *each = block("far_angles"), *after = block("near_angles");
  llvm::MDNode* rare = llvm::MDBuilder(context).createBranchWeights(1, 1 << 20);
  b.CreateCondBr(vector ? b.CreateOrReduce(far) : far, each, after, rare);

  b.SetInsertPoint(each);
  llvm::Function* one_angle = function_of(*function, *function->getParent(), op);
  Value* found = usual;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value* one = vector ? b.CreateExtractElement(x, lane) : x;
    Value* exact = one->getType()->isDoubleTy() ? one : b.CreateFPExt(one, b.getDoubleTy());
    Value* result = b.CreateFPTrunc(b.CreateCall(one_angle, {exact}), one->getType());
    found = vector ? b.CreateInsertElement(found, result, lane) : result;
  }
  found = b.CreateSelect(far, found, usual);
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(type, 2);
  result->addIncoming(usual, before), result->addIncoming(found, each);
  return result;
}

}  // namespace relay::codegen
