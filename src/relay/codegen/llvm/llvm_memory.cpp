// Arrays: addresses, loads, stores, register buffers.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "relay/codegen/llvm/byte_table.h"
#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/codegen/llvm/transpose.h"

namespace relay::codegen {

using llvm::Align;
using llvm::Type;
using llvm::Value;
using loop::Buffer;
using loop::Scope;
using loop::Stmt;
using loop::StmtKind;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::Exprs;
using scalar::Kind;

constexpr uint64_t zero_bytes = 2048;  // 256 lanes of 8 bytes

static const Buffer* buffer_of(const Expr& load) { return static_cast<const Buffer*>(load->source.get()); }

int64_t constant_elements(const Buffer& b) {
  Expr n = scalar::imm(1);
  for (const Expr& e : b.shape) n = scalar::simplify(n * e);
  return scalar::is_int(n) ? n->ivalue : -1;
}

static llvm::SmallVector<int, 64> lane_list(int begin, int count) {
  llvm::SmallVector<int, 64> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(begin + i);
  return lanes;
}

// --- buffers ---------------------------------------------------------------------------------------------------------

// Alias scopes: different params are different arrays, and a local array is none of them.
void KernelEmitter::setup_buffers(std::span<Value* const> bases, Value* scratch) {
  std::vector<const Buffer*> buffers;
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const Buffer* p = kernel_.params[i].get();
    bases_[p] = bases[i];
    buffers.push_back(p);
  }
  loop::visit(
      kernel_.body,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::Store) stored_[s->buffer.get()] = true;
        if (s->kind != StmtKind::Alloc || s->buffer->scope == Scope::Register || s->buffer->scope == Scope::Tile ||
            scopes_of_.count(s->buffer.get()))
          return;
        stored_[s->buffer.get()] = true;
        scopes_of_[s->buffer.get()] = nullptr;
        buffers.push_back(s->buffer.get());
      },
      [](const Expr&) {});
  scratch_ = scratch;
  llvm::MDBuilder metadata(context_);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(kernel_.name);
  std::vector<llvm::Metadata*> scopes;
  for (const Buffer* b : buffers) scopes.push_back(metadata.createAnonymousAliasScope(domain, b->name));
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    scopes_of_[buffers[i]] = llvm::MDNode::get(context_, {scopes[i]});
    others_of_[buffers[i]] = llvm::MDNode::get(context_, others);
  }
}

void KernelEmitter::annotate(Value* access, const Buffer* buffer) {
  llvm::Instruction* instruction = llvm::dyn_cast<llvm::Instruction>(access);
  std::unordered_map<const Buffer*, llvm::MDNode*>::iterator it = scopes_of_.find(buffer);
  if (!instruction || it == scopes_of_.end()) return;
  instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, it->second);
  instruction->setMetadata(llvm::LLVMContext::MD_noalias, others_of_.at(buffer));
}

void KernelEmitter::alloc_stmt(const Stmt& s) {
  const Buffer* buffer = s->buffer.get();
  if (buffer->scope == Scope::Tile) return alloc_tile(s);
  int64_t elements = constant_elements(*buffer), used = scratch_used_;
  llvm::IRBuilder<> entry(function_->getEntryBlock().getTerminator());
  if (buffer->scope == Scope::Stack && !bases_.count(buffer)) {
    llvm::AllocaInst* array =
        entry.CreateAlloca(llvm::ArrayType::get(values_.memory_type(buffer->dtype), static_cast<uint64_t>(elements)),
                           nullptr, buffer->name);
    array->setAlignment(Align(64));
    bases_[buffer] = array;
  }
  if (buffer->scope == Scope::Shared) bases_[buffer] = shared_array(*buffer);
  if (buffer->scope == Scope::Scratch) {
    bases_[buffer] = entry.CreateConstGEP1_64(entry.getInt8Ty(), scratch_, static_cast<uint64_t>(used), buffer->name);
    scratch_used_ = used + (elements * buffer->dtype.bytes() + 63) / 64 * 64;
  }
  stmt(s->body[0]);
  scratch_used_ = used;
}

llvm::Value* KernelEmitter::base_of(const Buffer* buffer) {
  std::unordered_map<const Buffer*, Value*>::iterator it = bases_.find(buffer);
  RELAY_CHECK(it != bases_.end(), "array {} of kernel {} is not in scope", buffer->name, kernel_.name);
  return it->second;
}

