#include "relay/c_project/memory.h"

#include <algorithm>

namespace relay::c_project {

using runtime::Array;
using runtime::Lifetime;
using runtime::Segment;
using runtime::Step;

bool overlap(const Location& a, const Location& b) {
  if (a.place != b.place || a.index != b.index) return false;
  return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

std::span<const uint32_t> kernel_arguments(const Segment& segment, const Step& step) {
  return {segment.operands.data() + step.args.begin, step.args.count - (step.kind == Step::Kind::KernelWhen)};
}

// An output that replaces a state but is computed elsewhere stays in the workspace until the end of the run.
static void add_lifetimes_of_results(const Segment& f, const Memory& memory, std::vector<Lifetime>& lives) {
  const uint32_t last = static_cast<uint32_t>(std::max<size_t>(f.steps.size(), 1) - 1);
  for (size_t i = 0; i < f.arrays.size(); ++i)
    if (f.arrays[i].kind == Array::Kind::Output && memory.arrays[i].place == Place::Workspace)
      lives[i] = {memory.plan.bytes[i], 0, last};
}

static void place_interface(const runtime::Program& program, const Segment& f, Memory& memory) {
  memory.state.resize(f.inputs.size());
  if (program.is_graph())
    for (const runtime::Donation& d : program.donations) memory.state[d.input] = d.result;
  for (size_t i = 0; i < f.arrays.size(); ++i) {
    const Array& a = f.arrays[i];
    Location& at = memory.arrays[i];
    at.bytes = memory.plan.bytes[i], at.index = a.index;
    if (a.kind == Array::Kind::Input) at.place = memory.state[a.index] ? Place::State : Place::Input;
    if (a.kind == Array::Kind::Constant) at.place = Place::Constant;
  }
  for (size_t o = f.outputs.size(); o-- > 0;) {
    const Array& a = f.arrays[f.outputs[o]];
    if (a.kind == Array::Kind::Output)
      memory.arrays[f.outputs[o]].place = Place::Output, memory.arrays[f.outputs[o]].index = static_cast<uint32_t>(o);
  }
  for (uint32_t input = 0; input < memory.state.size(); ++input) {
    if (!memory.state[input]) continue;
    const uint32_t array = f.outputs[*memory.state[input]];
    const Array& a = f.arrays[array];
    if (a.kind != Array::Kind::Output) continue;  // it is copied
    const bool here = a.in_place && a.in_place->input == input;
    memory.arrays[array].place = here ? Place::State : Place::Workspace;
    memory.arrays[array].index = here ? input : 0;
  }
}

// Replaces the sizes of arrays by the most that they can be.
static Status bound_sizes(const Segment& f, std::span<const int64_t> most, runtime::Plan& plan) {
  std::vector<Bounds> bounds;
  for (int64_t m : most) bounds.push_back({0, m});
  for (size_t i = 0; i < f.arrays.size(); ++i) {
    const Array& a = f.arrays[i];
    if (a.kind == Array::Kind::Input || a.kind == Array::Kind::Output || a.bytes.as_constant()) continue;
    const std::optional<Bounds> bytes = bounds_of(a.bytes, bounds);
    if (!bytes || bytes->most > runtime::Limits::array_bytes)
      return Diagnostic{
          DiagnosticKind::out_of_memory,
          format("the size of array `{}`, {} bytes, has no upper bound", a.name, runtime::str(a.bytes, f.variables)),
          {},
          {},
          {},
          "fix the sizes that it depends on with --shape"};
    plan.bytes[i] = std::max<int64_t>(plan.bytes[i], bytes->most);
  }
  return ok();
}

// The largest of the items that are alive at the peak.
static size_t largest_at_peak(std::span<const Lifetime> lives) {
  uint32_t worst = 0;
  int64_t most = -1;
  for (const Lifetime& at : lives) {
    int64_t live = 0;
    for (const Lifetime& other : lives)
      if (other.first <= at.first && at.first <= other.last) live += other.bytes;
    if (live > most) most = live, worst = at.first;
  }
  size_t largest = 0;
  int64_t bytes = -1;
  for (size_t i = 0; i < lives.size(); ++i)
    if (lives[i].first <= worst && worst <= lives[i].last && lives[i].bytes > bytes)
      largest = i, bytes = lives[i].bytes;
  return largest;
}

namespace {
struct Placed {
  std::vector<uint32_t> memory;  // by item
  std::vector<int64_t> offsets;
  std::vector<int64_t> bytes;  // by memory
};
}  // namespace

static Placed place_in_memories(const std::vector<Lifetime>& lives, std::span<const int64_t> limits) {
  Placed out{std::vector<uint32_t>(lives.size()), std::vector<int64_t>(lives.size()), {}};
  for (uint32_t m = 0; m <= limits.size(); ++m) {
    std::vector<Lifetime> here = lives;
    for (size_t i = 0; i < lives.size(); ++i)
      if (out.memory[i] != m) here[i] = {};
    runtime::Placement placement = runtime::place(here);
    while (m < limits.size() && placement.arena_bytes > limits[m]) {
      const size_t moved = largest_at_peak(here);
      here[moved] = {}, out.memory[moved] = m + 1;
      placement = runtime::place(here);
    }
    for (size_t i = 0; i < lives.size(); ++i)
      if (out.memory[i] == m) out.offsets[i] = placement.offsets[i];
    out.bytes.push_back(placement.arena_bytes);
  }
  return out;
}

Result<Memory> place_arrays(const runtime::Program& program, const Segment& f, std::span<const int64_t> scratch_bytes,
                            std::span<const int64_t> most, std::span<const int64_t> limits) {
  Memory memory;
  RELAY_ASSIGN(memory.plan, runtime::plan(program, f, {most.begin(), most.end()}));
  RELAY_RETURN_IF_ERROR(bound_sizes(f, most, memory.plan));
  memory.arrays.resize(f.arrays.size());
  place_interface(program, f, memory);
  std::vector<Lifetime> lives = runtime::lifetimes(f, memory.plan.bytes);
  add_lifetimes_of_results(f, memory, lives);
  for (uint32_t s = 0; s < f.steps.size(); ++s)
    lives.push_back({f.steps[s].calls_kernel() ? scratch_bytes[f.steps[s].kernel] : 0, s, s});
  const Placed placed = place_in_memories(lives, limits);
  for (size_t i = 0; i < f.arrays.size(); ++i)
    if (f.arrays[i].kind == Array::Kind::Temporary ||
        (f.arrays[i].kind == Array::Kind::Output && memory.arrays[i].place == Place::Workspace))
      memory.arrays[i].offset = placed.offsets[i], memory.arrays[i].index = placed.memory[i];
  for (size_t i = 0; i < f.arrays.size(); ++i) {
    if (f.arrays[i].kind != Array::Kind::View) continue;
    const uint32_t base = f.arrays[i].index;
    const int64_t of_base = f.arrays[base].kind == Array::Kind::Temporary ? memory.plan.offsets[base] : 0;
    memory.arrays[i] = memory.arrays[base];
    if (!f.arrays[i].offset.as_constant()) continue;
    memory.arrays[i].bytes = memory.plan.bytes[i];
    memory.arrays[i].offset += memory.plan.offsets[i] - of_base;
  }
  for (size_t i = f.arrays.size(); i < lives.size(); ++i)
    memory.scratch.push_back({Place::Workspace, placed.memory[i], placed.offsets[i], lives[i].bytes});
  memory.workspace_bytes = placed.bytes[0];
  memory.more_bytes.assign(placed.bytes.begin() + 1, placed.bytes.end());
  memory.lives = std::move(lives);
  return memory;
}

}  // namespace relay::c_project
