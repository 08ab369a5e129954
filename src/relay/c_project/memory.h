// The place of every array of a C project.
#pragma once

#include <span>

#include "relay/runtime/program/planner.h"

namespace relay::c_project {

// The object that holds an array.
enum class Place : uint8_t { Input, Output, State, Constant, Workspace };
struct Location {
  Place place = Place::Workspace;
  uint32_t index = 0;  // of the input, of the output, of the input that is state, of the constant
  int64_t offset = 0;  // bytes
  int64_t bytes = 0;
  bool operator==(const Location&) const = default;
};
// True if the two share memory.
bool overlap(const Location& a, const Location& b);

struct Memory {
  runtime::Plan plan;
  std::vector<Location> arrays;  // by array
  std::vector<int64_t> scratch;  // by step: the offset of its scratch memory in the workspace, in bytes
  int64_t workspace_bytes = 0;
  // By input: the result that it holds after a run, if it is state.
  std::vector<std::optional<uint32_t>> state;
};

// `scratch_bytes`: by kernel.
Result<Memory> place_arrays(const runtime::Program& graph, std::span<const int64_t> scratch_bytes);

// The arrays of a step that its kernel gets: all but the condition of a KernelWhen.
std::span<const uint32_t> kernel_arguments(const runtime::Segment& segment, const runtime::Step& step);
bool calls_kernel(const runtime::Step& step);

}  // namespace relay::c_project
