// Copies of factors in the shared memory of a block of threads.
#pragma once

#include <set>

#include "relay/lower/rules/rules.h"

namespace relay::lower {

// A factor of the products, as it is read.
struct SharedFactor {
  te::Tensor tensor;
  Expr load;
};

// The copy of a factor for a block, and its dimensions as numbers of those of the factor. Dimensions that move along an
// axis of `first` are outermost, and those along one of `last` are innermost.
te::Tensor shared_copy_of(const ScheduleDraft& draft, const SharedFactor& f, const std::set<std::string>& first,
                          const std::set<std::string>& last, std::vector<int>& order);

// Loops that fill a copy, in the order in which the factor is stored.
std::vector<Loop> shared_fill_loops(const ScheduleDraft& draft, const te::TensorNode& copy,
                                    const std::vector<int>& order, const te::Tensor& factor);

}  // namespace relay::lower
