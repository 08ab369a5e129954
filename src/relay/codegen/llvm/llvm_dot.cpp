// Dot products of narrow numbers (scalar::Kind::Dot) by the machine's instructions (machine/instructions.def), which
// take vectors in which the numbers of each lane are adjacent:
//
//   sum[lane] + a[4 lane] * b[4 lane] + ... + a[4 lane + 3] * b[4 lane + 3]
//
// Numbers that are adjacent in memory are one load; numbers that are the same for all lanes are one load that is
// broadcast. All others are assembled from vectors of the first, second, ... numbers.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/loop/lanes.h"
#include "relay/machine/instruction.h"
#include "relay/scalar/short_dot.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Buffer;
using loop::Scope;
using scalar::Expr;
using scalar::Exprs;
using scalar::Kind;

namespace {

const Buffer* buffer_of(const Expr& load) { return static_cast<const Buffer*>(load->source.get()); }

int bytes_of(DType vector) { return vector.lanes * vector.bytes(); }

// The instruction for a vector of sums; null if the machine has none.
const machine::Instruction* instruction(const TargetDesc& target, const Expr& dot) {
  const size_t n = dot->args.size() / 2;
  const machine::Instruction* found =
      machine::find_instruction(target, dot->args[0]->dtype.element(), dot->args[n]->dtype.element(),
                                dot->dtype.element(), static_cast<int>(n), bytes_of(dot->dtype));
  if (!found || !*found->intrinsic || (found->short_sums && !scalar::is_short_dot(dot))) return nullptr;
  return found;
}

llvm::Intrinsic::ID intrinsic(const machine::Instruction& instruction, int bytes) {
  std::string name = instruction.intrinsic;
  if (const size_t bits = name.find("{}"); bits != name.npos) name.replace(bits, 2, std::to_string(8 * bytes));
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
  RELAY_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic {}", name);
  return id;
}

// True if dot products of bytes are sums of pairs in 16 bits.
bool adds_short_sums(const TargetDesc& target, int products, int lanes) {
  const DType byte = DType::int8(), sum = DType::int32();
  const machine::Instruction* found = machine::find_instruction(target, byte, byte, sum, products, lanes * sum.bytes());
  return found && found->short_sums;
}

// Four products of bytes for each lane, of which two pairs are added in 16 bits:
//
//   a           a0 a1 a2 a3   a4 a5 a6 a7   ...
//   low, high   products of the first half of the bytes, and of the second one
//   pairs       a0 b0 + a1 b1, a2 b2 + a3 b3, ...
//
// x86 has an instruction for pairs.
llvm::Value* sums_of_pairs(llvm::IRBuilder<>& b, llvm::Intrinsic::ID product, llvm::Value* left, llvm::Value* right) {
  const int bytes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(left->getType())->getNumElements());
  const unsigned half = static_cast<unsigned>(bytes / 2);
  llvm::Type *products = llvm::FixedVectorType::get(b.getInt16Ty(), half),
             *sums = llvm::FixedVectorType::get(b.getInt32Ty(), half / 2);
  auto products_from = [&](int first) {
    std::vector<int> lanes;
    for (int l = 0; l < bytes / 2; ++l) lanes.push_back(first + l);
    return b.CreateIntrinsic(product, {products},
                             {b.CreateShuffleVector(left, lanes), b.CreateShuffleVector(right, lanes)});
  };
  const bool is_wide = product == llvm::Intrinsic::x86_avx2_pmadd_ub_sw;
  if (is_wide || product == llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128)
    return b.CreateIntrinsic(is_wide ? llvm::Intrinsic::x86_avx2_pmadd_wd : llvm::Intrinsic::x86_sse2_pmadd_wd,
                             {b.CreateIntrinsic(product, {left, right}), llvm::ConstantInt::get(products, 1)});
  llvm::Value* pairs =
      b.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_addp, {products}, {products_from(0), products_from(bytes / 2)});
  return b.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_saddlp, {sums, products}, {pairs});
}

}  // namespace

