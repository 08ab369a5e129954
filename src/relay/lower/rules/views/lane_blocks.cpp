// Lanes along the last axis of pointwise work. If rows do not fill whole vectors, this axis and those in front of it
// are joined: the result is viewed as an array in which they are one, and vectors cross the ends of rows.
//
//   out[i, j] = x[i, j] * s[i]    ->    out[p] = x[p // 3, p % 3] * s[p // 3]
//
// If all loads advance with p as the result does, all quotients and remainders vanish. Otherwise p advances in blocks
// after which all indices repeat their pattern, 48 elements here with vectors of 16: each vector of a block, written
// out, has its lanes at known places, relative to the beginning of the block. Code generation reads them by loads of
// whole vectors whose elements it permutes (codegen/llvm/llvm_near.cpp). An axis that is not joined gets such blocks
// too, if an index is a quotient or remainder of it.
//
// Precondition: `e` is stored in its own loops; to be joined, it must be an output that is stored as written.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "relay/base/lane_reads.h"
#include "relay/lower/group/operations.h"
#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

using scalar::BinaryOp;
using scalar::Kind;

// A period: e(v + length) = e(v) + advance, and e(v) - e(0) is known for each v, whatever other variables are.
struct Period {
  int64_t length = 1, advance = 0;
};

class Periods {
 public:
  // Finds periods of at most `most`.
  Periods(Expr v, int64_t most) : v_(std::move(v)), most_(most) {}

  std::optional<Period> of(const Expr& e) const {
    if (e == v_) return Period{1, 1};
    if (!moves(e)) return Period{};
    if (e->kind == Kind::Unary && e->unary == scalar::UnaryOp::Not) return of(e->args[0]);
    if (e->kind == Kind::Select) {
      const std::optional<Period> then = of(e->args[1]), otherwise = of(e->args[2]),
                                  same = level(e->args[1], e->args[2]),
                                  chosen = moves(e->args[0]) ? of(e->args[0]) : std::nullopt;
      return then && otherwise && chosen && same ? common(common(then, otherwise), chosen, then) : std::nullopt;
    }
    return e->kind == Kind::Binary ? of_binary(*e) : std::nullopt;
  }

 private:
  bool moves(const Expr& e) const {
    const Exprs vars = scalar::free_vars(e);
    return std::find(vars.begin(), vars.end(), v_) != vars.end();
  }

  // True if the remainder of a division of the invariant part is known.
  bool begins_known(const Expr& e, int64_t divisor) const {
    return scalar::is_int(scalar::simplify(scalar::floormod(scalar::substitute(e, {{v_, scalar::imm(0)}}), divisor)));
  }

  // The period of x - y, if that is known for each v and returns to its first value.
  std::optional<Period> level(const Expr& x, const Expr& y) const {
    const Expr difference = scalar::simplify(x - y);
    const std::optional<Period> p = of(difference);
    const Expr first = scalar::simplify(scalar::substitute(difference, {{v_, scalar::imm(0)}}));
    return p && p->advance == 0 && scalar::is_int(first) ? p : std::nullopt;
  }

  // The common period of both, with their joint advance, or that of `advances`.
  std::optional<Period> common(const std::optional<Period>& a, const std::optional<Period>& b,
                               const std::optional<Period>& advances, int64_t sign = 0) const {
    if (!a || !b || !advances) return std::nullopt;
    const int64_t length = std::lcm(a->length, b->length);
    if (length > most_) return std::nullopt;
    const int64_t more = sign ? sign * b->advance * (length / b->length) : 0;
    return Period{length, advances->advance * (length / advances->length) + more};
  }
  std::optional<Period> common(const std::optional<Period>& a, const std::optional<Period>& b) const {
    return common(a, b, a);
  }

