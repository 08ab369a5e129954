#include "relay/runtime/program/planner.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "relay/base/bytes.h"

namespace relay::runtime {

static constexpr int64_t alignment = 64;
static int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Places each array in turn at the lowest offset that is free during its lifetime.
static void place_in_order(std::span<const Lifetime> lifetimes, std::span<const uint32_t> order, Placement& result) {
  result.arena_bytes = 0;
  // `placed` is sorted by offset, so the first sufficient gap among arrays alive at the same time is the lowest.
  std::vector<uint32_t> placed;
  for (uint32_t i : order) {
    const Lifetime& mine = lifetimes[i];
    int64_t bytes = aligned(mine.bytes), offset = 0;
    for (uint32_t p : placed) {
      const Lifetime& other = lifetimes[p];
      if (other.last < mine.first || mine.last < other.first) continue;
      if (result.offsets[p] - offset >= bytes) break;
      offset = std::max(offset, result.offsets[p] + aligned(other.bytes));
    }
    result.offsets[i] = offset;
    result.arena_bytes = std::max(result.arena_bytes, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](int64_t o, uint32_t p) { return o < result.offsets[p]; }),
                  i);
  }
}

Placement place(std::span<const Lifetime> lifetimes) {
  Placement best;
  best.offsets.assign(lifetimes.size(), 0);
  std::vector<uint32_t> order;
  std::map<uint32_t, int64_t> change;  // in the bytes alive, at a step
  for (uint32_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].bytes <= 0) continue;
    order.push_back(i);
    change[lifetimes[i].first] += aligned(lifetimes[i].bytes);
    change[lifetimes[i].last + 1] -= aligned(lifetimes[i].bytes);
  }
  int64_t alive = 0;
  for (const std::pair<const uint32_t, int64_t>& c : change)
    best.lower_bound = std::max(best.lower_bound, alive += c.second);

  // Placing is quadratic, so large programs get one attempt.
  constexpr int max_rounds = 8;
  constexpr size_t max_tried = 2000;
  auto length = [&](uint32_t i) { return int64_t{lifetimes[i].last} - lifetimes[i].first + 1; };
  auto bytes = [&](uint32_t i) { return lifetimes[i].bytes; };
  auto area = [&](uint32_t i) { return lifetimes[i].bytes * length(i); };
  const std::function<int64_t(uint32_t)> firsts[] = {bytes, area, length};
  Placement now = best;
  best.arena_bytes = std::numeric_limits<int64_t>::max();
  for (const std::function<int64_t(uint32_t)>& weight : firsts) {
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      int64_t x = weight(a), y = weight(b);
      return x != y ? x > y : a < b;
    });
    for (int round = 0; round < max_rounds; ++round) {
      place_in_order(lifetimes, order, now);
      if (now.arena_bytes < best.arena_bytes) best = now;
      if (best.arena_bytes <= best.lower_bound || order.size() > max_tried) return best;
      // The array that reached highest goes first in the next round.
      std::vector<uint32_t>::iterator top = std::find_if(order.begin(), order.end(), [&](uint32_t i) {
        return now.offsets[i] + aligned(lifetimes[i].bytes) == now.arena_bytes;
      });
      std::rotate(order.begin(), top, top + 1);
    }
  }
  return best;
}

std::vector<Lifetime> lifetimes(const Segment& f, std::span<const int64_t> bytes) {
  std::vector<Lifetime> lives(f.arrays.size());
  std::vector<bool> seen(f.arrays.size());
  for (uint32_t at = 0; at < f.steps.size(); ++at) {
    Range args = f.steps[at].args;
    for (uint32_t i = 0; i < args.count; ++i) {
      uint32_t array = f.stored_in(f.operands[args.begin + i]);
      if (f.arrays[array].kind != Array::Kind::Temporary) continue;
      if (!seen[array]) lives[array] = {bytes[array], at, at};
      seen[array] = true;
      lives[array].last = at;
    }
  }
  // A copy to a device may begin while kernels that were called before still run there, so no other array uses its
  // memory before.
  for (const Step& step : f.steps) {
    if (!f.is_transfer(step)) continue;
    const uint32_t to = f.stored_in(f.operands[step.args.begin + 1]);
    if (f.arrays[to].memory != host_memory) lives[to].first = 0;
  }
  // Arrays that repeated steps mention live throughout all of them: a later repetition may read what an earlier one
  // wrote.
  for (const Repeat& r : f.repeats)
    for (uint32_t at = r.first; at < r.first + r.count; ++at)
      for (uint32_t i = 0; i < f.steps[at].args.count; ++i) {
        Lifetime& life = lives[f.stored_in(f.operands[f.steps[at].args.begin + i])];
        if (life.bytes == 0) continue;
        life.first = std::min(life.first, r.first), life.last = std::max(life.last, r.first + r.count - 1);
      }
  return lives;
}

