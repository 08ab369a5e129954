// Turns pointwise work on arrays that are all stored in the same order, under any shapes, into work on one row of all
// elements:
//
//   out[i, j, k] = x[((i * b + j) * c + k) / 7, ((i * b + j) * c + k) % 7]   ->   out[p] = x[p]
//
// so that vectors and tasks cross the ends of rows. This is for rows of unknown length; short rows of known length are
// joined by the elementwise rule. The arrays are the same, viewed with one dimension. Precondition: one result; all
// arrays that move with it are stored row-major, without a halo or row padding.
#include <algorithm>

#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

// The offset of an element in a row-major array.
Expr place_in(const Exprs& shape, const Exprs& at) {
  Expr place = scalar::imm(0);
  for (size_t d = 0; d < shape.size(); ++d) place = scalar::simplify(place * shape[d] + at[d]);
  return place;
}

class Joining {
 public:
  explicit Joining(ScheduleDraft& draft) : draft_(draft) {}

  // Returns false and changes nothing if a stage has another form.
  bool all() {
    for (const te::Tensor& t : draft_.stages())
      if (!t->is_placeholder() && !stage(*t)) return false;
    for (const auto& [source, row] : rows_)
      if (row->is_placeholder()) draft_.layouts[row->name] = Layout::row_major(1);
    const te::Tensor& out = rows_.at(draft_.outputs()[0].get());
    draft_.layouts[out->name] = Layout::row_major(1), draft_.set_outputs({out});
    return true;
  }

 private:
  bool stage(const te::TensorNode& t) {
    if (t.combiner != te::Combiner::None || t.before || t.is_program() || te::has_several_values(t)) return false;
    Exprs vars;
    for (const te::Axis& a : t.axes) vars.push_back(a.var);
    auto moves = [&](const Expr& e) {
      const Exprs free = scalar::free_vars(e);
      return std::any_of(free.begin(), free.end(),
                         [&](const Expr& v) { return std::find(vars.begin(), vars.end(), v) != vars.end(); });
    };
    const te::Axis row{scalar::var("p"), scalar::simplify(product(t.shape))};
    const Expr place = place_in(t.shape, vars);
    bool can = true;
    const Expr body = scalar::rewrite(t.body, [&](const Expr& e) -> Expr {
      if (e->kind != scalar::Kind::Load) return e;
      const te::Tensor in(dynamic_cast<const te::TensorNode*>(e->source.get()));
      can = can && in && (moves(e) ? is_row_major(in) : in->is_placeholder() && !rows_.count(in.get()));
      if (!can || !moves(e)) {
        fixed_.insert(in.get());
        return e;
      }
      can = !fixed_.count(in.get()) && scalar::prove_equal(place_in(in->shape, e->args), place) == true;
      return can ? scalar::load(row_of(in), {row.var}) : e;
    });
    if (!can || moves(body)) return false;
    te::TensorNode joined = t;
    joined.axes = {row}, joined.shape = {row.extent}, joined.body = body;
    rows_[&t] = te::Tensor(new te::TensorNode(std::move(joined)));
    return true;
  }

  bool is_row_major(const te::Tensor& t) {
    return !t->is_placeholder() || (!draft_.constants.count(t->name) && draft_.layout(t).is_row_major());
  }

  te::Tensor row_of(const te::Tensor& t) {
    te::Tensor& row = rows_[t.get()];
    if (!row) row = te::placeholder(t->name, {scalar::simplify(product(t->shape))}, t->dtype);
    return row;
  }

  static Expr product(const Exprs& shape) {
    Expr all = scalar::imm(1);
    for (const Expr& d : shape) all = all * d;
    return all;
  }

  ScheduleDraft& draft_;
  std::map<const te::TensorNode*, te::Tensor> rows_;
  std::set<const te::TensorNode*> fixed_;  // arrays of which a fixed element is read
};

}  // namespace

void join_rows(ScheduleDraft& draft) {
  if (draft.outputs().size() != 1) return;
  const te::Tensor out = draft.outputs()[0];
  if (out->axes.size() > 1 && !scalar::is_int(out->axes.back().extent) && may_be_viewed(draft, out))
    Joining(draft).all();
}

}  // namespace relay::lower
