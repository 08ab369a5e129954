// Addresses of elements.
#include <algorithm>
#include <map>

#include "relay/codegen/llvm/kernel_emitter.h"

namespace relay::codegen {

using llvm::Type;
using llvm::Value;
using loop::Buffer;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::Exprs;
using scalar::Kind;

static void collect_terms(const Expr& e, bool negative, Exprs& terms, int64_t& constant) {
  if (e->kind == Kind::Int) {
    constant += negative ? -e->ivalue : e->ivalue;
  } else if (e->kind == Kind::Binary && (e->binary == BinaryOp::Add || e->binary == BinaryOp::Sub)) {
    collect_terms(e->args[0], negative, terms, constant);
    collect_terms(e->args[1], negative != (e->binary == BinaryOp::Sub), terms, constant);
  } else {
    terms.push_back(negative ? scalar::simplify(e * int64_t{-1}) : e);
  }
}

// Elements that `sum` grows by when `var` grows by one; unset if it is not linear in it.
static std::optional<int64_t> step_of(const Expr& sum, const Expr& var) {
  Exprs terms;
  int64_t constant = 0, step = 0;
  collect_terms(sum, false, terms, constant);
  for (const Expr& t : terms) {
    const bool scaled = t->kind == Kind::Binary && t->binary == BinaryOp::Mul;
    if (t == var)
      ++step;
    else if (scaled && t->args[0] == var && scalar::is_int(t->args[1]))
      step += t->args[1]->ivalue;
    else
      return std::nullopt;
  }
  return step;
}

// `pointer` + `sum` elements, as a variable of the innermost loop that is incremented by a constant; null if the sum is
// not of this form, or an instruction can scale the loop's index itself. LLVM's loop strength reduction finds the same
// variables, but it takes a third of the time of code generation. Without either, its scheduler spills registers.
llvm::Value* KernelEmitter::stepped_pointer(const Expr& sum, Value* pointer, Type* element, int level) {
  constexpr size_t most = 6;  // general registers
  Frame& loop = scopes_[static_cast<size_t>(level)];
  if (!loop.index) return nullptr;
  const std::optional<int64_t> step = step_of(sum, loop.var);
  if (!step || *step == 0) return nullptr;
  const int64_t bytes = *step * static_cast<int64_t>(element->getScalarSizeInBits() / 8);
  if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) return nullptr;
  const uint64_t key = scalar::hash(sum);
  auto [first, last] = loop.memo.equal_range(key);
  for (; first != last; ++first)
    if (first->second.tag == pointer && scalar::equal(first->second.expr, sum)) return first->second.value;
  if (loop.pointers.size() == most) return nullptr;
  llvm::IRBuilderBase::InsertPointGuard restore(b_);
  b_.SetInsertPoint(loop.before);
  Value* steps = b_.getInt64(static_cast<uint64_t>(*step));
  Value* begin = b_.CreateGEP(element, pointer, b_.CreateMul(loop.index->getIncomingValue(0), steps));
  b_.SetInsertPoint(loop.index);
  llvm::PHINode* phi = b_.CreatePHI(b_.getPtrTy(), 2);
  phi->addIncoming(begin, loop.before->getParent());
  loop.pointers.push_back({phi, pointer, element, steps});
  loop.memo.insert({key, {sum, pointer, phi}});
  return phi;
}

// Increments the pointers of a loop, at its end. Three or more with one step are computed from the index instead:
// one product serves all of them, while each increment is an instruction.
void KernelEmitter::complete_steps(const Frame& loop) {
  for (const SteppedPointer& p : loop.pointers) {
    const auto same = std::count_if(loop.pointers.begin(), loop.pointers.end(), [&](const SteppedPointer& other) {
      return other.element == p.element && other.steps == p.steps;
    });
    if (same < 3) {
      p.phi->addIncoming(b_.CreateGEP(p.element, p.phi, p.steps), b_.GetInsertBlock());
      continue;
    }
    llvm::IRBuilderBase::InsertPointGuard restore(b_);
    llvm::BasicBlock* header = p.phi->getParent();
    b_.SetInsertPoint(header, header->getFirstInsertionPt());
    p.phi->replaceAllUsesWith(b_.CreateGEP(p.element, p.origin, b_.CreateMul(loop.index, p.steps)));
    p.phi->eraseFromParent();
  }
}