// The same address, hidden from LLVM's alias analysis.
llvm::Value* KernelEmitter::opaque(Value* base) {
  Value*& copy = opaque_[base];
  if (copy) return copy;
  llvm::IRBuilder<> entry(function_->getEntryBlock().getTerminator());
  llvm::FunctionType* type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy()}, false);
  return copy = entry.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {base});
}

// --- memory ----------------------------------------------------------------------------------------------------------

// True if a vector may be read regardless of its guard: its lanes are at known places, all of them within the array.
// Then it is read once under different guards, and as whole vectors if lanes are not adjacent. Adjacent lanes cost as
// much under a mask that is known at run time only.
bool KernelEmitter::is_free_of_guards(const Expr& e) const {
  if (!guard_ || e->dtype.lanes == 1) return false;
  const Buffer* buffer = buffer_of(e);
  bool regular = true;
  for (size_t d = 0; d < e->args.size(); ++d) {
    const std::optional<loop::LaneTable> index = loop::as_table(e->args[d], e->dtype.lanes, bounds_);
    if (!index || !scalar::is_int(buffer->shape[d])) return false;
    const auto [first, last] = std::minmax_element(index->offsets.begin(), index->offsets.end());
    const scalar::Interval base = scalar::interval(index->base, bounds_);
    if (!base.min || !base.max || *base.min + *first < 0 || *base.max + *last >= buffer->shape[d]->ivalue) return false;
    regular &= loop::as_lanes(e->args[d]).has_value();
  }
  return !regular || llvm::isa<llvm::Constant>(guard_);
}

llvm::Value* KernelEmitter::load(const Expr& e) {
  const Buffer* buffer = buffer_of(e);
  if (buffer->scope == Scope::Register) return load_register(buffer, e->args, e->dtype);
  if (is_free_of_guards(e)) {
    Value* guard = std::exchange(guard_, nullptr);
    Value* value = load(e);
    guard_ = guard;
    return value;
  }
  forces_own_load_ = forces_own_load_ && e->dtype.lanes == 1 && buffer->scope != Scope::Stack;
  auto read = [&] {
    Value* value = load_memory(buffer, e->args, e->dtype);
    loaded_under_[value] = guard_;
    return value;
  };
  if (stored_.count(buffer) || forces_own_load_) return read();
  uint64_t key = scalar::hash(e);
  for (size_t s = scopes_.size(); s-- > 0;) {
    auto [first, last] = scopes_[s].memo.equal_range(key);
    for (; first != last; ++first)
      if (const Remembered& r = first->second; holds_under(r.tag) && scalar::equal(r.expr, e)) return r.value;
  }
  Value* value = read();
  int scope = static_cast<int>(scopes_.size()) - 1;
  for (int d = depth(e); scope > d && scopes_[scope].kind == Frame::Straight;) --scope;
  scopes_[scope].memo.insert({key, {e, guard_, value}});
  return value;
}

// `pointer` if the guard holds (in any lane), else the address of zeros.
llvm::Value* KernelEmitter::guarded(Value* pointer) {
  if (!guard_) return pointer;
  if (!zeros_) {
    llvm::ArrayType* type = llvm::ArrayType::get(b_.getInt8Ty(), zero_bytes);
    zeros_ = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                      llvm::ConstantAggregateZero::get(type), "zeros");
    zeros_->setAlignment(Align(64));
  }
  return b_.CreateSelect(any_lane(guard_), pointer, zeros_);
}

// The guard as a mask of `lanes` lanes; null: all of them.
llvm::Value* KernelEmitter::mask_of(int lanes) { return guard_ ? values_.splat(guard_, lanes) : nullptr; }

// True if the machine loads and stores vectors of such elements under a mask in one instruction.
bool KernelEmitter::has_masked_access(int bytes) const {
  return target_.has_masks || (target_.vector_bytes >= 32 && bytes >= 4);
}

