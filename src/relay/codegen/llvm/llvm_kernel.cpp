#include "relay/codegen/llvm/llvm_kernel.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <limits>

#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/loop/lanes.h"
#include "relay/machine/instruction.h"

namespace relay::codegen {

using llvm::BasicBlock;
using llvm::ConstantInt;
using llvm::Type;
using loop::Stmt;
using loop::StmtKind;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::Exprs;
using scalar::Interval;
using scalar::Kind;

KernelEmitter::KernelEmitter(const loop::Kernel& kernel, const TargetDesc& target, const RegisterPlan& registers,
                             const TilePlan& tiles, llvm::Module& module)
    : kernel_(kernel),
      target_(target),
      registers_(registers),
      tiles_(tiles),
      tiles_in_vectors_(machine::has_tiles_in_vectors(target)),
      module_(module),
      context_(module.getContext()),
      b_(context_),
      values_(b_, target) {}

// Vectors of fixed length are in SVE's registers if their length is known. LLVM counts it in units of 128 bits.
static void set_vector_length(llvm::Function& function, const TargetDesc& target) {
  constexpr int unit = 16;  // bytes
  if (std::find(target.features.begin(), target.features.end(), "+sve") == target.features.end()) return;
  const unsigned length = static_cast<unsigned>(target.vector_bytes / unit);
  function.addFnAttr(llvm::Attribute::getWithVScaleRangeArgs(function.getContext(), length, length));
}

void KernelEmitter::create_function(std::span<Type* const> params, const std::string& name) {
  llvm::FunctionType* type = llvm::FunctionType::get(b_.getVoidTy(), {params.data(), params.size()}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setDSOLocal(true);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  std::string features;
  for (const std::string& f : target_.features) features += (features.empty() ? "" : ",") + f;
  function_->addFnAttr("target-cpu", target_.cpu);
  function_->addFnAttr("target-features", features);
  set_vector_length(*function_, target_);
}

void KernelEmitter::run() {
  Type *pointer = b_.getPtrTy(), *index = b_.getInt64Ty();
  Type* const params[] = {pointer, pointer, index, index, pointer};
  create_function(params, kernel_.name);
  std::string width = std::to_string(target_.vector_bytes * 8);
  function_->addFnAttr("prefer-vector-width", width);
  function_->addFnAttr("min-legal-vector-width", width);
  for (int i : {0, 1, 4}) function_->addParamAttr(i, llvm::Attribute::NoAlias);

  BasicBlock* entry = BasicBlock::Create(context_, "entry", function_);
  BasicBlock* start = BasicBlock::Create(context_, "start", function_);
  b_.SetInsertPoint(entry);
  b_.SetInsertPoint(b_.CreateBr(start));  // allocas and parameters go before this jump
  scopes_.push_back({});
  std::vector<Value*> bases;
  for (size_t i = 0; i < kernel_.params.size(); ++i)
    bases.push_back(
        b_.CreateLoad(pointer, b_.CreateConstGEP1_64(pointer, function_->getArg(0), i), kernel_.params[i]->name));
  setup_buffers(bases, function_->getArg(4));
  for (size_t i = 0; i < kernel_.shape_vars.size(); ++i)
    define(kernel_.shape_vars[i],
           b_.CreateLoad(index, b_.CreateConstGEP1_64(index, function_->getArg(1), i), kernel_.shape_vars[i]->name));
  b_.SetInsertPoint(start);
  if (tiles_.first) configure(*tiles_.first);

  Interval tasks = scalar::interval(kernel_.tasks);
  for_stmt(kernel_.task, function_->getArg(2), function_->getArg(3), {},
           {0, tasks.max ? std::optional<int64_t>(*tasks.max - 1) : std::nullopt}, kernel_.body);
  if (tiles_.first) b_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {});
  b_.CreateRetVoid();

  llvm::DominatorTree dominators(*function_);
  llvm::PromoteMemToReg(register_slots_, dominators);
  // The initial values of sums and maxima are known now: max(-inf, x) is x.
  for (llvm::BasicBlock& block : *function_) llvm::SimplifyInstructionsInBlock(&block);
}

// --- statements ------------------------------------------------------------------------------------------------------

void KernelEmitter::define(const Expr& var, Value* value) {
  vars_[var.get()] = {value, static_cast<int>(scopes_.size()) - 1};
}

void KernelEmitter::stmt(const Stmt& s) {
  locals_.clear(), local_index_.clear();
  switch (s->kind) {
    case StmtKind::For: {
      if (s->for_kind == loop::ForKind::Tile) {
        tile_stmt(s);
        break;
      }
      Expr last = scalar::simplify(s->min + s->extent - 1, bounds_);
      Interval range{scalar::interval(s->min, bounds_).min, scalar::interval(last, bounds_).max};
      Interval extent = scalar::interval(s->extent, bounds_);
      Value *begin = emit(s->min), *end = emit(scalar::simplify(s->min + s->extent, bounds_));
      for_stmt(s->var, begin, end, extent, range, s->body[0]);
      break;
    }
    case StmtKind::Store: store(s); break;
    case StmtKind::Let: {
      Value* value = emit(s->value);
      scopes_.push_back({});
      define(s->var, value);
      if (s->value->dtype == DType::int64()) bounds_.set(s->var, scalar::interval(s->value, bounds_));
      stmt(s->body[0]);
      scopes_.pop_back();
      break;
    }
    case StmtKind::If: if_stmt(s); break;
    case StmtKind::Alloc: alloc_stmt(s); break;
    case StmtKind::Block:
      for (const Stmt& b : s->body) stmt(b);
      break;
    case StmtKind::Prefetch: prefetch(s); break;
    case StmtKind::Barrier: barrier(); break;
    case StmtKind::AsyncCopy: async_copy(s); break;
    case StmtKind::Commit: commit_copies(); break;
    case StmtKind::Wait: wait_for_copies(s); break;
  }
  locals_.clear(), local_index_.clear();
}

static bool has_loop(const Stmt& s) {
  if (s->kind == StmtKind::For) return s->for_kind != loop::ForKind::Tile;
  return std::any_of(s->body.begin(), s->body.end(), has_loop);
}

// for (var = begin; var < end; ++var): tested once before the loop (unless it surely runs) and then at the bottom. LLVM
// assumes about thirty iterations for every loop of unknown length, and gives registers to the deepest one; known
// lengths are passed on.
void KernelEmitter::for_stmt(const Expr& var, Value* begin, Value* end, Interval extent, Interval range,
                             const Stmt& body) {
  const bool runs = extent.min && *extent.min > 0;
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(context_, var->name, function_);
  BasicBlock* exit = BasicBlock::Create(context_, "end_" + var->name, function_);
  llvm::Instruction* jump = runs ? static_cast<llvm::Instruction*>(b_.CreateBr(loop))
                                 : b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, exit);
  b_.SetInsertPoint(loop);
  llvm::PHINode* phi = b_.CreatePHI(b_.getInt64Ty(), 2, var->name);
  phi->addIncoming(begin, before);
  scopes_.push_back({.kind = Frame::Loop, .before = jump, .index = has_loop(body) ? nullptr : phi, .var = var});
  define(var, phi);
  bounds_.set(var, range);
  stmt(body);
  complete_steps(scopes_.back());
  scopes_.pop_back();
  Value* next = b_.CreateAdd(phi, b_.getInt64(1), "", range.min && *range.min >= 0, true);
  phi->addIncoming(next, b_.GetInsertBlock());
  llvm::MDNode* weights = nullptr;
  if (runs && extent.max == extent.min)
    weights = llvm::MDBuilder(context_).createBranchWeights(
        static_cast<uint32_t>(std::min<int64_t>(*extent.min - 1, 1 << 30)), 1);
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, exit, weights);
  b_.SetInsertPoint(exit);
}

