#include "relay/op/vision/suppression.h"

#include "relay/op/sort/order.h"

namespace relay::op::vision {
namespace {

// Front: ranks of the kept boxes, one after the other. Flag: 1 for a kept rank. Rivals: ranks of the kept boxes that
// can suppress others.
enum Row : int64_t { Front, Flag, Rivals, rows };

Exprs table_index(Exprs line, const Expr& row, const Expr& k) {
  line.push_back(row), line.push_back(k);
  return line;
}

// True if the intersection over union of two boxes is at least the threshold; disjoint boxes never overlap.
Expr overlap(const Exprs& a, const Exprs& b, const Candidates& c) {
  const DType type = c.threshold->dtype;
  const Expr zero = number(0, type);
  auto low = [](const Exprs& box, size_t k) { return min(box[k], box[k + 2]); };
  auto high = [](const Exprs& box, size_t k) { return max(box[k], box[k + 2]); };
  auto length = [&](const Expr& from, const Expr& to) {
    return c.unit == 0 ? to - from : to - from + number(c.unit, type);
  };
  auto area = [&](const Exprs& box) { return length(low(box, 0), high(box, 0)) * length(low(box, 1), high(box, 1)); };
  auto common = [&](size_t k) { return max(length(max(low(a, k), low(b, k)), min(high(a, k), high(b, k))), zero); };
  const Expr both = common(0) * common(1), either = area(a) + area(b) - both, part = divide(both, either);
  const Expr enough = c.above ? lt(c.threshold, part) : le(c.threshold, part);
  return logical_and(lt(zero, both), logical_and(lt(zero, either), enough));
}

}  // namespace

Kept::Kept(const Candidates& c) {
  const DType narrow = DType::int32(), wide = DType::int64();
  const Exprs shape = table_index(c.lines, dim(rows), c.boxes);
  table_ =
      te::program("kept", shape, narrow, axes_but(c.lines.size(), {}), [&](const Exprs& line, const BufferRef& result) {
        auto store = [&](Row row, const Expr& k, const Expr& value) {
          return loop::store(result, table_index(line, dim(row), k), cast(narrow, value));
        };
        const Stmt clear = each("i", c.boxes, [&](const Expr& i) {
          return loop::block({store(Front, i, dim(-1)), store(Flag, i, dim(0)), store(Rivals, i, dim(0))});
        });
        const Stmt choose = with_cell("kept", dim(0), [&](const Cell& kept) {
          return with_cell("rivals", dim(0), [&](const Cell& rivals) {
            auto keep = [&](const Expr& rank) {
              return loop::block({store(Front, kept.get(), rank), store(Flag, rank, dim(1)), kept.set(kept.get() + 1)});
            };
            // Compares with the rivals so far; those after the first overlapping one are skipped.
            auto contest = [&](const Expr& rank) {
              return with_cell("lost", dim(0), [&](const Cell& lost) {
                const Stmt compare = let("many", rivals.get(), [&](const Expr& many) {
                  return each("k", many, [&](const Expr& k) {
                    const Expr load = scalar::load(result, table_index(line, dim(Rivals), k));
                    return let("rival", within(load, c.boxes), [&](const Expr& rival) {
                      const Expr meets = overlap(c.corners(line, rank), c.corners(line, rival), c);
                      return loop::if_(logical_and(eq(lost.get(), dim(0)), c.compared(line, rank, rival)),
                                       loop::if_(meets, lost.set(dim(1))));
                    });
                  });
                });
                const Stmt win =
                    loop::block({store(Rivals, rivals.get(), rank), rivals.set(rivals.get() + 1), keep(rank)});
                return loop::block({compare, loop::if_(eq(lost.get(), dim(0)), win)});
              });
            };
            return let("candidates", c.count(line), [&](const Expr& candidates) {
              return each("rank", candidates, [&](const Expr& rank) {
                const Expr room = logical_or(lt(c.limit, dim(0)), lt(rivals.get(), c.limit));
                return loop::if_(room, loop::if_(c.counts(line, rank), contest(rank), keep(rank)));
              });
            });
          });
        });
        return loop::block({clear, choose});
      });
  count_ = te::reduce("count", c.lines, {c.boxes}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    return cast(wide, (*table_)(table_index(i, dim(Flag), r[0])));
  });
}

Expr Kept::rank(const Exprs& line, const Expr& k) const {
  return cast(DType::int64(), (*table_)(table_index(line, dim(Front), k)));
}

Expr Kept::is_kept(const Exprs& line, const Expr& rank) const {
  return ne((*table_)(table_index(line, dim(Flag), rank)), imm(0, DType::int32()));
}

Expr ByClass::box(const Exprs& line, const Expr& rank) const {
  const Expr& n = places->shape[2];
  return within((*places)({line[0], line[1], within(rank, n)}), n);
}

ByClass by_class(const te::Tensor& boxes, const te::Tensor& scores, const std::function<Expr(const Expr&)>& good,
                 const Expr& threshold, const Expr& limit, bool above) {
  const Expr& n = scores->shape[2];
  const DType wide = accumulator(scores->dtype);
  auto is_good = [&](const Exprs& i) { return good(cast(wide, (*scores)(i))); };
  te::Tensor looked_at = elementwise("good", scores, [&](const Exprs& i) {
    return select(is_good(i), (*scores)(i), te::identity(Combiner::Max, scores->dtype));
  });
  te::Tensor count =
      te::reduce("candidates", {scores->shape[0], scores->shape[1]}, {n}, Combiner::Sum,
                 [&](const Exprs& i, const Exprs& r) { return cast(DType::int64(), is_good({i[0], i[1], r[0]})); });
  const Order order(looked_at, 2, false);
  te::Tensor places = elementwise("places", scores, [&](const Exprs& i) { return within(order.place(i), n); });
  Candidates c;
  c.lines = {scores->shape[0], scores->shape[1]}, c.boxes = n, c.threshold = threshold, c.limit = limit,
  c.above = above;
  c.count = [&](const Exprs& line) { return max(min((*count)(line), n), dim(0)); };
  c.corners = [&](const Exprs& line, const Expr& rank) {
    const Expr box = within((*places)({line[0], line[1], rank}), n);
    Exprs four;
    for (int64_t k = 0; k < 4; ++k) four.push_back(cast(wide, (*boxes)({line[0], box, dim(k)})));
    return four;
  };
  c.counts = [](const Exprs&, const Expr&) { return imm(1, DType::boolean()); };
  c.compared = [](const Exprs&, const Expr&, const Expr&) { return imm(1, DType::boolean()); };
  return {places, Kept(c)};
}

Status check_scalar(const char* number, const Types& in, size_t i, const char* name, bool is_float) {
  RELAY_ASSIGN(const TensorType* t, tensor_input(in, i, name));
  const bool integer = t->dtype.code == DType::Code::Int || t->dtype.code == DType::Code::UInt;
  if (rank(t) != 0 || !(is_float ? t->dtype.is_float() : integer))
    return constraint(number, "{} must be one {}, but is {}", name, is_float ? "float" : "integer", ir::str(in[i]));
  return ok();
}

}  // namespace relay::op::vision