// A masked vector load (zeros elsewhere), or the store of `stored`, as a small loop over the lanes between the array
// and a copy on the stack. LLVM would generate a branch per lane.
llvm::Value* KernelEmitter::lane_by_lane(Type* type, Value* pointer, Value* mask, Value* stored) {
  unsigned lanes = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  Type *one = type->getScalarType(), *flag = b_.getInt8Ty(), *flags = llvm::FixedVectorType::get(flag, lanes);
  auto local = [&](Type* t, bool is_flags) {
    llvm::AllocaInst*& slot = lane_copies_[{t, is_flags}];
    if (!slot) {
      slot = llvm::IRBuilder<>(function_->getEntryBlock().getTerminator()).CreateAlloca(t);
      slot->setAlignment(Align(64));
    }
    return slot;
  };
  Value *copy = local(type, false), *active = local(flags, true);
  b_.CreateStore(b_.CreateZExt(mask, flags), active);
  b_.CreateStore(stored ? stored : llvm::Constant::getNullValue(type), copy);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = llvm::BasicBlock::Create(context_, "lane", function_),
                   *move = llvm::BasicBlock::Create(context_, "active_lane", function_),
                   *next = llvm::BasicBlock::Create(context_, "next_lane", function_),
                   *after = llvm::BasicBlock::Create(context_, "after_lanes", function_);
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* lane = b_.CreatePHI(b_.getInt64Ty(), 2);
  lane->addIncoming(b_.getInt64(0), before);
  Value* on = b_.CreateLoad(flag, b_.CreateGEP(flag, active, lane));
  b_.CreateCondBr(b_.CreateICmpNE(on, b_.getInt8(0)), move, next);
  b_.SetInsertPoint(move);
  Value *there = b_.CreateGEP(one, pointer, lane), *here = b_.CreateGEP(one, copy, lane);
  Align align(one->getScalarSizeInBits() / 8);
  b_.CreateAlignedStore(b_.CreateAlignedLoad(one, stored ? here : there, align), stored ? there : here, align);
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
  Value* following = b_.CreateAdd(lane, b_.getInt64(1));
  lane->addIncoming(following, next);
  b_.CreateCondBr(b_.CreateICmpULT(following, b_.getInt64(lanes)), loop, after);
  b_.SetInsertPoint(after);
  return stored ? nullptr : b_.CreateLoad(type, copy);
}

// The vector of bytes that indexes a table of 256 bytes; null for other loads.
static Expr table_index(const Buffer& table, const Exprs& indices) {
  constexpr int64_t bytes = 256;
  const DType element = table.dtype.element();
  if (indices.size() != 1 || (element != DType::int8() && element != DType::uint8()) ||
      constant_elements(table) != bytes)
    return {};
  const Expr& index = scalar::without_relabel(indices[0]);
  const bool is_byte = index->kind == Kind::Cast && index->args[0]->dtype.element() == DType::uint8();
  return is_byte ? index->args[0] : Expr();
}

llvm::Value* KernelEmitter::load_memory(const Buffer* buffer, const Exprs& indices, DType t) {
  DType element = buffer->dtype.element();
  int lanes = t.lanes;
  if (const Expr index = looks_up_bytes(target_, lanes) ? table_index(*buffer, indices) : Expr()) {
    std::vector<Value*> rows;
    llvm::Type* row = llvm::FixedVectorType::get(b_.getInt8Ty(), 16);
    for (uint64_t r = 0; r < 16; ++r) {
      rows.push_back(b_.CreateAlignedLoad(row, b_.CreateGEP(row, base_of(buffer), b_.getInt64(r)), Align(1)));
      annotate(rows.back(), buffer);
    }
    Value* v = look_up_bytes(b_, rows, emit(index));
    return guard_ ? b_.CreateSelect(guard_, v, llvm::Constant::getNullValue(v->getType())) : v;
  }
  Type *one = values_.memory_type(element), *type = values_.memory_type(t);
  const bool is_shared = buffer->scope == Scope::Shared && lanes == 1;
  Align align = is_shared ? shared_alignment(*buffer, indices) : Align(static_cast<uint64_t>(element.bytes()));
  Address at = address(buffer, indices, lanes, true);
  if (!at.pointers && at.offsets.empty() && at.stride > 1 && lanes > 1) {
    for (int64_t l = 0; l < lanes; ++l) at.offsets.push_back(l * at.stride);
    at.offsets = near_lanes(at.offsets, element.bytes());
  }
  if (!at.offsets.empty()) {
    Value* v = load_near(type, at.pointer, at.offsets, align);
    if (guard_) v = b_.CreateSelect(guard_, v, llvm::Constant::getNullValue(type));
    return values_.from_memory(v, t);
  }
  if (!at.pointers && (lanes == 1 || at.stride == 0)) {
    Value* v = b_.CreateAlignedLoad(one, guarded(at.pointer), align);
    annotate(v, buffer);
    Value* all = values_.splat(values_.from_memory(v, element), lanes);
    const bool by_lane = lanes > 1 && guard_ && guard_->getType()->isVectorTy();
    return by_lane ? b_.CreateSelect(guard_, all, llvm::Constant::getNullValue(all->getType())) : all;  // see select()
  }
  Value* v = nullptr;
  if (!at.pointers && (at.stride == 1 || at.stride == -1)) {
    bool reverse = at.stride == -1;
    Value* pointer =
        reverse ? b_.CreateGEP(one, at.pointer, b_.getInt64(static_cast<uint64_t>(1 - lanes))) : at.pointer;
    if (guard_ && guard_->getType()->isVectorTy()) {
      Value* mask = reverse ? b_.CreateVectorReverse(guard_) : guard_;
      if (one_of_two_) pointer = guarded(pointer);
      v = has_masked_access(element.bytes())
              ? b_.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type))
              : lane_by_lane(type, pointer, mask, nullptr);
    } else {
      v = b_.CreateAlignedLoad(type, guarded(pointer), align);
    }
    annotate(v, buffer);
    if (reverse) v = b_.CreateVectorReverse(v);
  } else {
    Value* pointers =
        at.pointers ? at.pointers : b_.CreateGEP(one, at.pointer, values_.iota(b_.getInt64Ty(), lanes, at.stride));
    v = b_.CreateMaskedGather(type, pointers, align, mask_of(lanes),
                              guard_ ? llvm::Constant::getNullValue(type) : nullptr);
    annotate(v, buffer);
  }
  return values_.from_memory(v, t);
}