// True for loads of consecutive elements.
bool KernelEmitter::is_run(std::span<const Expr> of) {
  const Buffer* buffer = buffer_of(of[0]);
  if (buffer->scope == Scope::Register || of[0]->args.empty()) return false;
  for (size_t i = 1; i < of.size(); ++i) {
    if (of[i]->source != of[0]->source) return false;
    const Exprs &first = of[0]->args, &other = of[i]->args;
    for (size_t d = 0; d + 1 < first.size(); ++d)
      if (!scalar::equal(first[d], other[d])) return false;
    const std::optional<loop::Lanes> x = loop::as_lanes(first.back()), y = loop::as_lanes(other.back());
    if (!x || !y || x->stride != y->stride ||
        !scalar::is_int(scalar::simplify(y->base - x->base, bounds_), static_cast<int64_t>(i)))
      return false;
  }
  return true;
}

// A single load of all of them, if each lane's follow those of the lane before; null otherwise.
llvm::Value* KernelEmitter::load_run(std::span<const Expr> of) {
  const Buffer* buffer = buffer_of(of[0]);
  const int lanes = of[0]->dtype.lanes, n = static_cast<int>(of.size());
  if ((guard_ && guard_->getType()->isVectorTy()) || !is_run(of)) return nullptr;
  const uint64_t key = scalar::hash(of[0]) + static_cast<uint64_t>(n);
  const bool remembered = !guard_ && !stored_.count(buffer);
  for (size_t s = scopes_.size(); remembered && s-- > 0;) {
    auto [first, last] = scopes_[s].runs.equal_range(key);
    for (; first != last; ++first)
      if (scalar::equal(first->second.expr, of[0])) return first->second.value;
  }
  const Address at = address(buffer, of[0]->args, lanes);
  if (at.pointers || (lanes > 1 && at.stride != n)) return nullptr;
  llvm::Type* type = llvm::FixedVectorType::get(values_.memory_type(buffer->dtype), static_cast<unsigned>(n * lanes));
  const llvm::Align align(static_cast<uint64_t>(buffer->dtype.bytes()));
  const unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  // LLVM widens each number of a short vector when it loads it for AArch64, but has one instruction to load copies of
  // an integer. Sums of sdot keep the former: with the latter, LLVM 22 moves them between registers.
  const bool is_short = lanes == 1 && adds_short_sums(target_, n, target_.vector_bytes / DType::int32().bytes());
  llvm::Value* v = b_.CreateAlignedLoad(is_short ? b_.getIntNTy(bits) : type, guarded(at.pointer), align);
  annotate(v, buffer);
  if (is_short) v = b_.CreateBitCast(v, type);
  if (remembered) scopes_.back().runs.insert({key, {of[0], nullptr, v}});
  return v;
}

// The number of which these are all parts, the first in the low bits: int16(x), int16(x >> 16); null if there is none.
static Expr whole_of(std::span<const Expr> of) {
  const int bits = of[0]->dtype.bits, all = bits * static_cast<int>(of.size());
  if (of[0]->kind != Kind::Cast || of[0]->args[0]->dtype.bits != all || of[0]->args[0]->dtype.is_float()) return {};
  const Expr& whole = of[0]->args[0];
  for (size_t i = 1; i < of.size(); ++i) {
    const Expr& shifted = of[i]->kind == Kind::Cast ? of[i]->args[0] : of[i];
    if (of[i]->kind != Kind::Cast || of[i]->dtype != of[0]->dtype || shifted->kind != Kind::Binary ||
        shifted->binary != scalar::BinaryOp::Shr || !scalar::equal(shifted->args[0], whole))
      return {};
    const Expr& count = shifted->args[1]->kind == Kind::Broadcast ? shifted->args[1]->args[0] : shifted->args[1];
    if (!scalar::is_int(count, bits * static_cast<int64_t>(i))) return {};
  }
  return whole;
}