  std::optional<Period> of_binary(const scalar::Node& e) const {
    const Expr &x = e.args[0], &y = e.args[1];
    if (e.binary == BinaryOp::And || e.binary == BinaryOp::Or) return common(of(x), of(y));
    if (!x->index || !y->index) return std::nullopt;
    if (scalar::is_comparison(e.binary)) {
      const std::optional<Period> p = level(x, y);
      return p ? std::optional(Period{p->length, 0}) : std::nullopt;
    }
    switch (e.binary) {
      case BinaryOp::Add:
      case BinaryOp::Sub: {
        const std::optional<Period> a = of(x);
        return common(a, of(y), a, e.binary == BinaryOp::Add ? 1 : -1);
      }
      case BinaryOp::Mul: {
        const bool first = scalar::is_int(x);
        std::optional<Period> a = first || scalar::is_int(y) ? of(first ? y : x) : std::nullopt;
        if (a && __builtin_mul_overflow(a->advance, (first ? x : y)->ivalue, &a->advance)) return std::nullopt;
        return a;
      }
      case BinaryOp::FloorDiv:
      case BinaryOp::FloorMod: {
        const int64_t c = scalar::is_int(y) ? y->ivalue : 0;
        const std::optional<Period> a = c > 0 && begins_known(x, c) ? of(x) : std::nullopt;
        if (!a) return std::nullopt;
        const int64_t times = c / std::gcd(a->advance, c);
        if (times > most_ / a->length) return std::nullopt;
        return Period{a->length * times, e.binary == BinaryOp::FloorDiv ? a->advance * times / c : 0};
      }
      case BinaryOp::Min:
      case BinaryOp::Max: {
        const std::optional<Period> a = of(x);
        return common(common(a, of(y)), level(x, y), a);
      }
      default: return std::nullopt;
    }
  }

  Expr v_;
  int64_t most_ = 0;
};

// The number of instructions that read a vector whose lanes are at these places.
double reading(std::vector<int64_t> places, int64_t lanes) {
  bool side_by_side = true;
  for (size_t l = 1; l < places.size(); ++l) side_by_side &= places[l] == places[l - 1] + 1;
  if (side_by_side) return 1;
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (places.size() == 1) return 0.5;  // part of the instruction that uses it, or read once for all vectors
  const int64_t span = places.back() - places.front() + 1;
  if (span <= 2 * lanes) return span <= lanes ? 2 : 3;  // one or two loads, and a permutation
  size_t runs = 0;
  int64_t begin = places.front() - lanes;
  for (int64_t place : places)
    if (place - begin >= lanes) ++runs, begin = place;
  const bool few = runs <= max_lane_runs;
  return few || places.size() <= max_lane_places ? 2 * static_cast<double>(few ? runs : places.size())
                                                 : 2 * static_cast<double>(lanes);  // a gather
}

// Lanes along an axis, in blocks. For a joined axis, `parts` are the original axes.
struct Blocks {
  te::Axis axis;
  std::vector<scalar::Binding> parts;
  int64_t size = 0;
};

class LaneBlocks {
 public:
  LaneBlocks(ScheduleDraft& draft, const te::Tensor& e)
      : target_(*draft.target), body_(draft.expanded(e).body(*e)), lanes_(draft.lanes(e->dtype)) {
    for (const LoadFact& l : facts_of(e, draft.expanded(e)).loads) {
      const Layout& layout = draft.layout(l.tensor);
      const Exprs at = layout.physical_indices(l.load->args), shape = layout.physical_shape(l.tensor->shape);
      Expr place = scalar::imm(0), step = scalar::imm(1);
      Exprs steps(at.size());
      for (size_t d = 0; d < at.size(); ++d) place = scalar::simplify(place * shape[d] + at[d]);
      for (size_t d = at.size(); d-- > 0;) steps[d] = step, step = scalar::simplify(step * shape[d]);
      if (std::none_of(reads_.begin(), reads_.end(), [&](const Read& r) { return scalar::equal(r.place, place); }))
        reads_.push_back({at, steps, place});
    }
  }