void KernelEmitter::store(const Stmt& s) {
  const Buffer* buffer = s->buffer.get();
  Value* mask = s->condition ? emit(s->condition) : nullptr;
  int lanes = s->value->dtype.lanes;
  for (const Expr& e : s->indices) lanes = std::max<int>(lanes, e->dtype.lanes);
  DType t = buffer->dtype.with_lanes(lanes);
  if (mask && !mask->getType()->isVectorTy() && buffer->scope != Scope::Register) {
    branch(mask, [&] { store_memory(buffer, address(buffer, s->indices, lanes), emit(s->value), nullptr, t); }, [] {});
    return;
  }
  guard_ = mask, guard_expr_ = s->condition;
  Value* value = emit(s->value);
  if (buffer->scope == Scope::Register)
    store_register(buffer, s->indices, value, mask);
  else
    store_memory(buffer, address(buffer, s->indices, lanes), value, mask, t);
  guard_ = nullptr, guard_expr_ = {};
}

// The number of first lanes that a constant mask enables; unset if it is not constant, or enables others.
static std::optional<unsigned> first_lanes(Value* mask, unsigned lanes) {
  const llvm::Constant* constant = mask ? llvm::dyn_cast<llvm::Constant>(mask) : nullptr;
  if (!constant) return std::nullopt;
  unsigned count = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    const llvm::Constant* on = constant->getAggregateElement(l);
    if (!on || !(on->isOneValue() || on->isNullValue()) || (on->isOneValue() && l > count)) return std::nullopt;
    count += on->isOneValue();
  }
  return count;
}

// Stores the first `count` lanes as vectors of 8, 4, 2 and one lane: without predicate registers, some processors take
// tens of cycles for a masked store.
void KernelEmitter::store_first(const Buffer* buffer, Value* v, Value* pointer, Align align, unsigned count) {
  Type* one = v->getType()->getScalarType();
  for (unsigned done = 0, size; done < count; done += size) {
    size = std::bit_floor(count - done);
    Value* part = size == 1 ? b_.CreateExtractElement(v, done)
                            : b_.CreateShuffleVector(v, lane_list(static_cast<int>(done), static_cast<int>(size)));
    Value* at = done ? b_.CreateGEP(one, pointer, b_.getInt64(done)) : pointer;
    annotate(b_.CreateAlignedStore(part, at, align), buffer);
  }
}

