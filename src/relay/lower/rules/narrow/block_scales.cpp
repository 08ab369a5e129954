#include "relay/lower/rules/narrow/block_scales.h"

#include <algorithm>

#include "relay/lower/group/rounded.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

using scalar::BinaryOp;
using scalar::Kind;

// The factors of a product of floats of one type, in order.
void find_factors(const Expr& e, Exprs& out) {
  const Expr& product = unrounded(e);
  if (product->kind != Kind::Binary || product->binary != BinaryOp::Mul || !product->dtype.is_float())
    return out.push_back(e);
  find_factors(product->args[0], out);
  find_factors(product->args[1], out);
}

// True for an element of a constant, perhaps converted.
bool is_scale(const std::set<std::string>& constants, const Expr& factor) {
  const Expr& element = factor->kind == Kind::Cast ? factor->args[0] : factor;
  const auto* source =
      element->kind == Kind::Load ? dynamic_cast<const te::TensorNode*>(element->source.get()) : nullptr;
  return source && element->dtype.is_float() && constants.count(source->name);
}

}  // namespace

Exprs factors_of(const Expr& e) {
  Exprs out;
  find_factors(e, out);
  return out;
}

bool uses(const Expr& e, const Expr& var) {
  const Exprs vars = scalar::free_vars(e);
  return std::find(vars.begin(), vars.end(), var) != vars.end();
}

std::set<int64_t> divisors(const Expr& e, const Expr& axis) {
  std::set<int64_t> out;
  scalar::visit(e, [&](const Expr& n) {
    if (n->kind == Kind::Binary && n->binary == BinaryOp::FloorDiv && n->args[0] == axis && scalar::is_int(n->args[1]))
      out.insert(n->args[1]->ivalue);
  });
  return out;
}

Expr scaled_product(const ScheduleDraft& draft, const te::Tensor& r) {
  auto is_product = [](const Expr& e) { return e->kind == Kind::Binary && e->binary == BinaryOp::Mul; };
  const Expr expanded = draft.expanded(r).body(*r);
  if (!is_product(r->body) || !is_product(expanded)) return {};
  auto is_constant = [&](const Expr& e) {
    bool constant = true;
    scalar::visit(e, [&](const Expr& n) {
      constant = constant && (n->kind != Kind::Load || draft.constants.count(n->source->name));
    });
    return constant;
  };
  Exprs args = r->body->args;
  bool scaled = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Exprs factors = factors_of(expanded->args[i]);
    if (factors.size() < 2 || !is_constant(expanded->args[i])) continue;
    if (std::any_of(factors.begin(), factors.end(), [&](const Expr& f) { return is_scale(draft.constants, f); }))
      args[i] = expanded->args[i], scaled = true;
  }
  return scaled ? args[0] * args[1] : Expr();
}

SumSplit split_by_scales(const ScheduleDraft& draft, const Expr& product, const std::vector<te::Axis>& axes,
                         int64_t terms) {
  SumSplit split;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::set<int64_t> blocks;
    for (const Expr& factor : factors_of(product))
      if (is_scale(draft.constants, factor)) blocks.merge(divisors(factor, axes[i].var));
    if (blocks.empty()) continue;
    int64_t block = *blocks.begin();
    const int64_t extent = extent_or(axes[i], 0);
    if (split.inner || block >= extent || extent % block != 0) return {};
    while (block > 2 * terms && block % 2 == 0) block /= 2;
    split = {i, block};
  }
  return split;
}

Expr take_out_scales(const ScheduleDraft& draft, te::TensorNode& part) {
  scalar::Bounds bounds;
  for (const std::vector<te::Axis>* axes : {&part.axes, &part.reduce_axes})
    for (const te::Axis& a : *axes)
      if (scalar::is_int(a.extent)) bounds.set(a.var, 0, a.extent->ivalue);
  part.body = scalar::simplify(part.body, bounds);
  Expr scale, rest;
  for (const Expr& factor : factors_of(part.body)) {
    const bool is_equal = std::none_of(part.reduce_axes.begin(), part.reduce_axes.end(),
                                       [&](const te::Axis& a) { return uses(factor, a.var); });
    Expr& product = is_equal && is_scale(draft.constants, factor) ? scale : rest;
    product = product ? product * factor : factor;
  }
  if (scale) part.body = rest;
  return scale;
}

int64_t neighbours_in_element(const std::vector<LoadFact>& loads, const te::Axis& axis) {
  int64_t least = 0;
  for (const LoadFact& l : loads)
    for (const Expr& index : l.load->args)
      for (int64_t c : divisors(index, axis.var)) least = least ? std::min(least, c) : c;
  return std::max<int64_t>(least, 1);
}

}  // namespace relay::lower
