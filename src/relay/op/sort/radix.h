// Numbers in ascending order, in time that grows with how many they are: the loops of one line of a te::program.
//
// A *word* is a number without sign whose order is the one that is asked for. Many words first go into buckets: how
// often each value of their highest bits is there is counted, neighbouring values share a bucket so that all buckets
// are about as large, and each word is moved to its bucket. A bucket stays in the cache while it is sorted by some of
// its digits, the lowest first, each by counting (LSD radix sort: Knuth, The Art of Computer Programming 3, 5.2.5):
// as many digits as leave few neighbours out of order. A walk over the bucket exchanges those. Where it finds one too
// far from its place, as words that differ in their low bits only have, the bucket is sorted by all of its digits.
#pragma once

#include "relay/op/loops.h"

namespace relay::op {

struct RadixSort {
  Expr count;    // of words
  DType word;    // uint32 or uint64
  Expr highest;  // bits that a word has: 0..64
  Expr lowest;   // bits below this one are in order from the start; null: there are none
  Expr needed;   // so many words, the least, are wanted; null: all
  // The word of an element.
  std::function<Expr(const Expr& place)> first;
  // Whether word a belongs in front of word b; null: as a < b.
  std::function<Expr(const Expr& a, const Expr& b)> before;
  // Where words do not hold all that decides: bits that are left out, and a word with these in the place of its others.
  Expr left_out;
  std::function<Expr(const Expr& word)> with_low_bits, with_high_bits;
  // The buffer at word `k` of `half`, 0 or 1: two halves of `count` words.
  BufferRef result;
  std::function<Exprs(const Expr& half, const Expr& k)> at;

  // All words are in half 0 in order; with `needed`: that many of them.
  Stmt loops() const;
};

// steps(bits), where bits is the number of binary digits of the number n without sign
Stmt with_bits_of(const Expr& n, const std::function<Stmt(const Expr& bits)>& steps);

}  // namespace relay::op