void KernelEmitter::store_memory(const Buffer* buffer, const Address& at, Value* value, Value* mask, DType t) {
  Align align(static_cast<uint64_t>(t.bytes()));
  Type* one = values_.memory_type(t.element());
  Value* v = values_.to_memory(values_.splat(value, t.lanes), t);
  Value* access = nullptr;
  if (t.lanes == 1) {
    access = b_.CreateAlignedStore(v, at.pointer, align);
  } else if (!at.pointers && (at.stride == 1 || at.stride == -1)) {
    Value* pointer = at.pointer;
    if (at.stride == -1) {
      pointer = b_.CreateGEP(one, pointer, b_.getInt64(static_cast<uint64_t>(1 - t.lanes)));
      v = b_.CreateVectorReverse(v);
      if (mask) mask = b_.CreateVectorReverse(mask);
    }
    const std::optional<unsigned> first = first_lanes(mask, static_cast<unsigned>(t.lanes));
    if (first && at.stride == 1 && !target_.has_masks) return store_first(buffer, v, pointer, align, *first);
    if (mask && !has_masked_access(t.bytes())) {
      lane_by_lane(v->getType(), pointer, mask, v);
      return;
    }
    access = mask ? static_cast<Value*>(b_.CreateMaskedStore(v, pointer, align, mask))
                  : b_.CreateAlignedStore(v, pointer, align);
  } else {  // also stride 0: the last lane wins, as in the serial loop
    Value* pointers =
        at.pointers ? at.pointers : b_.CreateGEP(one, at.pointer, values_.iota(b_.getInt64Ty(), t.lanes, at.stride));
    access = b_.CreateMaskedScatter(v, pointers, align, mask);
  }
  annotate(access, buffer);
}

