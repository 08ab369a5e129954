// Assigns every array its place in memory, for concrete sizes.
//
// Arrays that live at the same time get disjoint ranges of one arena; the others share. An array lives from its first
// to its last mention. Arrays are placed one after the other, each at the lowest offset that is free during its
// lifetime. Several orders are tried: the largest first; if that needs more than the lower bound (the most bytes alive
// at one time), the largest product of size and lifetime first, then the longest lifetimes, each of them also with the
// arrays that reached highest moved to the front. The best placement is used. Real models reach the lower bound.
#pragma once

#include "relay/runtime/program/program.h"

namespace relay::runtime {

struct Lifetime {
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;  // steps; both inclusive
};

struct Placement {
  std::vector<int64_t> offsets;  // by array, in bytes, a multiple of 64
  int64_t arena_bytes = 0;
  int64_t lower_bound = 0;
};
// Places lifetimes of non-zero size; those of size 0 get offset 0.
Placement place(std::span<const Lifetime> lifetimes);

// The lifetimes of all arrays, from the first to the last mention of each or of a part of it, for these sizes; empty
// for arrays that are not temporary. Arrays that are copied to a device live from the first step.
std::vector<Lifetime> lifetimes(const Segment& segment, std::span<const int64_t> bytes);

// All sizes of a segment for given values of its shape variables.
struct Plan {
  std::vector<int64_t> variables;
  std::vector<Shape> shapes;  // by array
  std::vector<int64_t> bytes;
  std::vector<int64_t>
      offsets;  // in the arena of its memory, in bytes; -1 if elsewhere (an input, an output, a constant)
  std::vector<int64_t> sizes;  // the values of Segment::sizes
  int64_t arena_bytes = 0;     // of the host
  int64_t lower_bound = 0;     // of the arena, in bytes: no plan can need less
  // Arenas in the memories of the program's devices, by device; the first is 0. Empty if there is only the host.
  std::vector<int64_t> device_arena_bytes{};
  int64_t scratch_bytes = 0;  // the largest of its kernels
};
// "the largest: `x` 4 MiB, ..": arrays in a device's arena, for messages.
std::string largest_arrays(const Segment& segment, const Plan& plan, MemorySpace memory);

// The most tasks that a kernel may have: one per byte of its arrays, and one more; an array without elements counts as
// its other dimensions do. Adds an array to the number for the arrays before it (1 for none). More tasks would only run
// without effect, for a very long time.
int64_t add_tasks(int64_t most, const Shape& shape, DType dtype, int64_t bytes);
std::string too_many_tasks(int64_t tasks, int64_t most);

// `program` is valid. Fails with wrong_input or out_of_memory if a size is negative, too large or undefined, and with
// corrupt_file if a kernel has more tasks than its arrays allow.
Result<Plan> plan(const Program& program, const Segment& segment, std::vector<int64_t> variables);

}  // namespace relay::runtime
