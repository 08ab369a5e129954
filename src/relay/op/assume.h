// Sizes that an operator needs to be equal, where nothing is known.
//
//   Assumptions assumed;
//   def.infer(attrs, {Tensor[(b, n)], Tensor[(u, m)]});     // nn.dense: a type, and assumed.pairs() is {(n, m)}
//
// Without one, agree() of two sizes that are neither proven equal nor different is false. While one is alive in this thread,
// it is true for two sizes with names in them and the pair is noted: who asked must see to it that they are equal.
#pragma once

#include "relay/ir/type.h"

namespace relay::op {

class Assumptions {
 public:
  Assumptions();
  ~Assumptions();
  Assumptions(const Assumptions&) = delete;
  const std::vector<std::pair<ir::Dim, ir::Dim>>& pairs() const { return pairs_; }
  // For agree(): whether they may be taken to be equal.
  static bool assume(const ir::Dim& a, const ir::Dim& b);

 private:
  std::vector<std::pair<ir::Dim, ir::Dim>> pairs_;
  Assumptions* outer_;
};

}  // namespace relay::op
