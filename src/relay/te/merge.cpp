#include "relay/te/merge.h"

namespace relay::te {

namespace {

// A merge with variables for the values of both sides.
Ref<const Merge> merge_of(std::string name, const std::vector<DType>& types, Exprs identity,
                          const std::function<void(Merge&)>& fill) {
  Merge* m = new Merge;
  const Ref<const Merge> made(m);
  m->name = std::move(name), m->identity = std::move(identity);
  for (size_t v = 0; v < types.size(); ++v) {
    m->left.push_back(scalar::data_var(format("a{}", v), types[v]));
    m->right.push_back(scalar::data_var(format("b{}", v), types[v]));
  }
  fill(*m);
  return made;
}

Expr no(const Expr& e) { return scalar::unary(scalar::UnaryOp::Not, e); }

// True if b takes precedence over a, whatever their places are.
Expr wins(const Expr& b, const Expr& a, bool greatest) {
  if (a->dtype.is_bool()) return greatest ? logical_and(b, no(a)) : logical_and(no(b), a);
  if (!a->dtype.is_float()) return greatest ? lt(a, b) : lt(b, a);
  return logical_and(no(greatest ? le(b, a) : le(a, b)), no(scalar::unary(scalar::UnaryOp::IsNan, a)));
}

}  // namespace

Ref<const Merge> extreme(DType dtype, bool greatest, bool last, DType place) {
  const Exprs none = {identity(greatest ? Combiner::Max : Combiner::Min, dtype), scalar::imm(0, place)};
  return merge_of(greatest ? "argmax" : "argmin", {dtype, place}, none, [&](Merge& m) {
    const Expr &x = m.left[0], &y = m.right[0], &i = m.left[1], &j = m.right[1];
    const Expr later = wins(y, x, greatest), earlier = wins(x, y, greatest);
    const Expr tie = last ? max(i, j) : min(i, j);
    m.combined = {select(later, y, x), select(later, j, select(earlier, i, tie))};
    // An earlier place is less; only the identity, which represents no element, may have a greater one.
    if (last)
      m.next = {select(earlier, x, y), select(earlier, i, max(i, j))};
    else
      m.next = {select(later, y, x), select(later, j, i)};
  });
}

}  // namespace relay::te
