#include "relay/codegen/llvm/transpose.h"

#include <algorithm>

namespace relay::codegen {

using llvm::Value;
using Rows = std::vector<Value*>;

namespace {

class Square {
 public:
  Square(llvm::IRBuilder<>& b, const Rows& rows)
      : b_(b),
        lanes_(static_cast<int>(rows.size())),
        group_(std::min<int>(lanes_, 128 / static_cast<int>(rows[0]->getType()->getScalarSizeInBits()))) {}

  // Within groups of 128 bits: group g of result[q * group + j] holds column g * group + j of rows q * group, ...
  Rows transpose_within_groups(Rows rows) {
    for (int size = 1; size < group_; size *= 2) {
      Rows next(rows.size());
      for (int i = 0; i < lanes_; i += 2 * size)
        for (int j = 0; j < size; ++j) {
          next[i + 2 * j] = interleave(rows[i + j], rows[i + j + size], size, false);
          next[i + 2 * j + 1] = interleave(rows[i + j], rows[i + j + size], size, true);
        }
      rows = next;
    }
    return rows;
  }

  // A square of whole groups: group q of row j becomes group j of row q.
  Rows transpose_groups(const Rows& rows) {
    if (rows.size() == 1) return rows;
    Rows even, odd, out;
    for (size_t i = 0; i < rows.size(); i += 2) {
      even.push_back(every_other(rows[i], rows[i + 1], 0));
      odd.push_back(every_other(rows[i], rows[i + 1], 1));
    }
    even = transpose_groups(even), odd = transpose_groups(odd);
    for (size_t i = 0; i < even.size(); ++i) out.push_back(even[i]), out.push_back(odd[i]);
    return out;
  }

  int group() const { return group_; }

 private:
  using Mask = llvm::SmallVector<int, 16>;

  // For each group: runs of `size` elements from a and b in turn, from their lower or upper halves.
  Value* interleave(Value* a, Value* b, int size, bool upper) {
    Mask mask;
    for (int g = 0; g < lanes_; g += group_)
      for (int run = 0; run < group_ / size; ++run)
        for (int i = 0; i < size; ++i)
          mask.push_back(g + (upper ? group_ / 2 : 0) + run / 2 * size + i + (run % 2 ? lanes_ : 0));
    return b_.CreateShuffleVector(a, b, mask);
  }

  // Groups first, first + 2, ... of a, then of b.
  Value* every_other(Value* a, Value* b, int first) {
    Mask mask;
    for (int of_b : {0, lanes_})
      for (int g = first; g < lanes_ / group_; g += 2)
        for (int i = 0; i < group_; ++i) mask.push_back(of_b + g * group_ + i);
    return b_.CreateShuffleVector(a, b, mask);
  }

  llvm::IRBuilder<>& b_;
  const int lanes_, group_;
};

}  // namespace

Rows transpose(llvm::IRBuilder<>& b, const Rows& rows) {
  Square square(b, rows);
  const Rows inside = square.transpose_within_groups(rows);
  const size_t group = static_cast<size_t>(square.group());
  Rows columns(rows.size());
  for (size_t j = 0; j < group; ++j) {
    Rows same;  // the rows that hold columns j, j + group, ...
    for (size_t q = j; q < rows.size(); q += group) same.push_back(inside[q]);
    same = square.transpose_groups(same);
    for (size_t g = 0; g < same.size(); ++g) columns[g * group + j] = same[g];
  }
  return columns;
}

}  // namespace relay::codegen