  // Instructions per element, if blocks repeat their pattern and nothing is gathered. Without `known`: as computed in
  // any blocks, and for each row.
  std::optional<double> cost(Blocks& blocks, bool known) const {
    constexpr int64_t most_vectors = 16;  // that are written out: longer code takes longer to fetch
    const int64_t most = most_vectors * lanes_, extent = extent_or(blocks.axis, usual_row);
    const bool is_open = !scalar::is_int(blocks.axis.extent);
    if (extent == 0) return std::nullopt;  // without rows
    scalar::Bounds bounds;
    if (!is_open) bounds.set(blocks.axis.var, 0, extent);
    // A single block for the whole axis may have any pattern.
    const Periods periods(blocks.axis.var, !is_open && extent <= most ? most * extent : most);
    Exprs moved;
    int64_t length = lanes_;
    for (const Read& read : reads_) {
      const Expr at = scalar::simplify(scalar::substitute(read.place, blocks.parts), bounds);
      const std::optional<Period> p = periods.of(at);
      if (!p && known) return std::nullopt;
      if (p) length = std::lcm(length, p->length);
      moved.push_back(p ? at : Expr());
    }
    if (known && length > most && (is_open || extent > most)) return std::nullopt;
    const int64_t usual = 4 * lanes_;  // vectors that any loop writes out
    blocks.size = known ? length * std::max<int64_t>(1, usual / length) : usual;
    const bool all_known = blocks.size % length == 0 || extent <= blocks.size;
    if (!is_open) blocks.size = std::min(blocks.size, extent);
    if (known && !blocks.parts.empty() && !stay_joined(blocks, moved)) return std::nullopt;
    double sum = 0;
    int64_t vectors = 0;
    for (int64_t begin = 0; begin < blocks.size; begin += lanes_, ++vectors)
      for (const Expr& at : moved) {
        const double reads = at && all_known ? of_vector(at, blocks, begin) : static_cast<double>(2 * lanes_);
        if (known && reads >= static_cast<double>(2 * lanes_)) return std::nullopt;
        sum += reads;
      }
    const int64_t whole = extent / lanes_ + (extent % lanes_ > 0);  // vectors per row
    const double each = work(blocks) + sum / static_cast<double>(vectors);
    return (static_cast<double>(whole) * each + 1) / static_cast<double>(extent);
  }

 private:
  // Instructions per vector. Invariant expressions are computed once per row, not in vectors.
  double work(const Blocks& blocks) const {
    std::unordered_set<const scalar::Node*> moving = {blocks.axis.var.get()};
    for (const scalar::Binding& part : blocks.parts) moving.insert(part.var.get());
    const Expr body = scalar::rewrite(body_, [&](const Expr& n) {
      const bool moves = std::ranges::any_of(n->args, [&](const Expr& a) { return moving.count(a.get()) > 0; });
      if (moves) moving.insert(n.get());
      if (moves || n->args.empty()) return n;
      // Avoids numbers that would make an operation vanish.
      return n->dtype.is_float() ? scalar::fimm(3, n->dtype) : scalar::imm(n->dtype.is_bool() ? 1 : 3, n->dtype);
    });
    return 1 + count_operations(body, target_);
  }

  double of_vector(const Expr& at, const Blocks& blocks, int64_t begin) const {
    std::vector<std::pair<Expr, int64_t>> values;
    for (const Expr& var : scalar::free_vars(at)) values.emplace_back(var, 0);
    const Expr without_loads =
        scalar::rewrite(at, [](const Expr& e) { return e->kind == Kind::Load ? scalar::imm(0, e->dtype) : e; });
    std::vector<int64_t> places;
    for (int64_t i = begin; i < std::min(begin + lanes_, blocks.size); ++i) {
      for (auto& [var, value] : values) value = var == blocks.axis.var ? i : 0;
      const std::optional<int64_t> place = scalar::evaluate(without_loads, values);
      if (!place) return 2 * static_cast<double>(lanes_);
      places.push_back(*place);
    }
    return reading(std::move(places), lanes_);
  }

