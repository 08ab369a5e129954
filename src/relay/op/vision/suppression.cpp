#include "relay/op/vision/suppression.h"

namespace relay::op::vision {
namespace {

// Front: ranks of the kept boxes, one after the other. Flag: 1 for a rank that is kept. Rivals: ranks of the kept boxes
// that count.
enum Row : int64_t { Front, Flag, Rivals, rows };

Exprs joined(Exprs line, const Expr& row, const Expr& k) {
  line.push_back(row), line.push_back(k);
  return line;
}

// Whether intersection over union of two boxes is at least the threshold; boxes that do not meet never overlap.
Expr overlap(const Exprs& a, const Exprs& b, const Expr& threshold) {
  const Expr zero = number(0, threshold->dtype);
  auto low = [](const Exprs& box, size_t k) { return min(box[k], box[k + 2]); };
  auto high = [](const Exprs& box, size_t k) { return max(box[k], box[k + 2]); };
  auto area = [&](const Exprs& box) { return (high(box, 0) - low(box, 0)) * (high(box, 1) - low(box, 1)); };
  auto common = [&](size_t k) { return max(min(high(a, k), high(b, k)) - max(low(a, k), low(b, k)), zero); };
  const Expr both = common(0) * common(1), either = area(a) + area(b) - both;
  return logical_and(lt(zero, both), logical_and(lt(zero, either), le(threshold, divide(both, either))));
}

}  // namespace

Kept::Kept(const Candidates& c) {
  const DType narrow = DType::int32(), wide = DType::int64();
  const Exprs shape = joined(c.lines, dim(rows), c.boxes);
  table_ =
      te::program("kept", shape, narrow, axes_but(c.lines.size(), {}), [&](const Exprs& line, const BufferRef& result) {
        auto store = [&](Row row, const Expr& k, const Expr& value) {
          return loop::store(result, joined(line, dim(row), k), cast(narrow, value));
        };
        const Stmt clear = each("i", c.boxes, [&](const Expr& i) {
          return loop::block({store(Front, i, dim(-1)), store(Flag, i, dim(0)), store(Rivals, i, dim(0))});
        });
        const Stmt choose = with_cell("kept", dim(0), [&](const Cell& kept) {
          return with_cell("rivals", dim(0), [&](const Cell& rivals) {
            auto keep = [&](const Expr& rank) {
              return loop::block({store(Front, kept.get(), rank), store(Flag, rank, dim(1)), kept.set(kept.get() + 1)});
            };
            // Against each of the rivals so far; those behind the first that overlaps are passed over.
            auto contest = [&](const Expr& rank) {
              return with_cell("lost", dim(0), [&](const Cell& lost) {
                const Stmt compare = let("many", rivals.get(), [&](const Expr& many) {
                  return each("k", many, [&](const Expr& k) {
                    const Expr load = scalar::load(result, joined(line, dim(Rivals), k));
                    return let("rival", within(load, c.boxes), [&](const Expr& rival) {
                      const Expr meets = overlap(c.corners(line, rank), c.corners(line, rival), c.threshold);
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
    return cast(wide, (*table_)(joined(i, dim(Flag), r[0])));
  });
}

Expr Kept::rank(const Exprs& line, const Expr& k) const {
  return cast(DType::int64(), (*table_)(joined(line, dim(Front), k)));
}

Expr Kept::is_kept(const Exprs& line, const Expr& rank) const {
  return ne((*table_)(joined(line, dim(Flag), rank)), imm(0, DType::int32()));
}

Status check_scalar(const char* number, const Types& in, size_t i, const char* name, bool is_float) {
  RELAY_ASSIGN(const TensorType* t, tensor_input(in, i, name));
  const bool integer = t->dtype.code == DType::Code::Int || t->dtype.code == DType::Code::UInt;
  if (rank(t) != 0 || !(is_float ? t->dtype.is_float() : integer))
    return constraint(number, "{} must be one {}, but is {}", name, is_float ? "float" : "integer", ir::str(in[i]));
  return ok();
}

}  // namespace relay::op::vision