void KernelEmitter::branch(Value* condition, function_ref<void()> then, function_ref<void()> otherwise) {
  BasicBlock* yes = BasicBlock::Create(context_, "then", function_);
  BasicBlock* no = BasicBlock::Create(context_, "else", function_);
  BasicBlock* after = BasicBlock::Create(context_, "after", function_);
  b_.CreateCondBr(condition, yes, no);
  for (bool first : {true, false}) {
    b_.SetInsertPoint(first ? yes : no);
    scopes_.push_back({.kind = Frame::Branch});
    first ? then() : otherwise();
    scopes_.pop_back();
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

void KernelEmitter::if_stmt(const Stmt& s) {
  branch(
      emit(s->condition), [&] { stmt(s->body[0]); },
      [&] {
        if (s->body.size() > 1) stmt(s->body[1]);
      });
}

// --- placing ---------------------------------------------------------------------------------------------------------

int KernelEmitter::depth(const Expr& e) {
  int deepest = 0;
  scalar::visit(e, [&](const Expr& n) {
    if (n->kind != Kind::Var) return;
    auto it = vars_.find(n.get());
    RELAY_CHECK(it != vars_.end(), "variable {} of kernel {} is not in scope", n->name, kernel_.name);
    deepest = std::max(deepest, it->second.second);
  });
  return deepest;
}

// Index arithmetic: integers and conditions on them, any lanes, no loads. Cheap, total, worth placing.
bool KernelEmitter::is_index(const Expr& e) {
  switch (e->kind) {
    case Kind::Int: return true;
    case Kind::Var: return e->dtype.element() == DType::int64() || e->dtype.is_bool();
    case Kind::Unary:
      if (e->unary != scalar::UnaryOp::Not && e->unary != scalar::UnaryOp::Neg) return false;
      break;
    case Kind::Binary:
    case Kind::Select:
    case Kind::Ramp:
    case Kind::Broadcast: break;
    default: return false;
  }
  if (e->dtype.element() != DType::int64() && !e->dtype.is_bool()) return false;
  if (auto it = is_index_.find(e.get()); it != is_index_.end()) return it->second.second;
  bool index = true;
  for (const Expr& a : e->args) index = index && is_index(a);
  is_index_.insert({e.get(), {e, index}});
  return index;
}

llvm::Value* KernelEmitter::place(const Expr& e, Value* tag, int depth, function_ref<Value*()> make) {
  int top = static_cast<int>(scopes_.size()) - 1, scope = top;
  llvm::Instruction* before = nullptr;
  for (int s = depth + 1; s <= top && !before; ++s)
    if (scopes_[s].kind == Frame::Loop) before = scopes_[s].before, scope = s - 1;
  // The straight lines around the place share its contents.
  while (scope > depth && scopes_[scope].kind == Frame::Straight) --scope;
  uint64_t key = scalar::hash(e);
  auto [first, last] = scopes_[scope].memo.equal_range(key);
  for (; first != last; ++first)
    if (first->second.tag == tag && scalar::equal(first->second.expr, e)) return first->second.value;
  Value* value = nullptr;
  if (before) {
    llvm::IRBuilderBase::InsertPointGuard restore(b_);
    b_.SetInsertPoint(before);
    value = make();
  } else {
    value = make();
  }
  scopes_[scope].memo.insert({key, {e, tag, value}});
  return value;
}

// --- expressions -----------------------------------------------------------------------------------------------------

llvm::Value* KernelEmitter::emit(const Expr& e) {
  if (e->kind == Kind::Int) return values_.constant(e->ivalue, e->dtype);
  if (e->kind == Kind::Float) return values_.constant(e->fvalue, e->dtype);
  if (e->kind == Kind::Var) {
    auto it = vars_.find(e.get());
    RELAY_CHECK(it != vars_.end(), "variable {} of kernel {} is not in scope", e->name, kernel_.name);
    return it->second.first;
  }
  if (is_index(e)) return place(e, nullptr, depth(e), [&] { return compute(e); });
  auto [first, last] = local_index_.equal_range(e.get());
  for (; first != last; ++first)
    if (Local& l = locals_[first->second]; holds_under(l.guard)) return l.value;
  Value* value = compute(e);
  local_index_.insert({e.get(), locals_.size()});
  locals_.push_back({e, guard_, value});
  return value;
}

llvm::Value* KernelEmitter::compute(const Expr& e) {
  switch (e->kind) {
    case Kind::Unary: return values_.unary(e->unary, emit(e->args[0]), e->args[0]->dtype);
    case Kind::Binary: return binary(e);
    case Kind::Select: return select(e);
    case Kind::Cast: return values_.cast(emit(e->args[0]), e->args[0]->dtype, e->dtype);
    case Kind::Reinterpret: return values_.reinterpret(emit(e->args[0]), e->args[0]->dtype, e->dtype);
    case Kind::Load: return load(e);
    case Kind::Ramp: {
      Value* base = values_.splat(emit(e->args[0]), e->dtype.lanes);
      return b_.CreateAdd(base, values_.iota(values_.type(e->dtype.element()), e->dtype.lanes, e->ivalue));
    }
    case Kind::Broadcast: return values_.splat(emit(e->args[0]), e->dtype.lanes);
    case Kind::Dot: return dot(e, {});
    default: break;
  }
  RELAY_CHECK(false, "an expression of kernel {} cannot be compiled: {}", kernel_.name, scalar::str(e));
}

llvm::Value* KernelEmitter::binary(const Expr& e) {
  if (e->dtype.lanes > 1 && is_index(e))
    if (Value* known = known_in_lanes(e)) return known;
  if (e->args[0]->index && e->args[1]->index && e->dtype.lanes > 1 && scalar::is_comparison(e->binary))
    if (Value* mask = lane_comparison(e)) return mask;
  if (e->binary == BinaryOp::Add)
    for (size_t i : {0, 1})
      if (e->args[i]->kind == Kind::Dot) return dot(e->args[i], e->args[1 - i]);
  if (target_.has_fma && e->dtype.is_float() && e->dtype.bits >= 32)
    if (Value* fused = contracted(e)) return fused;
  bool negative = true;
  if (e->binary == BinaryOp::FloorDiv || e->binary == BinaryOp::FloorMod) {
    if (Value* lanes = lane_division(e)) return lanes;
    if (e->dtype == DType::int64()) {
      Interval range = scalar::interval(e->args[0], bounds_);
      negative = !range.min || *range.min < 0;
    }
  }
  Value *x = emit(e->args[0]), *y = emit(e->args[1]);
  return values_.binary(e->binary, x, y, e->args[0]->dtype, negative);
}

// A sum or difference with a product in it as one multiply-add: only here, since no instruction has the flag that lets
// LLVM form others. A product of another operator is UnaryOp::Rounded and stays apart. If a whole vector and the
// remainder after the last one are multiplied by the same number, LLVM reads that once and broadcasts it to a register:
// on Zen 4 that and the multiply-add take 1.4 cycles, while a multiply-add that takes the number from memory takes one.
// So the narrow one loads it separately.
llvm::Value* KernelEmitter::contracted(const Expr& e) {
  if (e->binary != BinaryOp::Add && e->binary != BinaryOp::Sub) return nullptr;
  auto is_product = [](const Expr& x) { return x->kind == Kind::Binary && x->binary == BinaryOp::Mul; };
  const bool subtract = e->binary == BinaryOp::Sub, first = is_product(e->args[0]);
  const Expr &product = e->args[first ? 0 : 1], &other = e->args[first ? 1 : 0];
  if (!is_product(product)) return nullptr;
  auto is_load = [](const Expr& x) { return (x->kind == Kind::Broadcast ? x->args[0] : x)->kind == Kind::Load; };
  const bool narrow = target_.has_masks && 2 * e->dtype.lanes * e->dtype.bytes() <= target_.vector_bytes &&
                      is_load(product->args[0]) && is_load(product->args[1]);
  auto factor = [&](const Expr& x) {
    forces_own_load_ = narrow;
    Value* value = emit(x);
    forces_own_load_ = false;
    return value;
  };
  Value *p = factor(product->args[0]), *q = factor(product->args[1]), *sum = emit(other);
  if (first) return values_.fma(p, q, subtract ? b_.CreateFNeg(sum) : sum);  // p * q +- other
  return values_.fma(subtract ? b_.CreateFNeg(p) : p, q, sum);               // other +- p * q
}

// Values that are known in every lane, except for one number that all lanes share: a condition, or quotients and
// remainders that LLVM does not recognise as constants.
llvm::Value* KernelEmitter::known_in_lanes(const Expr& e) {
  const int lanes = e->dtype.lanes;
  if (e->dtype.is_bool()) {
    const std::optional<std::vector<bool>> known = loop::known_lanes(e, lanes, bounds_);
    if (!known) return nullptr;
    llvm::SmallVector<llvm::Constant*, 64> mask;
    for (bool lane : *known) mask.push_back(b_.getInt1(lane));
    return llvm::ConstantVector::get(mask);
  }
  const std::optional<loop::LaneTable> table = loop::as_table(e, lanes, bounds_);
  if (!table) return nullptr;
  llvm::SmallVector<llvm::Constant*, 64> offsets;
  for (int64_t offset : table->offsets) offsets.push_back(b_.getInt64(static_cast<uint64_t>(offset)));
  return b_.CreateAdd(values_.splat(emit(scalar::simplify(table->base, bounds_)), lanes),
                      llvm::ConstantVector::get(offsets));
}

// A comparison of two index vectors base + stride * lane, of which only one has a stride and that is +-1: the lane
// number against one scalar, in narrow lanes, instead of 64-bit vectors.
llvm::Value* KernelEmitter::lane_comparison(const Expr& e) {
  std::optional<loop::Lanes> x = loop::as_lanes(e->args[0]), y = loop::as_lanes(e->args[1]);
  if (!x || !y) return nullptr;
  int lanes = e->dtype.lanes;
  int64_t stride = x->stride - y->stride;
  Expr distance = scalar::simplify(y->base - x->base, bounds_);  // stride * lane <op> distance
  if (stride == 0)
    return values_.splat(emit(scalar::simplify(scalar::binary(e->binary, scalar::imm(0), distance), bounds_)), lanes);
  if ((stride != 1 && stride != -1) || lanes > 120 || (e->binary != BinaryOp::Lt && e->binary != BinaryOp::Le))
    return nullptr;
  if (stride == -1) distance = scalar::simplify(distance * int64_t{-1}, bounds_);
  // stride 1: lane < d, lane <= d;  stride -1: lane > -d, lane >= -d.
  Expr clamped = scalar::max(scalar::min(distance, scalar::imm(lanes)), scalar::imm(-1));
  Type* narrow = b_.getIntNTy(lanes <= 16 ? 32 : lanes <= 32 ? 16 : 8);
  Value* limit = values_.splat(b_.CreateTrunc(emit(clamped), narrow), lanes);
  Value* lane = values_.iota(narrow, lanes);
  bool strict = e->binary == BinaryOp::Lt;
  if (stride == 1) return strict ? b_.CreateICmpSLT(lane, limit) : b_.CreateICmpSLE(lane, limit);
  return strict ? b_.CreateICmpSGT(lane, limit) : b_.CreateICmpSGE(lane, limit);
}

// Quotient or remainder of an index vector by a constant, in lanes of 32 bits. Vector units have no product of 64-bit
// lanes that returns the upper half, so LLVM would divide lane by lane. In base + stride * lane only the remainder of
// the base plus stride * lane is divided.
llvm::Value* KernelEmitter::lane_division(const Expr& e) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  const int lanes = e->dtype.lanes;
  if (lanes == 1 || !e->index || e->args[1]->kind != Kind::Broadcast || !scalar::is_int(e->args[1]->args[0]))
    return nullptr;
  const Expr c = e->args[1]->args[0];
  if (c->ivalue <= 1 || c->ivalue > limit || (c->ivalue & (c->ivalue - 1)) == 0) return nullptr;
  const bool quotient = e->binary == BinaryOp::FloorDiv;
  Value *narrow = nullptr, *base = nullptr;
  int64_t largest = 0;
  if (const std::optional<loop::Lanes> x = loop::as_lanes(e->args[0]); x && x->stride > 0) {
    if (x->stride > limit / lanes || x->stride * (lanes - 1) > limit - c->ivalue) return nullptr;
    largest = c->ivalue - 1 + x->stride * (lanes - 1);
    const Expr rest = scalar::simplify(scalar::floormod(x->base, c), bounds_);
    const Interval range = scalar::interval(rest, bounds_);
    if (range.max && *range.max < c->ivalue) largest = *range.max + x->stride * (lanes - 1);
    narrow = b_.CreateAdd(values_.splat(b_.CreateTrunc(emit(rest), b_.getInt32Ty()), lanes),
                          values_.iota(b_.getInt32Ty(), lanes, x->stride));
    if (quotient) base = emit(scalar::simplify(scalar::floordiv(x->base, c), bounds_));
  } else {
    const Interval range = scalar::interval(e->args[0], bounds_);
    if (!range.min || *range.min < 0 || !range.max || *range.max > limit) return nullptr;
    largest = *range.max;
    narrow = b_.CreateTrunc(emit(e->args[0]), llvm::FixedVectorType::get(b_.getInt32Ty(), lanes));
  }
  Value* result = b_.CreateZExt(values_.small_division(narrow, c->ivalue, largest, quotient),
                                llvm::FixedVectorType::get(b_.getInt64Ty(), lanes));
  return base ? b_.CreateAdd(result, values_.splat(base, lanes)) : result;
}

bool KernelEmitter::loads_memory(const Expr& e) {
  if (e->kind == Kind::Load && static_cast<const loop::Buffer*>(e->source.get())->scope != loop::Scope::Register)
    return true;
  if (e->args.empty()) return false;
  if (auto it = loads_memory_.find(e.get()); it != loads_memory_.end()) return it->second.second;
  bool found = false;
  for (const Expr& a : e->args) found = loads_memory(a) || found;
  loads_memory_.insert({e.get(), {e, found}});
  return found;
}

static bool is_zero(const Expr& e) {
  if (e->kind == Kind::Broadcast) return is_zero(e->args[0]);
  if (e->kind == Kind::Float) return e->fvalue == 0 && !std::signbit(e->fvalue);
  return scalar::is_int(e, 0);
}

llvm::Value* KernelEmitter::both(Value* guard, Value* condition) {
  if (!guard) return condition;
  bool wide = guard->getType()->isVectorTy(), wide_condition = condition->getType()->isVectorTy();
  if (wide && !wide_condition)
    condition = values_.splat(condition, llvm::cast<llvm::FixedVectorType>(guard->getType())->getNumElements());
  if (!wide && wide_condition)
    guard = values_.splat(guard, llvm::cast<llvm::FixedVectorType>(condition->getType())->getNumElements());
  Value* result = b_.CreateAnd(guard, condition);
  if (result != guard) outer_guard_.insert({result, guard});
  return result;
}

// True if a value computed under `tag` can be used under the guard: it is the guard, or one of those around it.
bool KernelEmitter::holds_under(Value* tag) const {
  for (Value* guard = guard_; guard != tag;) {
    auto outer = outer_guard_.find(guard);
    if (outer == outer_guard_.end()) return !tag;
    guard = outer->second;
  }
  return true;
}

// Computed once, at the mask.
llvm::Value* KernelEmitter::any_lane(Value* mask) {
  if (!mask->getType()->isVectorTy()) return mask;
  Value*& any = any_[mask];
  if (any) return any;
  llvm::IRBuilderBase::InsertPointGuard restore(b_);
  if (llvm::Constant* known = llvm::dyn_cast<llvm::Constant>(mask)) return any = b_.getInt1(!known->isNullValue());
  llvm::Instruction* made = llvm::cast<llvm::Instruction>(mask);
  if (llvm::Instruction* next = made->getNextNode())
    b_.SetInsertPoint(next);
  else
    b_.SetInsertPoint(made->getParent());  // the block is still being written
  return any = b_.CreateOrReduce(mask);
}

llvm::Value* KernelEmitter::select(const Expr& e) {
  const Expr &condition = e->args[0], &then = e->args[1], &otherwise = e->args[2];
  // The guard already implies it. An index is computed once for all guards.
  if (guard_expr_ && !is_index(e) && scalar::equal(guard_expr_, condition)) return emit(then);
  Value* c = emit(condition);
  bool guard_then = loads_memory(then), guard_else = loads_memory(otherwise);
  Value* outer = guard_;
  Expr outer_expr = guard_expr_;
  const bool within = one_of_two_;
  one_of_two_ |= guard_then && guard_else;
  if (guard_then) {
    guard_ = both(outer, c);
    if (!outer) guard_expr_ = condition;
  }
  Value *x = emit(then), *inside = guard_;
  guard_ = outer, guard_expr_ = outer_expr;
  // A load under this guard (not one around it) reads zeros where it is masked.
  auto loaded = loaded_under_.find(x);
  if (guard_then && loaded != loaded_under_.end() && loaded->second == inside && is_zero(otherwise)) return x;
  if (guard_else) guard_ = both(outer, b_.CreateNot(c)), guard_expr_ = {};
  Value* y = emit(otherwise);
  guard_ = outer, guard_expr_ = outer_expr, one_of_two_ = within;
  return b_.CreateSelect(c, x, y);
}

// --- entry -----------------------------------------------------------------------------------------------------------

Status emit_kernel(const loop::Kernel& prepared, const TargetDesc& target, llvm::Module& module) {
  RELAY_ASSIGN(RegisterPlan registers, plan_registers(prepared, target));
  RELAY_ASSIGN(const TilePlan tiles, plan_tiles(prepared, target));
  KernelEmitter(prepared, target, registers, tiles, module).run();
  return ok();
}

}  // namespace relay::codegen