// The address of element `flat`: base, plus the offset of each loop level, plus a constant. The intermediate steps may
// point outside the array, so none of them is "inbounds".
llvm::Value* KernelEmitter::pointer_to(const Buffer* buffer, const Expr& flat) {
  Type* element = values_.memory_type(buffer->dtype.element());
  Value* pointer = forces_own_load_ ? opaque(base_of(buffer)) : base_of(buffer);
  Exprs terms;
  int64_t constant = 0;
  collect_terms(flat, false, terms, constant);
  std::map<int, Expr> levels;
  Expr loaded;  // indices read from arrays
  for (const Expr& t : terms) {
    Expr& sum = is_index(t) ? levels[depth(t)] : loaded;
    sum = sum ? sum + t : t;
  }
  for (const auto& [level, sum] : levels) {
    Value* stepped = stepped_pointer(sum, pointer, element, level);
    pointer = stepped ? stepped : place(sum, pointer, level, [&] { return b_.CreateGEP(element, pointer, emit(sum)); });
  }
  if (loaded) pointer = b_.CreateGEP(element, pointer, emit(loaded));
  return constant == 0 ? pointer : b_.CreateGEP(element, pointer, b_.getInt64(static_cast<uint64_t>(constant)));
}

// The offset of each lane, for indices that have constant distances between lanes.
std::optional<loop::LaneTable> KernelEmitter::table_of(const Exprs& indices, const Exprs& steps, int lanes) const {
  loop::LaneTable table{scalar::imm(0), std::vector<int64_t>(static_cast<size_t>(lanes), 0)};
  const std::vector<int64_t> zeros = table.offsets;
  for (size_t d = 0; d < indices.size(); ++d) {
    const std::optional<loop::LaneTable> part = loop::as_table(indices[d], lanes, bounds_);
    const bool moves = part && part->offsets != zeros;
    if (!part || (moves && !scalar::is_int(steps[d]))) return std::nullopt;
    table.base = table.base + part->base * steps[d];
    for (size_t l = 0; moves && l < zeros.size(); ++l) table.offsets[l] += part->offsets[l] * steps[d]->ivalue;
  }
  return table;
}

KernelEmitter::Address KernelEmitter::address(const Buffer* buffer, const Exprs& indices, int lanes, bool loads) {
  size_t rank = indices.size();
  RELAY_CHECK(rank == buffer->shape.size(), "array {} has {} dimensions, {} indices are given", buffer->name,
              buffer->shape.size(), rank);
  Exprs steps(rank);  // elements between neighbours in each dimension
  Expr step = scalar::imm(1);
  for (size_t d = rank; d-- > 0;) steps[d] = step, step = scalar::simplify(step * buffer->shape[d]);
  Expr flat = scalar::imm(0);
  int64_t stride = 0;
  bool regular = true;
  for (size_t d = 0; d < rank && regular; ++d) {
    std::optional<loop::Lanes> part = loop::as_lanes(indices[d]);
    regular = part && (part->stride == 0 || scalar::is_int(steps[d]));
    if (!regular) break;
    flat = flat + part->base * steps[d];
    if (part->stride != 0) stride += part->stride * steps[d]->ivalue;
  }
  Address at;
  if (regular) {
    at.pointer = pointer_to(buffer, scalar::simplify(flat, bounds_));
    at.stride = stride;
    return at;
  }
  if (std::optional<loop::Lanes> joined = loop::joined_lanes(indices, steps, lanes, bounds_)) {
    at.pointer = pointer_to(buffer, scalar::simplify(joined->base, bounds_));
    at.stride = joined->stride;
    return at;
  }
  if (loads) {  // a constant distance for each lane?
    std::optional<loop::LaneTable> table = table_of(indices, steps, lanes);
    if (!table) table = loop::joined_table(indices, steps, lanes, bounds_);
    if (table) at.offsets = near_lanes(table->offsets, buffer->dtype.bytes());
    if (!at.offsets.empty()) {
      at.pointer = pointer_to(buffer, scalar::simplify(table->base, bounds_));
      return at;
    }
  }
  Expr vector = scalar::imm(0, DType::int64().with_lanes(lanes));
  for (size_t d = 0; d < rank; ++d) {
    Expr index = indices[d]->dtype.lanes == 1 ? scalar::broadcast(indices[d], lanes) : indices[d];
    vector = vector + index * scalar::broadcast(steps[d], lanes);
  }
  vector = scalar::simplify(vector, bounds_);
  Value* offsets = values_.splat(emit(vector), lanes);
  int64_t elements = constant_elements(*buffer);
  if (elements >= 0 && elements < (int64_t{1} << 31))
    offsets = b_.CreateTrunc(offsets, llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(lanes)));
  at.pointers = b_.CreateGEP(values_.memory_type(buffer->dtype.element()), base_of(buffer), offsets);
  return at;
}

}  // namespace relay::codegen
