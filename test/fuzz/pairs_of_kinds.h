// The pairs of a node and a child that programs have, by kind, and those that the language allows.
#pragma once

#include <array>
#include <set>

#include "relay/ir/rewrite.h"

namespace relay::fuzz {

using namespace ir;

constexpr size_t expr_kinds = static_cast<size_t>(ExprKind::Op) + 1;
// The number of times that a node of one kind had a child of another.
using Coverage = std::array<std::array<int64_t, expr_kinds>, expr_kinds>;

inline void count_pairs(const Module& module, Coverage* coverage) {
  for (const auto& [name, f] : module.functions)
    ir::visit(Expr(f), [&](const Expr& e) {
      for_each_child(
          e, [&](const Expr& child) { ++(*coverage)[static_cast<size_t>(e->kind)][static_cast<size_t>(child->kind)]; });
    });
}

// True if the language has programs with such a pair.
inline bool allowed(ExprKind parent, ExprKind child) {
  static const std::set<ExprKind> leaves = {ExprKind::Constant, ExprKind::Var, ExprKind::GlobalVar,
                                            ExprKind::Constructor, ExprKind::Op};
  if (leaves.count(parent)) return false;
  if (child == ExprKind::Op) return parent == ExprKind::Call;  // an operator is not a value
  // Only tuples with a field can be projected, and only references can be read.
  if (parent == ExprKind::TupleGetItem)
    return child != ExprKind::Constant && child != ExprKind::GlobalVar && child != ExprKind::Function &&
           child != ExprKind::Constructor && child != ExprKind::RefCreate && child != ExprKind::RefWrite;
  if (parent == ExprKind::RefRead)
    return child != ExprKind::Constant && child != ExprKind::GlobalVar && child != ExprKind::Function &&
           child != ExprKind::Constructor && child != ExprKind::Tuple && child != ExprKind::RefWrite;
  return true;
}

}  // namespace relay::fuzz
