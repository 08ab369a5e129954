// The place of every array of a C project.
#pragma once

#include <span>

#include "relay/c_project/sizes.h"
#include "relay/runtime/program/planner.h"

namespace relay::c_project {

// The object that holds an array.
enum class Place : uint8_t { Input, Output, State, Constant, Workspace };
struct Location {
  Place place = Place::Workspace;
  // of the input, of the output, of the input that is state, of the constant; Workspace: of the memory
  uint32_t index = 0;
  int64_t offset = 0;  // bytes
  int64_t bytes = 0;
  bool operator==(const Location&) const = default;
};
// True if the two may share memory.
bool overlap(const Location& a, const Location& b);

struct Memory {
  runtime::Plan plan;                    // with the most bytes of each array
  std::vector<Location> arrays;          // by array; a view whose offset is not constant has that of its base
  std::vector<runtime::Lifetime> lives;  // of the arrays, then of the scratch memory of each step
  std::vector<Location> scratch;         // by step: its scratch memory
  int64_t workspace_bytes = 0;
  std::vector<int64_t> more_bytes;  // of further memories
  // By input: the result that it holds after a run, if it is state.
  std::vector<std::optional<uint32_t>> state;
};

// `scratch_bytes`: by kernel. `most`: the upper bounds of the segment's shape variables. Inputs that a graph donates
// for a result are state. `limits`: the bytes of all memories but the last. The largest arrays of each one's peak are
// moved to the next until the rest fits.
Result<Memory> place_arrays(const runtime::Program& program, const runtime::Segment& segment,
                            std::span<const int64_t> scratch_bytes, std::span<const int64_t> most,
                            std::span<const int64_t> limits = {});

// The arrays of a step that its kernel gets: all but the condition of a KernelWhen.
std::span<const uint32_t> kernel_arguments(const runtime::Segment& segment, const runtime::Step& step);

}  // namespace relay::c_project
