#include "relay/c_project/order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace relay::c_project {

using runtime::Segment;
using runtime::Step;

namespace {

// A step, or the steps that are repeated together.
struct Unit {
  uint32_t first = 0, count = 1;
  std::set<uint32_t> reads, writes;  // objects
  int64_t scratch = 0;
  std::vector<uint32_t> after;  // units that need it first
  uint32_t needs = 0;           // number of units that it needs first
};

// A part of an order.
struct State {
  std::vector<uint32_t> order, needs, mentions;  // needs: by unit; mentions: those that are left, by object
  int64_t live = 0, peak = 0;                    // bytes
};

class Search {
 public:
  Search(const Segment& f, const Memory& memory, std::span<const loop::Kernel> kernels,
         std::span<const int64_t> scratch_bytes)
      : f_(f), memory_(memory), kernels_(kernels), scratch_bytes_(scratch_bytes) {
    find_units();
    find_needs();
  }

  std::vector<Unit> best() const {
    State begin;
    begin.mentions.assign(f_.arrays.size(), 0);
    for (const Unit& u : units_) {
      begin.needs.push_back(u.needs);
      for_each_object(u, [&](uint32_t object) { ++begin.mentions[object]; });
    }
    begun_ = begin.mentions;
    std::vector<State> states{begin};
    for (size_t depth = 0; depth < units_.size(); ++depth) states = extended(states);
    std::vector<Unit> out;
    for (uint32_t u : states[0].order) out.push_back(units_[u]);
    return out;
  }

 private:
  static constexpr size_t width = 128;  // states that are kept

  // The array that holds it; for state that is updated in place, the input.
  uint32_t object_of(uint32_t array) const {
    const uint32_t holder = f_.stored_in(array);
    const Location& at = memory_.arrays[holder];
    return at.place == Place::State ? f_.inputs[at.index] : holder;
  }
  int64_t bytes_of(uint32_t object) const {
    return f_.arrays[object].kind == runtime::Array::Kind::Temporary ? memory_.plan.bytes[object] : 0;
  }
  static void for_each_object(const Unit& u, const std::function<void(uint32_t)>& visit) {
    std::set<uint32_t> all = u.reads;
    all.insert(u.writes.begin(), u.writes.end());
    for (uint32_t object : all) visit(object);
  }

  void add(const Step& step, Unit& unit) const {
    for (uint32_t i = 0; i < step.args.count; ++i) {
      const uint32_t object = object_of(f_.operands[step.args.begin + i]);
      bool written = step.kind == Step::Kind::Copy && i == 1;
      if (step.calls_kernel()) {
        const loop::Kernel& kernel = kernels_[step.kernel];
        written = i < kernel.params.size() && !kernel.params[i]->read_only;
      }
      // Steps that use indices stay behind their check.
      if (step.kind == Step::Kind::CheckIndices) written = true;
      unit.reads.insert(object);
      if (written) unit.writes.insert(object);
    }
    if (step.calls_kernel()) unit.scratch = std::max(unit.scratch, scratch_bytes_[step.kernel]);
  }

  void find_units() {
    size_t repeat = 0;
    for (uint32_t s = 0; s < f_.steps.size();) {
      Unit unit;
      unit.first = s;
      if (repeat < f_.repeats.size() && f_.repeats[repeat].first == s) unit.count = f_.repeats[repeat++].count;
      for (; s < unit.first + unit.count; ++s) add(f_.steps[s], unit);
      units_.push_back(std::move(unit));
    }
  }

  void find_needs() {
    std::map<uint32_t, uint32_t> writer;
    std::map<uint32_t, std::vector<uint32_t>> readers;  // since it was written
    for (uint32_t u = 0; u < units_.size(); ++u) {
      std::set<uint32_t> before;
      for (uint32_t object : units_[u].reads)
        if (const auto it = writer.find(object); it != writer.end()) before.insert(it->second);
      for (uint32_t object : units_[u].writes) before.insert(readers[object].begin(), readers[object].end());
      for (uint32_t object : units_[u].reads) readers[object].push_back(u);
      for (uint32_t object : units_[u].writes) writer[object] = u, readers[object].clear();
      before.erase(u);
      for (uint32_t b : before) units_[b].after.push_back(u);
      units_[u].needs = static_cast<uint32_t>(before.size());
    }
  }

  State with(const State& state, uint32_t u) const {
    State next = state;
    int64_t freed = 0;
    for_each_object(units_[u], [&](uint32_t object) {
      if (next.mentions[object] == begun_[object]) next.live += bytes_of(object);
      if (--next.mentions[object] == 0) freed += bytes_of(object);
    });
    next.peak = std::max(next.peak, next.live + units_[u].scratch);
    next.live -= freed;
    for (uint32_t after : units_[u].after) --next.needs[after];
    next.needs[u] = UINT32_MAX;  // done
    next.order.push_back(u);
    return next;
  }