// Copies of these bytes in all lanes, whose origin LLVM does not see: it would compute the upper half by itself.
llvm::Value* KernelEmitter::opaque_copies(llvm::Value* numbers, unsigned lanes) {
  llvm::Instruction* made = llvm::dyn_cast<llvm::Instruction>(numbers);
  llvm::Value*& known = opaque_[numbers];
  if (made && known) return known;
  llvm::IRBuilder<> at(b_.GetInsertBlock(), b_.GetInsertPoint());
  if (made) at.SetInsertPoint(made->getParent(), std::next(made->getIterator()));
  const unsigned bits = numbers->getType()->getPrimitiveSizeInBits().getFixedValue();
  llvm::Value* copies = at.CreateVectorSplat(lanes, at.CreateBitCast(numbers, at.getIntNTy(bits)));
  llvm::FunctionType* type = llvm::FunctionType::get(copies->getType(), {copies->getType()}, false);
  return known = at.CreateCall(llvm::InlineAsm::get(type, "", "=w,0", false), {copies});
}

// Bits of numbers of each lane, adjacent; null for other operations.
llvm::Value* KernelEmitter::bits_side_by_side(scalar::BinaryOp op, std::span<const Expr> left,
                                              std::span<const Expr> right) {
  auto both = [&](auto&& combine) {
    llvm::Value *a = side_by_side(left), *b = side_by_side(right);
    return combine(a, b);
  };
  switch (op) {
    case scalar::BinaryOp::BitXor: return both([&](auto* a, auto* b) { return b_.CreateXor(a, b); });
    case scalar::BinaryOp::BitAnd: return both([&](auto* a, auto* b) { return b_.CreateAnd(a, b); });
    default: break;
  }
  const bool is_unsigned = left[0]->dtype.element() == DType::uint8();
  Expr by = scalar::simplify(right[0]);
  while (by->kind == Kind::Broadcast || by->kind == Kind::Cast) by = by->args[0];
  if (op != scalar::BinaryOp::Shr || !is_unsigned || !scalar::is_int(by) || by->ivalue < 0 || by->ivalue >= 8)
    return nullptr;
  return both([&](auto* a, auto* b) { return b_.CreateLShr(a, b); });
}

