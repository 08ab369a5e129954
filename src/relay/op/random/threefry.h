// The counter-based generator Threefry (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3") with four words
// of 64 bits and 20 rounds: what is drawn is a function of the key and of where it stands, so that results are the same
// bits in any order and on any number of threads.
//
// The state of a generator is ten words: the key (4), the path of splits (2), a counter (2), and a bit that says where
// the next step of the path stands (2). It differs from Random123 in that keys are added five times, not six.
#pragma once

#include "relay/op/common.h"

namespace relay::op::random {

// (C1) The key is ten words, uint64.
Status expect_key(const Types& in);
Type key_type();

// The four words of each of n blocks, uint64[n, 4]. key: uint64, of which the first four words count; counter: the
// words of a block.
te::Tensor threefry(const te::Tensor& key, const Expr& n,
                    const std::function<Expr(const Expr& block, const Expr& word)>& counter);

struct Drawn {
  te::Tensor key;   // the state behind
  te::Tensor bits;  // uint64[n]
};
// n words of bits.
Drawn draw(const te::Tensor& key, const Expr& n);

Expr word(uint64_t value);

}  // namespace relay::op::random
