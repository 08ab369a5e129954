// The counter-based generator Threefry (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3") with four words
// of 64 bits and 20 rounds. A drawn value is a function of the key and its position, so results are bit-identical in
// any order and on any number of threads.
//
// The state of a generator is ten words: the key (4), the path of splits (2), a counter (2), and a bit that marks the
// position of the next step of the path (2). It differs from Random123 in that keys are added five times, not six.
#pragma once

#include "relay/op/common.h"

namespace relay::op::random {

// (C1) Checks that the key is ten words, uint64.
Status expect_key(const Types& in);
Type key_type();

// The four words of each of n blocks, uint64[n, 4]. key: uint64, of which the first four words are used; counter: the
// words of a block.
te::Tensor threefry(const te::Tensor& key, const Expr& n,
                    const std::function<Expr(const Expr& block, const Expr& word)>& counter);

struct Drawn {
  te::Tensor key;   // the state after the draw
  te::Tensor bits;  // uint64[n]
};
// Draws n words of bits.
Drawn draw(const te::Tensor& key, const Expr& n);

Expr word(uint64_t value);

}  // namespace relay::op::random
