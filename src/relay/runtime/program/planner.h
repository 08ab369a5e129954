// Where every array lies, at concrete sizes.
//
// Arrays that live at the same time get disjoint ranges of one arena; the others share. An array lives from its first
// to its last mention. They are placed one after the other, each at the lowest offset that is free during its life: the
// largest first; if that needs more than the lower bound (the most bytes alive at one time), those of the largest
// product of size and life first, then the longest lives, each again with what reached highest in front. The best
// counts. Real models need the lower bound.
#pragma once

#include "relay/runtime/program/program.h"

namespace relay::runtime {

struct Lifetime {
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;  // steps; both included
};

struct Placement {
  std::vector<int64_t> offsets;  // of each, a multiple of 64
  int64_t arena_bytes = 0;
  int64_t lower_bound = 0;
};
// Places lifetimes of non-zero size; those of size zero get offset 0.
Placement place(std::span<const Lifetime> lifetimes);

// From the first to the last mention of each array, or a part of it, given their sizes; of those that are not
// temporary, nothing.
std::vector<Lifetime> lifetimes(const Segment& segment, std::span<const int64_t> bytes);

// All sizes of a segment for given values of its shape variables.
struct Plan {
  std::vector<int64_t> variables;
  std::vector<Shape> shapes;  // of each array
  std::vector<int64_t> bytes;
  std::vector<int64_t> offsets;  // in the arena; -1: not there (an input, an output, a constant)
  std::vector<int64_t> sizes;    // Segment::sizes
  int64_t arena_bytes = 0;
  int64_t lower_bound = 0;    // no plan can need less
  int64_t scratch_bytes = 0;  // the largest of its kernels
};
// How many tasks a kernel may have: one for each byte of its arrays, and one more; an array without elements counts as
// its other dimensions do. From those of the arrays before (1: none) and an array. More would do nothing, for very
// long.
int64_t add_tasks(int64_t most, const Shape& shape, DType dtype, int64_t bytes);
std::string too_many_tasks(int64_t tasks, int64_t most);

// `program` is valid. Fails with wrong_input or out_of_memory when a size is negative, too large or has no value,
// and with corrupt_file when a kernel has more tasks than its arrays account for.
Result<Plan> plan(const Program& program, const Segment& segment, std::vector<int64_t> variables);

}  // namespace relay::runtime
