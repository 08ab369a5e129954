// DynamicTimeWarping: the cheapest path through a matrix of costs from its first to its last element, by steps down, to
// the right, or both.
//
// Elements i + j = d are reached from those of d - 1 and d - 2, so the costs of paths are computed by diagonals, each a
// vector over i, with the predecessor of each element; then the path is followed back.
#include <cmath>

#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Exprs;

namespace {

class Warping {
 public:
  Warping(Convert& c, const Expr& costs) : c_(c), outside_(c), costs_(costs) {}

  Values run() {
    const ir::Dims s = c_.shape(costs_);
    count_ = c_.add(c_.add(c_.size_of(costs_, 0), c_.size_of(costs_, 1)), -1);
    held_ = outside_.hold(costs_), columns_ = outside_.hold(c_.size_of(costs_, 1));
    row_ = outside_.hold(c_.count_up(costs_, 0));
    const ir::Dim size = scalar::simplify(s[0] + s[1] - 1);
    Expr far = c_.broadcast_to(number(INFINITY), {s[0]});
    Steps steps{.count = count_, .size = size, .condition = {}, .state = {far, far}};
    std::optional<Stepped> ways =
        repeat(c_, steps, outside_, [&](const Expr& index, const Exprs& state) { return diagonal(index, state); });
    return ways ? followed(ways->outputs[0]) : Values();
  }

 private:
  Expr number(double value) { return c_.scalar(value, c_.dtype(costs_)); }
  Expr whole(int64_t value) { return c_.integer_scalar(value); }

  // A vector shifted by one place, with `first` in front.
  Expr moved(const Expr& e, const Expr& first) {
    Expr before = c_.emit("take", {e, c_.add(row_, -1)}, {{"axis", int64_t{0}}, {"mode", "clip"}});
    return c_.emit("where", {c_.emit("equal", {row_, whole(0)}), first, before});
  }

  // State: the costs of the two previous diagonals. Returns 0 for an element reached diagonally, 1 from above, 2 from
  // the left.
  std::optional<Step> diagonal(const Expr& index, const Exprs& state) {
    Expr column = c_.subtract(index, row_);
    Expr inside =
        c_.emit("logical_and", {c_.emit("less_equal", {whole(0), column}), c_.emit("less", {column, columns_})});
    Expr within = c_.emit("minimum", {c_.emit("maximum", {column, whole(0)}), c_.add(columns_, -1)});
    Expr cost = c_.squeeze(c_.emit("gather", {held_, c_.expand(within, 1)}, {{"axis", int64_t{1}}}), 1);
    Expr start = c_.emit("where", {c_.emit("equal", {index, whole(0)}), number(0), number(INFINITY)});
    Expr both = moved(state[1], start), above = moved(state[0], number(INFINITY)), left = state[0];
    auto least = [&](const Expr& e, const Expr& a, const Expr& b) {
      return c_.emit("logical_and", {c_.emit("less", {e, a}), c_.emit("less", {e, b})});
    };
    Expr from = c_.emit("where", {least(both, above, left), whole(0),
                                  c_.emit("where", {least(above, both, left), whole(1), whole(2)})});
    Expr way = c_.emit("minimum", {c_.emit("minimum", {both, above}), left});
    Step next;
    next.state = {c_.emit("where", {inside, c_.add(way, cost), number(INFINITY)}), state[0]};
    next.outputs = {from};
    return next;
  }

  Values followed(const Expr& ways) {
    Captures outside(c_);
    Expr from = outside.hold(ways), last_row = c_.add(c_.size_of(costs_, 0), -1);
    Steps steps{.count = count_, .size = {}, .condition = {}, .state = {}};
    steps.state = {last_row, c_.add(c_.size_of(costs_, 1), -1)};
    std::optional<Stepped> path = repeat(c_, steps, outside, [&](const Expr&, const Exprs& at) {
      Expr line = c_.emit("take", {from, c_.add(at[0], at[1])}, {{"axis", int64_t{0}}, {"mode", "clip"}});
      Expr way = c_.emit("take", {line, at[0]}, {{"axis", int64_t{0}}, {"mode", "clip"}});
      auto back = [&](const Expr& e, int64_t unless) {
        return c_.subtract(e, c_.cast(c_.emit("not_equal", {way, whole(unless)}), DType::int64()));
      };
      Step next;
      next.condition = c_.emit("less", {whole(0), c_.add(at[0], at[1])});
      next.state = {back(at[0], 2), back(at[1], 1)};
      next.outputs = {c_.concatenate({c_.expand(at[0], 0), c_.expand(at[1], 0)}, 0)};
      return std::optional(next);
    });
    if (!path) return {};
    Expr in_order = c_.emit("reverse", {path->outputs[0]}, {{"axis", int64_t{0}}});
    return {c_.cast(c_.transpose(in_order, {1, 0}), DType::int32())};
  }

  Convert& c_;
  Captures outside_;
  Expr costs_, held_, count_, columns_, row_;
};

}  // namespace

Values DynamicTimeWarping(Convert& c) {
  Expr costs = c.input(0);
  if (!c.expect_rank(costs, 2, 3, "the input")) return {};
  if (c.rank(costs) == 3) {
    if (c.extent(costs, 0).value_or(1) != 1) return c.bad("the input is {}, not (1, M, N)", ir::str(costs->type));
    costs = c.squeeze(costs, 0);
  }
  return Warping(c, costs).run();
}

}  // namespace relay::onnx::microsoft
