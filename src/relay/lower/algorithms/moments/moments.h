// Mean and variance in one pass over memory (Chan, Golub, LeVeque 1983): sums and squared distances of blocks that stay
// in L1, combined afterwards.
//
//   s[b] = sum(k < K) x[b, k];  q[b] = sum(k < K) (x[b, k] - s[b] / K)^2         two passes over a block
//   sum = sum(b) s[b];          squares = sum(b) q[b] + K (s[b] / K - mean)^2    for any `mean`
//
// If one group computes the mean and another one, which reads the mean, the squares, a third group in front of both
// computes s and q for them. Its tasks are blocks: sums over batches have as few results as there are channels.
//
// As accurate as the sum of (x - mean)^2 over everything: all terms are squares; none is the difference of large
// numbers. Precondition: the extents of the sums are known, and divide into blocks.
#pragma once

#include <optional>

#include "relay/lower/algorithms/algorithm.h"
#include "relay/lower/schedule/schedule_rules.h"

namespace relay::lower {

// Two sums over the same elements: their sum, and the sum of their squared distances from a value made of the first.
struct Moments {
  te::Tensor sum, squares;
  Expr element;  // in the axes of `squares`
};
std::optional<Moments> find_moments(const te::Tensors& outputs);

// Both sums, combined from sums of blocks.
struct MomentsInBlocks {
  te::Tensors outputs;      // the group's outputs with the sums, under their names, over the block sums, which they
                            // read through `param`
  te::Tensor param;         // a placeholder for `blocks`
  te::Tensor blocks;        // [.., 0, b] is sum[.., b] and [.., 1, b] squares[.., b]
  te::Tensor sum, squares;  // of each block
};
// Blocks of about `terms` elements. Unset if the sums cannot be divided into several blocks.
std::optional<MomentsInBlocks> in_blocks(const te::Tensors& outputs, const Moments& moments, int64_t terms);

// The moments of two groups: results of the first, and the value that the second derives from a mean, which is a
// placeholder there. Placeholders of both groups are identical if they stand for the same array.
struct MomentsOfTwo {
  Moments moments;
  Expr mean;  // in the axes of `squares`
};
std::optional<MomentsOfTwo> find_moments(const te::Tensors& of_sum, const te::Tensors& of_squares,
                                         const te::Tensor& mean);

// The direction of lanes while sums of blocks are computed: an axis of the squares, or, if unset, the row that is
// summed up.
struct BlockLanes {
  std::optional<size_t> axis{};
  bool operator==(const BlockLanes&) const = default;
};

// The sums and squares of blocks as results, and the two groups' sums over them.
struct BlocksForTwo {
  te::Tensors blocks;       // [.., b] or, with lanes along results, [b, ..]: neighbours are stored side by side
  te::Tensors params;       // placeholders for `blocks`
  te::Tensor sum, squares;  // the groups' sums, over the blocks
};
std::optional<BlocksForTwo> in_blocks(const MomentsOfTwo& found, int64_t terms, const BlockLanes& lanes);

// The number of elements of a type that stay in L1 from one pass to the next, with room for data fetched ahead.
int64_t terms_of_block(const TargetDesc& target, DType dtype);
// With lanes along `extent` results, a block has a few vectors of these.
int64_t results_of_block(const TargetDesc& target, DType dtype, int64_t extent);
int64_t terms_of_block(const TargetDesc& target, const Moments& moments, const BlockLanes& lanes);

// Compares the time of the second read of the elements with the lane sums of each block. Unset if rows stay in L1.
std::optional<Gain> estimate_moments(const Moments& moments, const TargetDesc& target);

// The same for two groups, the second of which would read the data from L3 or memory.
std::optional<Gain> estimate_pair(const Moments& moments, const BlockLanes& lanes, const TargetDesc& target);

// Schedules a group in this form. GroupForm::stages holds the elements of a block.
bool schedule_moments(ScheduleDraft& draft);
inline constexpr FormSchedule moments_schedule{.rule = Rule::Moments, .whole = schedule_moments};

// Schedules the group in front of two. GroupForm::stages holds its lanes.
bool schedule_block_sums(ScheduleDraft& draft);
inline constexpr FormSchedule block_sums_schedule{.rule = Rule::Moments, .whole = schedule_block_sums};

}  // namespace relay::lower
