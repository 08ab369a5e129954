// Attention: a softmax over products of rows with rows, and the sum of other rows that it weighs.
//
//   scores[i, j] = f(sum(k) Q[i, k] * K[j, k])                     scaled, masked; j: all keys
//   out[i, d] = sum(j) exp(scores[i, j] - max[i]) / sum[i] * V[j, d]
//
// A rewrite from tensor expressions to tensor expressions, so that a block of rows goes through all of it while its
// scores are in cache; scheduling afterwards is ordinary (schedule.cpp). If the keys are many, or their number is known
// at run time only, they are processed in blocks t, and the running sums are rescaled when a block raises the maximum:
//
//   max[i, t] = max(max[i, t - 1], max of the block)             rescale[i, t] = exp(max[i, t - 1] - max[i, t])
//   sum[i, t] = sum[i, t - 1] * rescale[i, t] + sum of the block
//   mean[i, d, t] = mean[i, d, t - 1] * (sum[i, t - 1] * rescale[i, t] / sum[i, t]) + part[i, d, t] / sum[i, t]
//
// (Milakov & Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022.) The mean
// never exceeds the values that it averages. A row without any score above minus infinity is NaN, as in the plain form;
// a block without one adds nothing.
#pragma once

#include <optional>

#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/machine/target_desc.h"
#include "relay/te/te.h"

namespace relay::lower {

// The stages, by name, in the order of computation; axes in brackets: b any number of batch axes, i the row, j the key,
// t the block of keys, d the column. Axis t exists only if there are blocks.
struct Attention {
  int64_t batches = 0;         // number of batch axes b
  int64_t block = 0;           // keys per block; 0 if all are processed at once
  std::string keys;            // [b, j, k]: the right factor, to be packed
  std::string product;         // [b, i, j], summed over k
  std::string scores;          // [b, i, j]
  std::string row_max;         // [b, i, t]: maximum of the scores of a block
  std::string max;             // [b, i, t]: of all blocks up to this one; only if there are blocks
  std::string base;            // [b, i, t]: the value that is subtracted
  std::string weights;         // [b, i, t, j]: the exponentials
  std::string rescale;         // [b, i, t]; only if there are blocks
  std::string total;           // [b, i, t]: sum of a block
  std::string sum;             // [b, i, t]: of all blocks up to this one; only if there are blocks
  std::string inverse_sum;     // [b, i, t]: reciprocal of the sum
  std::string keep;            // [b, i, t]: scales the previous mean; only if there are blocks
  std::string part;            // [b, i, d, t]: weighted sum of a block
  std::string mean;            // [b, i, d, t]; only if there are blocks
  std::string last;            // [b, i, d]: the mean after the last block, a sum over t; only if there are blocks
  std::string result;          // the result's own name and axes
  size_t row = 0, column = 0;  // axes of the result
};

// The largest number of key vectors in a register tile. If the number of keys is known at run time only, the last tile
// is half empty on average; since the number is often a power of two, a tile of two vectors is often full.
inline int vectors_of_keys(bool known) { return known ? 4 : 2; }

// Replaces attention in a group by this form. Looks at structure: two contractions of float32 with a softmax of one row
// between them, any elementwise work and data movement in front, and only pointwise work behind. Returns unset and
// changes nothing if the group does not match. `block` is the number of keys of a block, or 0 to choose it.
std::optional<Attention> rewrite_attention(te::Tensors& outputs, const TargetDesc& target, int64_t block = 0);

// Schedules a group in this form (schedule.cpp).
bool schedule_attention(ScheduleDraft& draft);
inline constexpr FormSchedule attention_schedule{.rule = Rule::Attention, .whole = schedule_attention};

}  // namespace relay::lower