int64_t add_tasks(int64_t most, const Shape& shape, DType dtype, int64_t bytes) {
  constexpr int64_t max_of_empty = int64_t{1} << 32;  // for arrays without elements, whose tasks do nothing
  bool empty = false;
  int64_t rows = 1;
  for (int64_t d : shape)
    if (d <= 0)
      empty = true;
    else if (__builtin_mul_overflow(rows, d, &rows) || rows > Limits::array_bytes)
      rows = Limits::array_bytes;
  rows = empty ? std::min(rows, max_of_empty) : rows * dtype.bytes();
  return most + std::max(rows, std::min(bytes, Limits::array_bytes));
}

std::string too_many_tasks(int64_t tasks, int64_t most) {
  return format("a kernel has {} tasks, but its arrays account for {} at most", tasks, most);
}

// The number of repetitions comes from the file: it must not exceed what a run can list.
static Status check_repeats(const Segment& f, const Plan& p) {
  for (const Repeat& r : f.repeats)
    if (p.sizes[r.times] > Limits::repeated_steps / r.count)
      return Diagnostic{DiagnosticKind::limit_exceeded,
                        format("segment `{}`: {} steps are repeated {} times, more than {} in all", f.name, r.count,
                               p.sizes[r.times], Limits::repeated_steps),
                        {},
                        {},
                        {},
                        "give shorter sequences"};
  return ok();
}

// Checks the steps against the sizes of the arrays, and finds the scratch memory of the kernels.
static Status check_steps(const Program& program, const Segment& f, Plan& p) {
  for (const Step& in : f.steps) {
    if (in.calls_kernel()) {
      p.scratch_bytes = std::max(p.scratch_bytes, program.kernels[in.kernel].scratch_bytes);
      int64_t most = 1;
      for (uint32_t i = 0; i < in.args.count; ++i) {
        const uint32_t array = f.operands[in.args.begin + i];
        most = add_tasks(most, p.shapes[array], f.arrays[array].dtype, p.bytes[array]);
      }
      if (p.sizes[in.tasks] > most)
        return Diagnostic{DiagnosticKind::corrupt_file,
                          format("segment `{}`: {}", f.name, too_many_tasks(p.sizes[in.tasks], most)),
                          {},
                          {},
                          {},
                          "compile the model again"};
    }
    if (in.kind == Step::Kind::CheckIndices) {
      const uint32_t indices = f.operands[in.args.begin];
      if (p.bytes[indices] != *element_count(p.shapes[indices]) * f.arrays[indices].dtype.bytes())
        return Diagnostic{DiagnosticKind::wrong_input,
                          format("segment `{}`: the indices `{}` are not dense", f.name, f.arrays[indices].name),
                          {},
                          {},
                          {},
                          "compile the model again"};
    }
    for (uint32_t i = 0; in.kind == Step::Kind::External && i < in.args.count; ++i) {
      const uint32_t array = f.operands[in.args.begin + i];
      if (p.bytes[array] != *element_count(p.shapes[array]) * f.arrays[array].dtype.bytes())
        return Diagnostic{
            DiagnosticKind::wrong_input,
            format("segment `{}`: the array `{}` of an external function is not dense", f.name, f.arrays[array].name),
            {},
            {},
            {},
            "compile the model again"};
    }
    if (in.kind != Step::Kind::Copy) continue;
    uint32_t from = f.operands[in.args.begin], to = f.operands[in.args.begin + 1];
    if (p.bytes[from] != p.bytes[to])
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("segment `{}`: a copy of {} bytes into {}", f.name, p.bytes[from], p.bytes[to]),
                        {},
                        {},
                        {},
                        "compile the model again"};
  }
  return ok();
}

// The lifetimes of the arrays in this memory; those of others have size 0.
static std::vector<Lifetime> in_memory(const Segment& f, std::vector<Lifetime> lives, MemorySpace memory) {
  for (size_t i = 0; i < lives.size(); ++i)
    if (f.arrays[i].memory != memory) lives[i] = {};
  return lives;
}

