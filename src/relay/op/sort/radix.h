// Sorting of numbers in ascending order, in linear time: the loops of one line of a te::program.
//
// A *word* is an unsigned number that has the requested order. Many words are first distributed to buckets: a histogram
// of their highest bits is computed, neighbouring values share a bucket so that all buckets have about the same size,
// and each word is moved to its bucket. A bucket stays in the cache while it is sorted by some of its digits, the
// lowest first, each by counting (LSD radix sort: Knuth, The Art of Computer Programming 3, 5.2.5). The number of
// digits is chosen so that few neighbours are left out of order, which a pass over the bucket then exchanges. If a word
// is too far from its place, as can happen with words that differ only in their low bits, the bucket is sorted by all
// of its digits.
#pragma once

#include "relay/op/loops.h"

namespace relay::op {

struct RadixSort {
  Expr count;    // of words
  DType word;    // uint32 or uint64
  Expr highest;  // the number of bits in a word: 0..64
  Expr lowest;   // the number of low bits in order from the start; null if none
  Expr needed;   // the number of least words that are used; null for all
  // The word of an element.
  std::function<Expr(const Expr& place)> first;
  // True if word a sorts before word b; if null, a < b.
  std::function<Expr(const Expr& a, const Expr& b)> before;
  // For words that lack some of the deciding bits: the number of omitted bits, and conversions that put the low or the
  // high bits into a word.
  Expr left_out;
  std::function<Expr(const Expr& word)> with_low_bits, with_high_bits;
  // The buffer, and its indices of word `k` of `half`, 0 or 1: two halves of `count` words.
  BufferRef result;
  std::function<Exprs(const Expr& half, const Expr& k)> at;

  // Sorts all words into half 0; with `needed`, only that many.
  Stmt loops() const;
};

// steps(bits), where bits is the number of binary digits of the unsigned number n
Stmt with_bits_of(const Expr& n, const std::function<Stmt(const Expr& bits)>& steps);

}  // namespace relay::op
