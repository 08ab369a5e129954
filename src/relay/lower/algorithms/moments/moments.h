// Mean and variance in one pass over memory (Chan, Golub, LeVeque 1983): sums and squared distances of blocks that stay
// in L1, put together afterwards.
//
//   s[b] = sum(k < K) x[b, k];  q[b] = sum(k < K) (x[b, k] - s[b] / K)^2         two passes over a block
//   sum = sum(b) s[b];          squares = sum(b) q[b] + K (s[b] / K - mean)^2    for any `mean`
//
// As accurate as the sum of (x - mean)^2 over everything: all terms are squares, none is the difference of large
// numbers.
// Precondition: the extents of the sums are known, and divide into blocks.
#pragma once

#include "relay/lower/algorithms/algorithm.h"

namespace relay::lower {

// Two sums over the same elements: of these, and of the squares of their distances from a value made of the first.
struct Moments {
  te::Tensor sum, squares;
  Expr element;  // in the axes of `squares`
};
std::optional<Moments> find_moments(const te::Tensors& outputs);

// Both sums made of those of blocks.
struct MomentsInBlocks {
  te::Tensors outputs;      // with the sums, under their names, over the blocks; of these they read `param`
  te::Tensor param;         // a placeholder for `blocks`
  te::Tensor blocks;        // [.., 0, b] is sum[.., b] and [.., 1, b] squares[.., b]
  te::Tensor sum, squares;  // of each block
};
// Blocks of about `terms` elements; nothing where the sums do not divide into several.
std::optional<MomentsInBlocks> in_blocks(const te::Tensors& outputs, const Moments& moments, int64_t terms);

// So many elements of a type stay in L1 from one pass to the next, beside what is fetched ahead.
int64_t terms_of_block(const TargetDesc& target, DType dtype);

// The second time that elements are read, against sums of lanes in each block; nothing where rows stay in L1.
std::optional<Gain> estimate_moments(const Moments& moments, const TargetDesc& target);

// GroupForm::stages: the elements of a block.
void schedule_moments(ScheduleDraft& draft);
inline constexpr FormSchedule moments_schedule{.rule = Rule::Moments, .whole = schedule_moments};

}  // namespace relay::lower