std::string largest_arrays(const Segment& segment, const Plan& plan, MemorySpace memory) {
  constexpr size_t most = 3;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < segment.arrays.size(); ++i)
    if (segment.arrays[i].memory == memory && segment.arrays[i].kind == Array::Kind::Temporary) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return plan.bytes[a] > plan.bytes[b]; });
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(most, order.size()); ++i)
    names.push_back(format("`{}` {}", segment.arrays[order[i]].name, bytes_text(plan.bytes[order[i]])));
  return format("the largest: {}", join(names, ", "));
}

Result<Plan> plan(const Program& program, const Segment& f, std::vector<int64_t> variables) {
  Plan p;
  p.variables = std::move(variables);
  auto no_value = [&](const SizeExpr& e, const char* what) {
    Diagnostic d{DiagnosticKind::wrong_input, format("segment `{}`: {} `{}` has no valid value for these inputs",
                                                     f.name, what, str(e, f.variables))};
    for (size_t v = 0; v < f.variables.size(); ++v)
      d.notes.push_back(format("`{}` is {}", f.variables[v], p.variables[v]));
    d.help = "give inputs of other sizes";
    return d;
  };
  auto too_large = [&](const Array& a) {
    return Diagnostic{
        DiagnosticKind::out_of_memory,
        format("segment `{}`: array `{}` would need more than {} bytes", f.name, a.name, Limits::array_bytes),
        {},
        {},
        {},
        "give smaller inputs"};
  };
  for (const Array& a : f.arrays) {
    Shape shape;
    for (const SizeExpr& e : a.shape) {
      std::optional<int64_t> value = evaluate(e, p.variables);
      if (!value || *value < 0) return no_value(e, "dimension");
      shape.push_back(*value);
    }
    std::optional<int64_t> elements = element_count(shape), bytes = evaluate(a.bytes, p.variables);
    if (!elements || *elements > Limits::array_bytes / a.dtype.bytes()) return too_large(a);
    if (!bytes || *bytes < 0) return no_value(a.bytes, "size");
    if (*bytes > Limits::array_bytes) return too_large(a);
    // Inputs and outputs are dense and row-major, whatever the program says.
    bool outside = a.kind == Array::Kind::Input || a.kind == Array::Kind::Output;
    p.bytes.push_back(outside ? *elements * a.dtype.bytes() : *bytes);
    p.shapes.push_back(std::move(shape));
  }
  for (const SizeExpr& e : f.sizes) {
    std::optional<int64_t> value = evaluate(e, p.variables);
    if (!value) return no_value(e, "size");
    p.sizes.push_back(*value);
  }
  for (size_t i = 0; i < f.arrays.size(); ++i)
    if (f.arrays[i].in_place && p.shapes[i] != p.shapes[f.inputs[f.arrays[i].in_place->input]])
      return Diagnostic{DiagnosticKind::corrupt_file,
                        format("segment `{}`: `{}` is in an input of another shape", f.name, f.arrays[i].name),
                        {},
                        {},
                        {},
                        "compile the model again"};
  RELAY_RETURN_IF_ERROR(check_steps(program, f, p));
  RELAY_RETURN_IF_ERROR(check_repeats(f, p));
  std::vector<Lifetime> lives = lifetimes(f, p.bytes);
  int64_t total = 0;
  for (const Lifetime& life : lives)
    if ((total += life.bytes) > 16 * Limits::array_bytes) return too_large(f.arrays[&life - lives.data()]);
  Placement placement = place(in_memory(f, lives, host_memory));
  p.arena_bytes = placement.arena_bytes;
  p.lower_bound = placement.lower_bound;
  if (program.devices.size() > 1) p.device_arena_bytes.assign(program.devices.size(), 0);
  for (MemorySpace memory = 1; memory < program.devices.size(); ++memory) {
    const Placement there = place(in_memory(f, lives, memory));
    p.device_arena_bytes[memory] = there.arena_bytes;
    for (size_t i = 0; i < lives.size(); ++i)
      if (f.arrays[i].memory == memory) placement.offsets[i] = there.offsets[i];
  }
  p.offsets = placement.offsets;
  for (size_t i = 0; i < lives.size(); ++i) {
    const Array& a = f.arrays[i];
    if (a.kind != Array::Kind::Temporary) p.offsets[i] = -1;
    if (a.kind != Array::Kind::View) continue;
    const std::optional<int64_t> offset = evaluate(a.offset, p.variables);
    if (!offset || *offset < 0 || *offset > p.bytes[a.index] - p.bytes[i])
      return no_value(a.offset, "the offset of a view");
    p.offsets[i] = placement.offsets[a.index] + *offset;
  }
  return p;
}

}  // namespace relay::runtime
