#include "relay/loop/access_figures.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <set>
#include <unordered_map>

#include "relay/loop/blocks.h"
#include "relay/loop/spread.h"
#include "relay/loop/tiles.h"
#include "relay/loop/warp_tiles.h"
#include "relay/scalar/eval.h"

namespace relay::loop {
namespace {

constexpr int64_t unknown_size = 256;

using scalar::Value;
using Active = std::bitset<warp_threads>;

// A weighted mean.
struct Mean {
  double sum = 0, weight = 0;
  void add(double value, double times) { sum += value * times, weight += times; }
  double value() const { return weight > 0 ? sum / weight : -1; }
};

class Warp {
 public:
  Warp(const Kernel& kernel, const Expr& thread, int64_t threads) {
    for (const Expr& size : kernel.shape_vars) set(size, [](size_t) { return unknown_size; });
    set(kernel.task, [](size_t) { return int64_t{0}; });
    set(thread, [](size_t t) { return static_cast<int64_t>(t); });
    set(lane_.row, [](size_t t) { return static_cast<int64_t>(t / 4); });
    set(lane_.column, [](size_t t) { return static_cast<int64_t>(t % 4); });
    roles_ = tile_roles(kernel);
    for (int64_t t = 0; t < std::min(threads, warp_threads); ++t) active_.set(static_cast<size_t>(t));
    run(kernel.body, 1);
  }

  AccessFigures figures() const {
    const double known = coalesced_.weight + turns_.weight;
    return {.coalesced = coalesced_.value(),
            .bank_turns = turns_.value(),
            .unknown = unknown_ > 0 ? unknown_ / (unknown_ + known) : 0};
  }

 private:
  template <typename F>
  void set(const Expr& var, F value) {
    std::array<Value, warp_threads>& values = vars_[var.get()];
    for (size_t t = 0; t < values.size(); ++t) values[t] = scalar::int_value(value(t));
  }

  // The value for a thread; unset if it depends on data.
  std::optional<Value> value(const Expr& e, size_t thread, int lane = 0) {
    bool known = true;
    auto var = [&](const Expr& v, int) {
      const auto found = vars_.find(v.get());
      known &= found != vars_.end();
      return found != vars_.end() ? found->second[thread] : scalar::int_value(0);
    };
    auto load = [&](const scalar::Source& source, std::span<const int64_t>) {
      known = false;
      return source.dtype.is_float() ? scalar::float_value(0, source.dtype) : scalar::int_value(0, source.dtype);
    };
    const Value out = scalar::eval(e, {.var = var, .load = load}, lane);
    return known ? std::optional(out) : std::nullopt;
  }

  void run(const Stmt& s, double times) {
    switch (s->kind) {
      case StmtKind::For: return loop(s, times);
      case StmtKind::Let: return let(s, times);
      case StmtKind::If: return branch(s, times);
      case StmtKind::Store:
        read(s->value, times);
        for (const Expr& e : s->indices) read(e, times);
        return access(*s->buffer, s->indices, s->value->dtype.lanes, times);
      case StmtKind::Alloc:
      case StmtKind::Block:
        for (const Stmt& child : s->body) run(child, times);
        return;
      case StmtKind::AsyncCopy: {
        const int elements = static_cast<int>(s->extent->ivalue);
        access(static_cast<const Buffer&>(*s->value->source), run_from(s->value->args, elements), elements, times);
        return access(*s->buffer, run_from(s->indices, elements), elements, times);
      }
      case StmtKind::Prefetch:
      case StmtKind::Barrier:
      case StmtKind::Commit:
      case StmtKind::Wait: return;
    }
  }

  // The indices of neighbours in the last dimension.
  static Exprs run_from(Exprs indices, int elements) {
    if (elements > 1) indices.back() = scalar::ramp(indices.back(), 1, elements);
    return indices;
  }

  // Each lane's part of a step on tiles: of an operand, the first number of each group.
  void warp_tile(const Stmt& s, double times) {
    const std::optional<WarpStep> step = warp_step(s);
    if (!step || step->kind == WarpStep::Kind::Multiply || !roles_.count(step->tile.get())) return;
    for (const Exprs& element : elements_of(*step->tile, roles_.at(step->tile.get()), lane_)) {
      Stmt one = for_element(*step, element);
      if (step->vars.size() > 2) one = substitute(one, {{step->vars[2], scalar::imm(0)}});
      run(one, times);
    }
  }

  void loop(const Stmt& s, double times) {
    if (s->for_kind == ForKind::Tile) return warp_tile(s, times);
    std::array<Value, warp_threads> first;
    double iterations = 0;
    for (size_t t = 0; t < first.size(); ++t) {
      const std::optional<Value> min = value(s->min, t), extent = value(s->extent, t);
      first[t] = min ? *min : scalar::int_value(0);
      iterations = std::max(iterations, static_cast<double>(extent ? extent->i : unknown_size));
    }
    if (iterations <= 0) return;
    vars_[s->var.get()] = first;
    run(s->body[0], times * iterations);
  }

