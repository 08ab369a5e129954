#include "relay/lower/rules/narrow/factors.h"

#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::BinaryOp;
using scalar::Kind;

// True if it has the same value for all elements.
static bool is_same_for_all(const Expr& e) {
  bool same = true;
  scalar::visit(e, [&](const Expr& n) { same = same && n->kind != Kind::Var; });
  return same;
}

std::optional<Narrow> narrow_factor(const Expr& e, const std::vector<LoadFact>& loads) {
  Narrow out{e};
  if (e->kind == Kind::Binary && (e->binary == BinaryOp::Sub || e->binary == BinaryOp::Add) &&
      e->dtype == DType::int32() && is_same_for_all(e->args[1])) {
    // A zero point of the data's type is widened.
    const Expr& widened = e->args[1]->kind == Kind::Cast ? e->args[1]->args[0] : e->args[1];
    const Expr offset = scalar::is_int(widened) ? scalar::imm(widened->ivalue, DType::int32()) : e->args[1];
    out.load = e->args[0],
    out.offset = e->binary == BinaryOp::Sub ? offset : scalar::simplify(scalar::imm(0, DType::int32()) - offset);
  }
  if (out.load->kind != Kind::Cast || out.load->args[0]->kind != Kind::Load) return std::nullopt;
  out.load = out.load->args[0];
  const LoadFact* own = nullptr;
  for (const LoadFact& load : loads)
    if (load.tensor.get() == out.load->source.get())
      own = own ? nullptr : &load;
    else if (!load.axes.empty())
      return std::nullopt;
  if (!own) return std::nullopt;
  out.fact = *own;
  return out;
}

int plain_dim(const LoadFact& load, const std::string& axis) {
  int found = -1;
  for (size_t d = 0; d < load.coefficients.size(); ++d) {
    const auto& of = load.coefficients[d];
    if (!of) return -1;
    if (!of->count(axis)) continue;
    if (found >= 0 || of->size() != 1 || of->at(axis) != 1) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

int dim_of_steps(const LoadFact& load, const std::string& axis, int64_t products) {
  int found = -1;
  for (size_t d = 0; d < load.coefficients.size(); ++d) {
    const auto& of = load.coefficients[d];
    if (!of) return -1;
    if (!of->count(axis)) continue;
    if (found >= 0 || of->at(axis) != 1) return -1;
    for (const auto& [other, by] : *of)
      if (other != axis && by % products != 0) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

Expr number_of_step(const Expr& load, const te::Axis& k, const Expr& step, int64_t products, int64_t i) {
  const Expr at = step * products + i, number = scalar::substitute(load, {{k.var, at}});
  const int64_t rest = k.extent->ivalue % products;
  if (rest == 0 || i < rest) return number;
  return scalar::select(scalar::lt(at, k.extent), number, scalar::imm(0, number->dtype));
}

}  // namespace relay::lower
