#include "relay/exec/sizes.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "relay/runtime/program/program.h"
#include "relay/scalar/simplify.h"
#include "relay/scalar/solve.h"

namespace relay::exec {

using runtime::SizeExpr;
using runtime::SizeOp;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::Kind;
using scalar::UnaryOp;

SizeTranslator::SizeTranslator(const scalar::Exprs& variables) {
  for (const Expr& v : variables) index_.emplace(v, static_cast<int64_t>(index_.size()));
}

static std::optional<SizeOp> size_op(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return SizeOp::Add;
    case BinaryOp::Sub: return SizeOp::Sub;
    case BinaryOp::Mul: return SizeOp::Mul;
    case BinaryOp::FloorDiv: return SizeOp::FloorDiv;
    case BinaryOp::FloorMod: return SizeOp::FloorMod;
    case BinaryOp::TruncDiv: return SizeOp::TruncDiv;
    case BinaryOp::TruncMod: return SizeOp::TruncMod;
    case BinaryOp::Min: return SizeOp::Min;
    case BinaryOp::Max: return SizeOp::Max;
    case BinaryOp::Eq: return SizeOp::Eq;
    case BinaryOp::Ne: return SizeOp::Ne;
    case BinaryOp::Lt: return SizeOp::Lt;
    case BinaryOp::Le: return SizeOp::Le;
    case BinaryOp::And: return SizeOp::And;
    case BinaryOp::Or: return SizeOp::Or;
    default: return std::nullopt;
  }
}

static std::optional<SizeOp> size_op(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg: return SizeOp::Neg;
    case UnaryOp::Not: return SizeOp::Not;
    case UnaryOp::Abs: return SizeOp::Abs;
    default: return std::nullopt;
  }
}

Result<SizeExpr> SizeTranslator::operator()(const Expr& given) const {
  Expr root = scalar::simplify(given);
  SizeExpr out;
  Diagnostics errors;
  auto refuse = [&](const std::string& why) {
    if (errors.empty())
      errors.push_back({DiagnosticKind::not_supported,
                        format("the size `{}` cannot be computed at run time: {}", scalar::str(root), why),
                        {},
                        {},
                        {},
                        "give the inputs' shapes: --shape NAME=1,3,224,224"});
  };
  // The deeper operand of a sum comes first, so that a chain of them needs few places on the stack.
  std::unordered_map<const scalar::Node*, int64_t> depths;
  scalar::visit(root, [&](const Expr& e) {
    int64_t& depth = depths[e.get()];
    for (const Expr& a : e->args) depth = std::max(depth, depths[a.get()] + 1);
  });
  auto turns = [&](const Expr& e) {
    const bool commutes = e->kind == Kind::Binary && (e->binary == BinaryOp::Add || e->binary == BinaryOp::Mul ||
                                                      e->binary == BinaryOp::Min || e->binary == BinaryOp::Max);
    return commutes && depths[e->args[0].get()] < depths[e->args[1].get()];
  };
  // Sizes are small (plan and program limit them), so this recurses.
  std::function<void(const Expr&)> emit = [&](const Expr& e) {
    if (out.words.size() > runtime::Limits::words) return refuse("it is too long");
    const bool is_turned = turns(e);
    if (is_turned) emit(e->args[1]), emit(e->args[0]);
    for (const Expr& a : e->args)
      if (!is_turned &&
          (e->kind == Kind::Unary || e->kind == Kind::Binary || e->kind == Kind::Select || e->kind == Kind::Cast))
        emit(a);
    switch (e->kind) {
      case Kind::Int: out.words.push_back({SizeOp::Const, e->ivalue}); return;
      case Kind::Var: {
        std::unordered_map<Expr, int64_t>::const_iterator it = index_.find(e);
        if (it == index_.end()) return refuse(format("`{}` is not a shape variable of the function", e->name));
        out.words.push_back({SizeOp::Var, it->second});
        return;
      }
      case Kind::Unary:
        if (std::optional<SizeOp> op = size_op(e->unary))
          out.words.push_back({*op, 0});
        else
          refuse(format("it uses `{}`", scalar::name(e->unary)));
        return;
      case Kind::Binary:
        if (std::optional<SizeOp> op = size_op(e->binary))
          out.words.push_back({*op, 0});
        else
          refuse(format("it uses `{}`", scalar::name(e->binary)));
        return;
      case Kind::Select: out.words.push_back({SizeOp::Select, 0}); return;
      case Kind::Cast:
        if (!e->dtype.is_int()) refuse("it is not an integer");
        return;
      case Kind::Any: return refuse("`?` is not known");
      default: return refuse("it is not arithmetic on sizes");
    }
  };
  emit(root);
  if (errors.empty() && !runtime::is_well_formed(out, index_.size())) refuse("it is too deep");
  if (!errors.empty()) return errors;
  return out;
}

std::optional<runtime::Check> SizeTranslator::check(const op::Condition& condition) const {
  Result<SizeExpr> a = (*this)(condition.a), b = (*this)(condition.b);
  if (!a || !b) return std::nullopt;
  SizeExpr holds;
  switch (condition.kind) {
    case op::Condition::Kind::Equal: holds = apply(SizeOp::Eq, *a, *b); break;
    case op::Condition::Kind::AtLeast: holds = apply(SizeOp::Le, *b, *a); break;
    case op::Condition::Kind::Multiple:
      holds = apply(SizeOp::Eq, apply(SizeOp::FloorMod, *a, *b), SizeExpr::constant(0));
      break;
  }
  if (!runtime::is_well_formed(holds, index_.size())) return std::nullopt;
  return runtime::Check{std::move(holds), condition.message()};
}

std::optional<runtime::VariableBinding> find_binding(const Expr& variable,
                                                     const std::vector<scalar::Exprs>& input_shapes) {
  for (bool itself : {true, false}) {
    for (uint32_t i = 0; i < input_shapes.size(); ++i) {
      for (uint32_t d = 0; d < input_shapes[i].size(); ++d) {
        const Expr& dim = input_shapes[i][d];
        if (itself && dim != variable) continue;
        if (const std::optional<scalar::Determined> found = scalar::determines(dim, variable))
          return runtime::VariableBinding{.input = i, .dim = d, .factor = found->factor, .offset = found->offset};
      }
    }
  }
  return std::nullopt;
}

}  // namespace relay::exec
