// Traversals of expressions. None recurses natively: programs may be a million nodes deep.
#pragma once

#include <unordered_map>

#include "relay/ir/expr.h"

namespace relay::ir {

// The direct children in evaluation order (clause bodies included, patterns not).
void for_each_child(const Expr& e, function_ref<void(const Expr&)> f);
// The same node with other children in that order; the same pointer if none changed. Keeps the span, and keeps the type
// if each new child has the type of the old one: a typed node has only typed nodes below it.
Expr with_children(const Expr& e, const Exprs& children);

// Post-order, each shared node once. `rule` sees a node whose children are rewritten and returns it unchanged if it
// does not match. Parameters and let-bound variables are not visited as binders; their uses are (as Var nodes).
Expr rewrite(const Expr& root, function_ref<Expr(const Expr&)> rule);
// The same; the rule also sees the node as it was before (its type, its old children).
Expr rewrite(const Expr& root, function_ref<Expr(const Expr& before, const Expr& now)> rule);

// Visits each node once, children first.
void visit(const Expr& root, function_ref<void(const Expr&)> f);

// Calls enter before and leave after the children of a node, for passes that need scopes. Visits each use (not each
// shared node once), and skips the children if enter() returns false.
void walk(const Expr& root, function_ref<bool(const Expr&)> enter, function_ref<void(const Expr&)> leave);

// The number of uses of each node by the nodes below `root` (the root itself counts once).
std::unordered_map<const ExprNode*, size_t> use_counts(const Expr& root);

using VarMap = std::unordered_map<const ExprNode*, Expr>;
Expr substitute(const Expr& e, const VarMap& values);  // free variables replaced; binders are not renamed

std::vector<VarRef> free_vars(const Expr& e);  // in order of first use
std::vector<VarRef> bound_vars(const Expr& e);

// Structural equality up to the names of bound variables ("alpha equality"). Sharing must be the same too; spans and
// inferred types are ignored. With `map_free`, free variables are matched up as well.
bool equal(const Expr& a, const Expr& b, bool map_free = false);
bool equal(const Module& a, const Module& b);
uint64_t hash(const Expr& e);
uint64_t hash(const Module& m);

// The function with another body; the same pointer if the body is the same. Keeps the type as with_children() does.
FunctionRef with_body(const FunctionRef& f, Expr body);

}  // namespace relay::ir