void KernelEmitter::prefetch(const Stmt& s) {
  Exprs first;
  for (const Expr& e : s->indices) {
    std::optional<loop::Lanes> lanes = loop::as_lanes(e);
    if (!lanes) return;
    first.push_back(lanes->base);
  }
  Address at = address(s->buffer.get(), first, 1);
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {at.pointer, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
}

// --- register buffers ------------------------------------------------------------------------------------------------

std::pair<const RegisterGroup*, llvm::AllocaInst*> KernelEmitter::register_of(const Buffer* buffer, int64_t element) {
  const std::vector<RegisterGroup>& groups = registers_.groups.at(buffer);
  size_t g = 0;
  while (g < groups.size() && element >= groups[g].offset + groups[g].lanes) ++g;
  if (g == groups.size() || element < groups[g].offset) return {nullptr, nullptr};
  std::vector<llvm::AllocaInst*>& values = register_values_[buffer];
  if (values.empty()) {  // promoted to SSA values when the function is complete
    llvm::IRBuilder<> entry(function_->getEntryBlock().getTerminator());
    for (const RegisterGroup& group : groups)
      values.push_back(entry.CreateAlloca(values_.type(buffer->dtype.with_lanes(group.lanes)), nullptr, buffer->name));
    register_slots_.insert(register_slots_.end(), values.begin(), values.end());
  }
  return {&groups[g], values[g]};
}

// A column of a tile whose rows are registers. If a row is outside of the buffer, the lane is irrelevant.
llvm::Value* KernelEmitter::load_across(const Buffer* buffer, const RegisterAccess& access) {
  auto [first, slot] = register_of(buffer, access.offset);
  const int width = first ? first->lanes : 0;
  const unsigned bits = first ? slot->getAllocatedType()->getScalarSizeInBits() : 0;
  bool square = first && std::has_single_bit(static_cast<unsigned>(width)) && width >= 2 && width <= 16 &&
                std::has_single_bit(static_cast<unsigned>(access.lanes)) && (bits == 32 || bits == 64) &&
                access.stride >= width;
  for (int i = 1; i < access.lanes && square; ++i) {
    const RegisterGroup* row = register_of(buffer, access.offset + i * access.stride).first;
    square = !row || (row->lanes == width && row->offset == first->offset + i * access.stride);
  }
  if (!square) {  // lane by lane
    Type* type = values_.type(buffer->dtype.with_lanes(access.lanes));
    Value* result = llvm::Constant::getNullValue(type);
    for (int i = 0; i < access.lanes; ++i) {
      auto [group, value] = register_of(buffer, access.offset + i * access.stride);
      if (!group) continue;
      Value* one = b_.CreateLoad(value->getAllocatedType(), value);
      if (group->lanes > 1)
        one = b_.CreateExtractElement(one, static_cast<uint64_t>(access.offset + i * access.stride - group->offset));
      result = b_.CreateInsertElement(result, one, static_cast<uint64_t>(i));
    }
    return result;
  }
  const size_t column = static_cast<size_t>(access.offset - first->offset);
  std::vector<Value*> parts;  // of adjacent squares of `width` rows
  for (int row = 0; row < access.lanes; row += width) {
    const RegisterAccess rows{first->offset + row * access.stride, std::min(width, access.lanes), access.stride};
    parts.push_back(columns(buffer, rows, width)[column]);
  }
  if (access.lanes < width) return b_.CreateShuffleVector(parts[0], lane_list(0, access.lanes));
  for (int lanes = 2 * width; lanes <= access.lanes; lanes *= 2) {
    std::vector<Value*> wider;
    for (size_t i = 0; i < parts.size(); i += 2)
      wider.push_back(b_.CreateShuffleVector(parts[i], parts[i + 1], lane_list(0, lanes)));
    parts = wider;
  }
  return parts[0];
}

// All columns at once, remembered until the next store to the buffer.
const std::vector<llvm::Value*>& KernelEmitter::columns(const Buffer* buffer, const RegisterAccess& rows, int width) {
  for (size_t s = scopes_.size(); s-- > 0;) {
    for (const Columns& c : scopes_[s].columns)
      if (c.buffer == buffer && c.offset == rows.offset && c.stride == rows.stride && c.lanes == rows.lanes)
        return c.values;
    if (scopes_[s].kind != Frame::Straight) break;  // a loop may store to it before it returns here
  }
  std::vector<Value*> square;
  for (int i = 0; i < width; ++i) {
    auto [group, slot] = i < rows.lanes ? register_of(buffer, rows.offset + i * rows.stride)
                                        : std::pair<const RegisterGroup*, llvm::AllocaInst*>();
    Type* type = values_.type(buffer->dtype.with_lanes(width));
    square.push_back(group ? static_cast<Value*>(b_.CreateLoad(type, slot)) : llvm::PoisonValue::get(type));
  }
  scopes_.back().columns.push_back({buffer, rows.offset, rows.stride, rows.lanes, transpose(b_, square)});
  return scopes_.back().columns.back().values;
}

llvm::Value* KernelEmitter::load_register(const Buffer* buffer, const Exprs& indices, DType t) {
  RegisterAccess access = *register_access(*buffer, indices);
  if (access.stride > 1) return load_across(buffer, access);
  auto [group, slot] = register_of(buffer, access.offset);
  Value* whole = b_.CreateLoad(slot->getAllocatedType(), slot);
  int first = static_cast<int>(access.offset - group->offset);
  Value* part = whole;
  if (access.lanes != group->lanes)
    part = access.lanes == 1 ? b_.CreateExtractElement(whole, first)
                             : b_.CreateShuffleVector(whole, lane_list(first, access.lanes));
  return values_.splat(part, t.lanes);
}

void KernelEmitter::store_register(const Buffer* buffer, const Exprs& indices, Value* value, Value* mask) {
  RegisterAccess access = *register_access(*buffer, indices);
  for (Frame& frame : scopes_) std::erase_if(frame.columns, [&](const Columns& c) { return c.buffer == buffer; });
  auto [group, slot] = register_of(buffer, access.offset);
  int first = static_cast<int>(access.offset - group->offset);
  value = values_.splat(value, access.lanes);
  if (mask) {
    DType t = buffer->dtype.with_lanes(access.lanes);
    value = b_.CreateSelect(values_.splat(mask, access.lanes), value, load_register(buffer, indices, t));
  }
  if (access.lanes != group->lanes) {
    Value* whole = b_.CreateLoad(slot->getAllocatedType(), slot);
    if (access.lanes == 1) {
      value = b_.CreateInsertElement(whole, value, first);
    } else {
      llvm::SmallVector<int, 64> wide = lane_list(0, group->lanes);
      for (int i = access.lanes; i < group->lanes; ++i) wide[i] = -1;
      value = b_.CreateShuffleVector(value, wide);
      llvm::SmallVector<int, 64> mix = lane_list(0, group->lanes);
      for (int i = 0; i < access.lanes; ++i) mix[first + i] = group->lanes + i;
      value = b_.CreateShuffleVector(whole, value, mix);
    }
  }
  b_.CreateStore(value, slot);
}

}  // namespace relay::codegen