  // True if adjacent lanes stay adjacent in each vector of a block, where quotients and remainders of different numbers
  // are simplified separately before they are added up.
  bool stay_joined(const Blocks& blocks, const Exprs& places) const {
    const Expr task = scalar::var("task"), block = scalar::var("block"), lane = scalar::var("lane");
    const int64_t of_task = (task_elements + blocks.size - 1) / blocks.size;
    scalar::Bounds bounds;
    bounds.set(lane, 0, lanes_);
    bounds.set(block, 0, of_task);
    for (size_t r = 0; r < reads_.size(); ++r) {
      if (!scalar::as_affine(places[r], {blocks.axis.var})) continue;
      for (int64_t begin = 0; begin < blocks.size; begin += lanes_) {
        const Expr first = block * blocks.size + begin;
        Expr place = scalar::imm(0);
        for (size_t d = 0; d < reads_[r].at.size(); ++d) {
          const Expr index = scalar::substitute(scalar::substitute(reads_[r].at[d], blocks.parts),
                                                {{blocks.axis.var, task * (of_task * blocks.size) + first + lane}});
          place = place + scalar::simplify(index, bounds) * reads_[r].steps[d];
        }
        if (!scalar::as_affine(scalar::simplify(place, bounds), {lane})) return false;
      }
    }
    return true;
  }

  struct Read {
    Exprs at, steps;  // in the stored array
    Expr place;       // their sum
  };

  const TargetDesc& target_;
  Expr body_;
  int64_t lanes_ = 1;
  std::vector<Read> reads_;
};

}  // namespace

// A comparison of var // c is equivalent to one of var, without a division in each lane.
static Expr without_quotient(const Expr& e, const Expr& var) {
  if (e->kind != Kind::Binary || (e->binary != BinaryOp::Lt && e->binary != BinaryOp::Le)) return e;
  auto divisor = [&](const Expr& x) {
    const bool is = x->kind == Kind::Binary && x->binary == BinaryOp::FloorDiv && x->args[0] == var &&
                    scalar::is_int(x->args[1]) && x->args[1]->ivalue > 0;
    return is ? x->args[1] : Expr();
  };
  const bool strict = e->binary == BinaryOp::Lt;
  if (const Expr c = divisor(e->args[0])) return scalar::lt(var, (strict ? e->args[1] : e->args[1] + 1) * c);
  if (const Expr c = divisor(e->args[1])) return scalar::le((strict ? e->args[0] + 1 : e->args[0]) * c, var);
  return e;
}

// The last `count` axes, joined into one.
static Blocks joined(const te::TensorNode& e, size_t count) {
  const size_t rank = e.axes.size(), first = rank - count;
  Expr extent = scalar::imm(1), inner = scalar::imm(1);
  std::string name;
  for (size_t d = first; d < rank; ++d) {
    extent = scalar::simplify(extent * e.axes[d].extent);
    name += (name.empty() ? "" : "_") + e.axes[d].var->name;
  }
  Blocks out{{scalar::var(name), extent}, {}};
  for (size_t d = rank; d-- > first;) {
    Expr part = scalar::floordiv(out.axis.var, inner);
    if (d > first) part = scalar::floormod(part, e.axes[d].extent);
    out.parts.push_back({e.axes[d].var, scalar::simplify(part)});
    inner = scalar::simplify(inner * e.axes[d].extent);
  }
  return out;
}

// Views the output `e` with these joined axes.
static void join(ScheduleDraft& draft, const te::Tensor& e, const Blocks& blocks) {
  te::TensorNode view = *e;
  view.axes.resize(e->axes.size() - blocks.parts.size()), view.shape.resize(view.axes.size());
  view.axes.push_back(blocks.axis), view.shape.push_back(blocks.axis.extent);
  view.body = scalar::rewrite(scalar::substitute(e->body, blocks.parts),
                              [&](const Expr& x) { return without_quotient(x, blocks.axis.var); });
  const te::Tensor viewed(new te::TensorNode(std::move(view)));
  draft.view_output(e, viewed);
}