  void let(const Stmt& s, double times) {
    read(s->value, times);
    std::array<Value, warp_threads> values;
    bool known = s->value->dtype.lanes == 1;
    for (size_t t = 0; known && t < values.size(); ++t) {
      const std::optional<Value> v = value(s->value, t);
      known = v.has_value();
      if (v) values[t] = *v;
    }
    if (known) vars_[s->var.get()] = values;
    run(s->body[0], times);
  }

  // The threads that take each side. Those whose condition depends on data take both.
  void branch(const Stmt& s, double times) {
    read(s->condition, times);
    const Active before = active_;
    Active then, otherwise;
    for (size_t t = 0; t < before.size(); ++t) {
      const std::optional<Value> c = value(s->condition, t);
      then[t] = before[t] && (!c || c->i != 0);
      otherwise[t] = before[t] && (!c || c->i == 0);
    }
    active_ = then, run(s->body[0], times);
    if (s->body.size() > 1) active_ = otherwise, run(s->body[1], times);
    active_ = before;
  }

  void read(const Expr& e, double times) {
    scalar::visit(e, [&](const Expr& n) {
      if (n->kind == scalar::Kind::Load) access(static_cast<const Buffer&>(*n->source), n->args, n->dtype.lanes, times);
    });
  }

  void access(const Buffer& buffer, const Exprs& indices, int lanes, double times) {
    if (active_.none() || (buffer.scope != Scope::Param && buffer.scope != Scope::Shared)) return;
    // The first byte of each element, by thread.
    std::array<std::vector<int64_t>, warp_threads> places;
    const int64_t bytes = buffer.dtype.bytes();
    for (size_t t = 0; t < places.size(); ++t) {
      for (int lane = 0; active_[t] && lane < lanes; ++lane) {
        const std::optional<int64_t> element = place(buffer, indices, t, lane);
        if (!element) {
          unknown_ += times;
          return;
        }
        places[t].push_back(*element * bytes);
      }
    }
    if (buffer.scope == Scope::Shared)
      turns_.add(bank_turns(places, bytes), times);
    else
      coalesced_.add(coalesced(places, bytes), times);
  }

  std::optional<int64_t> place(const Buffer& buffer, const Exprs& indices, size_t thread, int lane) {
    int64_t out = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      const std::optional<Value> index = value(indices[d], thread, lane), extent = value(buffer.shape[d], thread);
      if (!index || !extent) return std::nullopt;
      out = out * extent->i + index->i;
    }
    return out;
  }

  using Places = std::array<std::vector<int64_t>, warp_threads>;

  static double coalesced(const Places& places, int64_t bytes) {
    std::set<int64_t> elements, sectors;
    for (const std::vector<int64_t>& of_thread : places)
      for (int64_t p : of_thread) elements.insert(p), sectors.insert(p / sector_bytes);
    const double needed = std::ceil(static_cast<double>(static_cast<int64_t>(elements.size()) * bytes) / sector_bytes);
    return needed / static_cast<double>(sectors.size());
  }

  // In a turn, as many threads as can read all banks together take part: 32 for 4 bytes each, 8 for 16. Threads that
  // read the same word of a bank do not conflict.
  static double bank_turns(const Places& places, int64_t bytes) {
    size_t most = 1;
    for (const std::vector<int64_t>& of_thread : places) most = std::max(most, of_thread.size());
    const int64_t of_thread = std::max(bank_bytes, static_cast<int64_t>(most) * bytes);
    const size_t together = static_cast<size_t>(std::clamp<int64_t>(shared_banks * bank_bytes / of_thread, 1, 32));
    double turns = 0, groups = 0;
    for (size_t first = 0; first < places.size(); first += together) {
      std::array<std::set<int64_t>, shared_banks> words;
      for (size_t t = first; t < first + together; ++t)
        for (int64_t p : places[t])
          for (int64_t word = p / bank_bytes; word <= (p + bytes - 1) / bank_bytes; ++word)
            words[static_cast<size_t>(word % shared_banks)].insert(word);
      size_t longest = 0;
      for (const std::set<int64_t>& of_bank : words) longest = std::max(longest, of_bank.size());
      if (longest > 0) turns += static_cast<double>(longest), ++groups;
    }
    return turns / groups;
  }

  const Lane lane_{scalar::var("row"), scalar::var("column")};
  std::unordered_map<const Buffer*, TileRole> roles_;
  Active active_;
  std::unordered_map<const scalar::Node*, std::array<Value, warp_threads>> vars_;
  Mean coalesced_, turns_;
  double unknown_ = 0;
};

}  // namespace

AccessFigures access_figures(const Kernel& kernel) {
  if (!has_blocks(kernel)) {
    const Kernel fine = spread(kernel).kernel;
    return Warp(fine, fine.task, warp_threads).figures();
  }
  const Result<Kernel> tiles = has_warp_tiles(kernel) ? with_operand_tiles(unroll(kernel)) : Result<Kernel>(kernel);
  const BoundKernel bound = bind(tiles ? *tiles : kernel);
  AccessFigures out = Warp(bound.kernel, bound.thread, bound.threads).figures();
  out.threads = bound.threads, out.shared_bytes = shared_bytes(kernel);
  return out;
}

}  // namespace relay::loop
