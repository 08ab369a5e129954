// Loads of vectors whose lanes are not adjacent, but at constant distances and near each other: whole vectors are
// loaded and their elements permuted, which costs less than a gather.
//
//   x[2 * l], 16 lanes             two vectors, every other element
//   x[l % 2, l // 2], 16 lanes     eight elements of each of two rows, in turn
#include <algorithm>
#include <bit>
#include <set>

#include "relay/base/lane_reads.h"
#include "relay/codegen/llvm/kernel_emitter.h"

namespace relay::codegen {

using llvm::Align;
using llvm::Type;
using llvm::Value;

// Runs of the offsets, each within a vector: first and last, in order.
static std::vector<std::pair<int64_t, int64_t>> runs_of(std::vector<int64_t> offsets) {
  const int64_t lanes = static_cast<int64_t>(offsets.size());
  std::sort(offsets.begin(), offsets.end());
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (int64_t offset : offsets)
    if (!runs.empty() && offset - runs.back().first < lanes)
      runs.back().second = offset;
    else
      runs.push_back({offset, offset});
  return runs;
}

// The offsets, if the reads of active lanes are within two vectors, in few runs or at few places; other lanes get one
// of these offsets. Empty otherwise.
std::vector<int64_t> KernelEmitter::near_lanes(std::vector<int64_t> offsets, int bytes) const {
  const llvm::Constant* mask = guard_ ? llvm::dyn_cast<llvm::Constant>(guard_) : nullptr;
  if (guard_ && (!mask || !mask->getType()->isVectorTy())) return {};
  auto is_active = [&](size_t l) { return !mask || mask->getAggregateElement(static_cast<unsigned>(l))->isOneValue(); };
  std::optional<int64_t> first, last;
  for (size_t l = 0; l < offsets.size(); ++l)
    if (is_active(l))
      first = std::min(first.value_or(offsets[l]), offsets[l]), last = std::max(last.value_or(offsets[l]), offsets[l]);
  if (!first) return {};
  for (size_t l = 0; l < offsets.size(); ++l)
    if (!is_active(l)) offsets[l] = *first;
  const int64_t count = *last - *first + 1, lanes = static_cast<int64_t>(offsets.size());
  const bool near = count <= 2 * lanes && (count >= lanes || has_masked_access(bytes));
  if (!near && runs_of(offsets).size() > max_lane_runs &&
      std::set<int64_t>(offsets.begin(), offsets.end()).size() > max_lane_places)
    return {};
  return offsets;
}

// Lanes in a few runs: a vector of each, as short as possible; their elements are inserted one after the other.
llvm::Value* KernelEmitter::load_runs(Type* type, Value* pointer, const std::vector<int64_t>& offsets, Align align) {
  Type* one = type->getScalarType();
  const std::vector<std::pair<int64_t, int64_t>> runs = runs_of(offsets);
  const int64_t lanes = static_cast<int64_t>(offsets.size());
  Value* result = nullptr;
  for (const auto& [first, last] : runs) {
    const int64_t size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(last - first + 1)));
    const int64_t begin = std::min(first, runs.back().second - size + 1);  // elements past the last one need not exist
    Value* v = b_.CreateAlignedLoad(llvm::FixedVectorType::get(one, static_cast<unsigned>(size)),
                                    b_.CreateGEP(one, pointer, b_.getInt64(static_cast<uint64_t>(begin))), align);
    llvm::SmallVector<int, 64> wide, from;
    for (int64_t l = 0; l < lanes; ++l) {
      const int64_t offset = offsets[static_cast<size_t>(l)];
      const bool here = first <= offset && offset <= last;
      wide.push_back(l < size ? static_cast<int>(l) : -1);
      from.push_back(static_cast<int>(here ? lanes + offset - begin : l));
    }
    v = b_.CreateShuffleVector(v, wide);
    result = b_.CreateShuffleVector(result ? result : llvm::PoisonValue::get(type), v, from);
  }
  return result;
}

// Lanes within two vectors: these are loaded, and their elements permuted. Otherwise a few runs, or the few places one
// by one.
llvm::Value* KernelEmitter::load_near(Type* type, Value* pointer, const std::vector<int64_t>& offsets, Align align) {
  Type* one = type->getScalarType();
  const auto [first, last] = std::minmax_element(offsets.begin(), offsets.end());
  const int64_t lanes = static_cast<int64_t>(offsets.size()), count = *last - *first + 1;
  auto at = [&](int64_t offset) { return b_.CreateGEP(one, pointer, b_.getInt64(static_cast<uint64_t>(offset))); };
  Value *low = nullptr, *high = nullptr;
  if (count > 2 * lanes && runs_of(offsets).size() <= max_lane_runs) return load_runs(type, pointer, offsets, align);
  if (count > 2 * lanes || (count < lanes && !has_masked_access(static_cast<int>(align.value())))) {
    std::vector<int64_t> places = offsets;
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (int64_t place : places) {
      Value* there = values_.splat(b_.CreateAlignedLoad(one, at(place), align), static_cast<int>(lanes));
      std::vector<llvm::Constant*> here;
      for (int64_t offset : offsets) here.push_back(b_.getInt1(offset == place));
      low = low ? b_.CreateSelect(llvm::ConstantVector::get(here), there, low) : there;
    }
    return low;
  }
  if (count < lanes) {  // elements past it need not exist
    std::vector<llvm::Constant*> exists;
    for (int64_t l = 0; l < lanes; ++l) exists.push_back(b_.getInt1(l < count));
    low = b_.CreateMaskedLoad(type, at(*first), align, llvm::ConstantVector::get(exists),
                              llvm::Constant::getNullValue(type));
  } else {
    low = b_.CreateAlignedLoad(type, at(*first), align);
    if (count > lanes) high = b_.CreateAlignedLoad(type, at(*last - lanes + 1), align);
  }
  llvm::SmallVector<int, 64> from;
  for (int64_t offset : offsets) {
    const int64_t i = offset - *first;
    from.push_back(static_cast<int>(i < lanes ? i : lanes + i - (count - lanes)));
  }
  return high ? b_.CreateShuffleVector(low, high, from) : b_.CreateShuffleVector(low, from);
}

}  // namespace relay::codegen
