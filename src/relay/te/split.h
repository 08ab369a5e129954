// Ways to divide the computation of an operator among several workers, derived from its tensor expressions.
//
//   C[i, j] = sum(k < 64) A[i, k] * B[k, j]
//
//   split i: part r of C from part r of A along 0, and all of B          inputs {0, -1}, results {0}
//   split j: part r of C from all of A, and part r of B along 1          inputs {-1, 1}, results {1}
//   split k: C is the sum of what the parts of A and B yield             inputs {1, 0}, results {partial}
//
// Parts are equal blocks of one dimension, in order. splits() proposes, and computes_part() proves: it compares the
// expressions of the whole computation, at the places of part r, with those of a computation of the parts' shapes.
#pragma once

#include "relay/te/te.h"

namespace relay::te {

struct Split {
  static constexpr int64_t whole = -1;    // every worker has all of it
  static constexpr int64_t partial = -2;  // results only: the combination of all workers' values is the result
  std::vector<int64_t> inputs;            // the divided dimension, or `whole`
  std::vector<int64_t> results;           // the same, or `partial`
  Combiner combiner = Combiner::None;     // of a partial result: Sum, Max or Min
  bool operator==(const Split&) const = default;
};

// Proposals, in the order of the dimensions of the results, then of the reduction axes. All sizes must be constants;
// with others, or with stages that are programs or scans, fewer or none.
std::vector<Split> splits(const Tensors& inputs, const Tensors& results, int64_t ways);

// True if it is proved that, for each r < ways, `local_results` of parts r of the inputs are parts r of `results`, or
// partial results of them. The local computation has the shapes of parts; its inputs are in the same order.
bool computes_part(const Tensors& inputs, const Tensors& results, const Tensors& local_inputs,
                   const Tensors& local_results, const Split& split, int64_t ways);

}  // namespace relay::te