// Splits an axis in front of the last one, if indices are remainders of it, into an axis of copies and one of the
// copied elements, and views the output `e` so. Returns false and changes nothing if there is none.
static bool split_copies(ScheduleDraft& draft, const te::Tensor& e) {
  for (size_t d = 0; d + 1 < e->axes.size(); ++d) {
    const te::Axis& axis = e->axes[d];
    int64_t copied = 0;
    for (const LoadFact& l : facts_of(e, draft.expanded(e)).loads)
      for (const Expr& index : l.load->args)
        if (index->kind == Kind::Binary && index->binary == BinaryOp::FloorMod && index->args[0] == axis.var &&
            scalar::is_int(index->args[1]))
          copied = index->args[1]->ivalue;
    if (copied < 2 || !scalar::is_int(axis.extent) || axis.extent->ivalue % copied != 0) continue;
    const te::Tensor viewed = with_axis_split(*e, d, {{"_copy", axis.extent->ivalue / copied}, {"_part", copied}});
    draft.view_output(e, viewed);
    return true;
  }
  return false;
}

// True if some index is a quotient or a remainder of the axis.
static bool is_divided(ScheduleDraft& draft, const te::Tensor& e, const Expr& axis) {
  bool found = false;
  for (const LoadFact& l : facts_of(e, draft.expanded(e)).loads)
    for (const Expr& index : l.load->args)
      scalar::visit(index, [&](const Expr& n) {
        if (n->kind != Kind::Binary || (n->binary != BinaryOp::FloorDiv && n->binary != BinaryOp::FloorMod)) return;
        const Exprs vars = scalar::free_vars(n->args[0]);
        found |= std::find(vars.begin(), vars.end(), axis) != vars.end();
      });
  return found;
}

// Instructions per element of squares that are transposed in registers: a whole square takes loads, stores and two
// permutations per row; with fewer columns only the loads are fewer.
static double squares_cost(int64_t columns, int64_t lanes) {
  const double taken = static_cast<double>(std::min(columns, lanes)), rows = static_cast<double>(lanes);
  return (taken + 3 * rows) / (taken * rows);
}

// The blocks with the fewest instructions, among the original axes and joined ones; size 0 if none pays.
static Blocks best_blocks(ScheduleDraft& draft, const te::Tensor& e, bool divided, bool is_short) {
  const LaneBlocks ways(draft, e);
  Blocks as_it_is{e->axes.back(), {}}, best;
  double least = *ways.cost(as_it_is, false);
  const int64_t lanes = draft.lanes(e->dtype), row = extent_or(e->axes.back(), usual_row);
  if (transposes_in_registers(e->dtype) && !contiguous_in_inputs(draft, e, e->axes.back().var->name).empty())
    least = std::min(least, squares_cost(row, lanes));
  for (size_t count = divided ? 1 : 2; count <= (is_short ? e->axes.size() : 1); ++count) {
    Blocks way = count == 1 ? as_it_is : joined(*e, count);
    const std::optional<double> cost = ways.cost(way, true);
    // Known places need no squares. Other choices have to be better.
    const double share = count == 1 ? 1 : best.size == 0 ? surely_less : likely_less;
    if (cost && *cost <= least * share) least = *cost, best = std::move(way);
  }
  return best;
}

int64_t choose_lane_block(ScheduleDraft& draft, const te::Tensor& e) {
  constexpr int64_t many_vectors = 4;  // with this many, the last one, which is partly empty, matters little
  const int64_t lanes = draft.lanes(e->dtype), row = e->axes.empty() ? 0 : extent_or(e->axes.back(), 0);
  if (lanes < 2 || row < 2 || !draft.layout(e).is_row_major()) return 0;
  const bool is_short = row % lanes != 0 && row <= many_vectors * lanes && scalar::is_int(e->axes.back().extent) &&
                        may_be_viewed(draft, e);
  const bool divided = is_divided(draft, e, e->axes.back().var);
  if (!is_short && !divided) return 0;
  const Blocks blocks = best_blocks(draft, e, divided, is_short);
  if (!blocks.parts.empty()) {
    join(draft, e, blocks);
    return blocks.size;
  }
  ScheduleDraft split = draft;
  if (is_short && split_copies(split, e)) {
    const int64_t size = choose_lane_block(split, split.stage(e->name));
    if (split.stage(e->name)->axes.size() <= e->axes.size()) {  // joined
      draft = std::move(split);
      return size;
    }
  }
  return blocks.size;
}

}  // namespace relay::lower
