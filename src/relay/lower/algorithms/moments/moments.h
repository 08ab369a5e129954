// Mean and variance in one pass over memory (Chan, Golub, LeVeque 1983): sums and squared distances of blocks that stay
// in L1, put together afterwards.
//
//   s[b] = sum(k < K) x[b, k];  q[b] = sum(k < K) (x[b, k] - s[b] / K)^2         two passes over a block
//   sum = sum(b) s[b];          squares = sum(b) q[b] + K (s[b] / K - mean)^2    for any `mean`
//
// Where one group computes the mean and another one, which reads that, the squares, a third group in front of both
// computes s and q, and both read these. Its tasks are blocks: sums over batches have as few results as there are
// channels.
//
// As accurate as the sum of (x - mean)^2 over everything: all terms are squares, none is the difference of large
// numbers.
// Precondition: the extents of the sums are known, and divide into blocks.
#pragma once

#include <optional>

#include "relay/lower/algorithms/algorithm.h"
#include "relay/lower/schedule/schedule_rules.h"

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

// The same in two groups: results of the first, and what the second makes of a mean, which is a placeholder there.
// Placeholders of both are the same where they stand for one array.
struct MomentsOfTwo {
  Moments moments;
  Expr mean;  // in the axes of `squares`
};
std::optional<MomentsOfTwo> find_moments(const te::Tensors& of_sum, const te::Tensors& of_squares,
                                         const te::Tensor& mean);

// Along what lanes run while sums of blocks are computed: an axis of the squares, or the row that is summed up.
struct BlockLanes {
  std::optional<size_t> axis{};
  bool operator==(const BlockLanes&) const = default;
};

// Sums and squares of blocks as results, and what the two groups make of them.
struct BlocksForTwo {
  te::Tensors blocks;       // [.., b] or, with lanes along results, [b, ..]: neighbours are stored side by side
  te::Tensors params;       // placeholders for these
  te::Tensor sum, squares;  // of the groups, over the blocks
};
std::optional<BlocksForTwo> in_blocks(const MomentsOfTwo& found, int64_t terms, const BlockLanes& lanes);

// So many elements of a type stay in L1 from one pass to the next, beside what is fetched ahead.
int64_t terms_of_block(const TargetDesc& target, DType dtype);
// With lanes along `extent` results, a block has a few vectors of these.
int64_t results_of_block(const TargetDesc& target, DType dtype, int64_t extent);
int64_t terms_of_block(const TargetDesc& target, const Moments& moments, const BlockLanes& lanes);

// The second time that elements are read, against sums of lanes in each block; nothing where rows stay in L1.
std::optional<Gain> estimate_moments(const Moments& moments, const TargetDesc& target);

// The same for two groups, of which the second would read the data from L3 or memory.
std::optional<Gain> estimate_pair(const Moments& moments, const BlockLanes& lanes, const TargetDesc& target);

// GroupForm::stages: the elements of a block.
bool schedule_moments(ScheduleDraft& draft);
inline constexpr FormSchedule moments_schedule{.rule = Rule::Moments, .whole = schedule_moments};

// Of the group in front of two; GroupForm::stages: its lanes.
bool schedule_block_sums(ScheduleDraft& draft);
inline constexpr FormSchedule block_sums_schedule{.rule = Rule::Moments, .whole = schedule_block_sums};

}  // namespace relay::lower