// A vector in which the numbers of each lane are adjacent, as in memory.
llvm::Value* KernelEmitter::side_by_side(std::span<const Expr> of) {
  if (const Expr whole = whole_of(of); whole && module_.getDataLayout().isLittleEndian()) {
    llvm::Value* v = emit(whole);
    const unsigned parts = static_cast<unsigned>(of.size()) * static_cast<unsigned>(of[0]->dtype.lanes);
    return b_.CreateBitCast(v,
                            llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(of[0]->dtype.bits)), parts));
  }
  const Expr& first = of[0];
  const int lanes = first->dtype.lanes;
  const unsigned n = static_cast<unsigned>(of.size());
  const bool alike = std::all_of(of.begin(), of.end(), [&](const Expr& e) {
    return e->kind == first->kind && e->binary == first->binary && e->dtype == first->dtype &&
           e->args.size() == first->args.size() && (e->args.empty() || e->args[0]->dtype == first->args[0]->dtype);
  });
  auto arguments = [&](size_t k) {
    Exprs out;
    for (const Expr& e : of) out.push_back(e->args[k]);
    return out;
  };
  if (alike && first->kind == Kind::Load)
    if (llvm::Value* v = load_run(of)) return v;
  if (alike && first->kind == Kind::Broadcast) {
    llvm::Value* numbers = side_by_side(arguments(0));
    const unsigned bits = numbers->getType()->getPrimitiveSizeInBits().getFixedValue();
    llvm::Value* spread = adds_short_sums(target_, static_cast<int>(n), lanes)
                              ? opaque_copies(numbers, static_cast<unsigned>(lanes))
                              : values_.splat(b_.CreateBitCast(numbers, b_.getIntNTy(bits)), lanes);
    llvm::Type* element = llvm::cast<llvm::FixedVectorType>(numbers->getType())->getElementType();
    return b_.CreateBitCast(spread, llvm::FixedVectorType::get(element, n * static_cast<unsigned>(lanes)));
  }
  if (alike && first->kind == Kind::Binary)
    if (llvm::Value* v = bits_side_by_side(first->binary, arguments(0), arguments(1))) return v;
  if (alike && first->kind == Kind::Cast && !first->dtype.is_float() && !first->args[0]->dtype.is_float()) {
    const int all = lanes * static_cast<int>(n);
    return values_.cast(side_by_side(arguments(0)), first->args[0]->dtype.element().with_lanes(all),
                        first->dtype.element().with_lanes(all));
  }
  // The bits of bfloat16 are integers in LLVM's code.
  const bool are_bits = !first->dtype.is_float() || first->dtype.element() == DType::bfloat16();
  if (alike && first->kind == Kind::Reinterpret && are_bits && !first->args[0]->dtype.is_float())
    return side_by_side(arguments(0));
  // Vectors of the first numbers, of the second, ...; combined by doubling.
  std::vector<llvm::Value*> parts;
  for (const Expr& e : of) {
    llvm::Value* v = values_.to_memory(emit(e), e->dtype);
    if (lanes == 1)
      v = b_.CreateInsertElement(llvm::PoisonValue::get(llvm::FixedVectorType::get(v->getType(), 1)), v, uint64_t{0});
    parts.push_back(v);
  }
  for (size_t i = 1; i < parts.size(); ++i) {  // the parts so far, concatenated
    const int known = lanes * static_cast<int>(i), all = known + lanes;
    std::vector<int> widen(static_cast<size_t>(all), -1), both;
    for (int l = 0; l < lanes; ++l) widen[static_cast<size_t>(l)] = l;
    for (int l = 0; l < all; ++l) both.push_back(l < known ? l : all + l - known);
    std::vector<int> same(static_cast<size_t>(all), -1);
    for (int l = 0; l < known; ++l) same[static_cast<size_t>(l)] = l;
    parts[0] =
        b_.CreateShuffleVector(b_.CreateShuffleVector(parts[0], same), b_.CreateShuffleVector(parts[i], widen), both);
  }
  std::vector<int> order;
  for (int l = 0; l < lanes; ++l)
    for (int i = 0; i < static_cast<int>(n); ++i) order.push_back(i * lanes + l);
  return b_.CreateShuffleVector(parts[0], order);
}

// `sum` (null: zero) plus the products of a dot product.
llvm::Value* KernelEmitter::dot(const Expr& e, const Expr& sum) {
  const machine::Instruction* found = instruction(target_, e);
  if (!found) {
    const Expr products = scalar::without_dot(e);
    return emit(sum ? sum + products : products);
  }
  const size_t n = e->args.size() / 2;
  const std::span<const Expr> args(e->args);
  llvm::Value *a = side_by_side(args.first(n)), *b = side_by_side(args.last(n));
  llvm::Value* start = sum ? emit(sum) : llvm::Constant::getNullValue(values_.type(e->dtype));
  if (found->left == DType::bfloat16()) {
    llvm::Type* type =
        llvm::FixedVectorType::get(b_.getBFloatTy(), static_cast<unsigned>(n) * static_cast<unsigned>(e->dtype.lanes));
    a = b_.CreateBitCast(a, type), b = b_.CreateBitCast(b, type);
  }
  const llvm::Intrinsic::ID id = intrinsic(*found, bytes_of(e->dtype));
  if (found->short_sums) return b_.CreateAdd(start, sums_of_pairs(b_, id, a, b));
  if (!found->adds) {
    llvm::Value* products = b_.CreateIntrinsic(id, {a, b});
    return sum ? b_.CreateAdd(start, products) : products;
  }
  if (!llvm::Intrinsic::isOverloaded(id)) return b_.CreateIntrinsic(id, {start, a, b});
  return b_.CreateIntrinsic(id, {start->getType(), a->getType()}, {start, a, b});
}

}  // namespace relay::codegen