  std::vector<State> extended(const std::vector<State>& states) const {
    std::map<std::vector<uint32_t>, State> next;  // by what remains
    for (const State& state : states)
      for (uint32_t u = 0; u < units_.size(); ++u) {
        if (state.needs[u] != 0) continue;
        State made = with(state, u);
        const auto [it, fresh] = next.try_emplace(made.needs, made);
        if (!fresh && made.peak < it->second.peak) it->second = std::move(made);
      }
    std::vector<State> out;
    for (auto& [needs, state] : next) out.push_back(std::move(state));
    std::sort(out.begin(), out.end(), [](const State& a, const State& b) {
      return std::tie(a.peak, a.live, a.order) < std::tie(b.peak, b.live, b.order);
    });
    if (out.size() > width) out.resize(width);
    return out;
  }

  const Segment& f_;
  const Memory& memory_;
  std::span<const loop::Kernel> kernels_;
  std::span<const int64_t> scratch_bytes_;
  std::vector<Unit> units_;
  mutable std::vector<uint32_t> begun_;  // all mentions of each object
};

}  // namespace

runtime::Program in_order_of_least_peak(const runtime::Program& graph, const Memory& memory,
                                        std::span<const loop::Kernel> kernels, std::span<const int64_t> scratch_bytes) {
  runtime::Program out = graph;
  const Segment& f = graph.graph();
  Segment& made = out.segments[0];
  made.steps.clear();
  std::vector<runtime::Repeat> repeats;
  for (const Unit& unit : Search(f, memory, kernels, scratch_bytes).best()) {
    for (runtime::Repeat r : f.repeats)
      if (r.first == unit.first) r.first = static_cast<uint32_t>(made.steps.size()), repeats.push_back(r);
    made.steps.insert(made.steps.end(), f.steps.begin() + unit.first, f.steps.begin() + unit.first + unit.count);
  }
  made.repeats = std::move(repeats);
  return out;
}

// Bytes that the workspace would have less if one of these items, which are alive at the same time, had no place in it.
static int64_t saved_without(std::vector<runtime::Lifetime> lives, size_t item) {
  const int64_t with = runtime::place(lives).arena_bytes;
  lives[item] = {};
  return with - runtime::place(lives).arena_bytes;
}

void add_peak(const runtime::Program& graph, const Memory& memory, uint32_t number, Diagnostic& d) {
  const Segment& f = graph.graph();
  std::vector<runtime::Lifetime> lives = memory.lives;
  for (size_t i = 0; i < lives.size(); ++i) {
    const bool is_array = i < memory.arrays.size();
    if ((is_array ? memory.arrays[i] : memory.scratch[i - memory.arrays.size()]).index != number) lives[i] = {};
  }
  auto is_alive = [&](size_t item, uint32_t step) {
    return lives[item].bytes > 0 && lives[item].first <= step && step <= lives[item].last;
  };
  uint32_t worst = 0;
  int64_t most = -1;
  for (uint32_t s = 0; s < f.steps.size(); ++s) {
    int64_t live = 0;
    for (size_t i = 0; i < lives.size(); ++i) live += is_alive(i, s) ? lives[i].bytes : 0;
    if (live > most) most = live, worst = s;
  }
  auto name = [&](uint32_t step) { return runtime::name_of(graph, f, f.steps[step]); };
  d.notes.push_back(format("the peak is step {}, {}:", worst, name(worst)));
  for (size_t i = 0; i < lives.size(); ++i) {
    if (!is_alive(i, worst)) continue;
    const runtime::Lifetime& life = lives[i];
    const std::string what = i < memory.arrays.size()
                                 ? format("from step {}, {}, to step {}", life.first, name(life.first), life.last)
                                 : "of scratch memory";
    d.notes.push_back(
        format("{} bytes {}; without them, {} less are needed", life.bytes, what, saved_without(lives, i)));
  }
}

Diagnostic over_limit(const runtime::Program& graph, const Memory& memory, int64_t limit) {
  Diagnostic d{DiagnosticKind::out_of_memory,
               format("the workspace needs {} bytes, but the limit is {}", memory.workspace_bytes, limit)};
  add_peak(graph, memory, 0, d);
  d.help = "give a larger --memory-limit, smaller inputs, or a network whose layers have fewer channels there";
  return d;
}

}  // namespace relay::c_project
