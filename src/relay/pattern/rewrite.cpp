#include "relay/ir/rewrite.h"

#include <algorithm>

#include "relay/pattern/groups.h"
#include "relay/typing/typing.h"

namespace relay::pattern {

using namespace ir;

static constexpr int max_sweeps = 100;
static constexpr size_t max_growth = 100, always_allowed = 10'000;

static size_t count_nodes(const ir::Expr& e) {
  size_t count = 0;
  visit(e, [&](const ir::Expr&) { ++count; });
  return count;
}

static Diagnostic never_ends(const ir::Expr& root, std::string message) {
  return {DiagnosticKind::not_supported,
          std::move(message),
          root->span,
          {},
          {},
          "let a rule return its argument unchanged if nothing is left to do, or apply it once (rewrite_once=True)"};
}

// Infers all types at once: the inside of a `let` alone does not determine its variable's type.
static Status give_types(const ir::Expr& e, const Module* module) {
  if (!e->type) RELAY_RETURN_IF_ERROR(typing::infer_expr(e, module));
  return ok();
}

// Applies a rule once over the program.
static Result<ir::Expr> sweep(const Rule& rule, const ir::Expr& root, const Module* module) {
  if (rule.typed || needs_types(rule.pattern)) RELAY_RETURN_IF_ERROR(give_types(root, module));
  Matcher matcher(rule.pattern, module);
  Groups groups(matcher, root, [](const Group&) { return true; });
  if (!matcher.errors().empty()) return matcher.errors();
  if (groups.empty()) return root;
  return replace(groups, root, [&](const Group& group, const NodeMap<ir::Expr>& done) {
    Match now = group.match;
    for (Match::Entry& entry : now.entries)
      if (const ir::Expr* e = done.find(entry.e.get())) entry.e = *e;
    return rule.replace(group.root, *done.find(group.root.get()), now);
  });
}

Result<ir::Expr> rewrite(const std::vector<Rule>& rules, const ir::Expr& root, const Module* module) {
  ir::Expr current = root;
  const size_t size = count_nodes(root);
  for (int i = 0; i < max_sweeps; ++i) {
    ir::Expr before = current;
    for (const Rule& rule : rules) {
      if (i > 0 && rule.once) continue;
      RELAY_ASSIGN(current, sweep(rule, current, module));
    }
    if (current == before || ir::equal(current, before)) return before;
    if (std::all_of(rules.begin(), rules.end(), [](const Rule& rule) { return rule.once; })) return current;
    if (size_t now = count_nodes(current); now > always_allowed + max_growth * size)
      return never_ends(
          root,
          format("the rules have created {} expressions from {} in {} sweeps over the program, and still change it",
                 now, size, i + 1));
  }
  return never_ends(root, format("the rules still change the program after {} sweeps over it", max_sweeps));
}

// --- partition -------------------------------------------------------------------------------------------------------
static std::string name_of(const Group& group) {
  std::string name;
  for (const ir::Expr& e : group.inside) {
    const Call* call = as<Call>(e);
    const Op* op = call ? as<Op>(call->callee) : nullptr;
    if (call) name += op ? op->name + "_" : "Call_";
    if (const TupleGetItem* item = as<TupleGetItem>(e)) name += format("TupleGetItem{}_", item->index);
    if (e->kind == ExprKind::Tuple) name += "Tuple_";
    if (e->kind == ExprKind::If) name += "If_";
    if (e->kind == ExprKind::Let) name += "Let_";
    if (e->kind == ExprKind::Function) name += "Function_";
  }
  return name;
}

// True if the group can be a function of its inputs: they are evaluated before the group.
static bool can_be_function(const Group& group) {
  if (group.inside.empty()) return false;
  bool in_order = true;  // all of the group is evaluated, and nothing is bound in it
  NodeSet bound;
  for (const ir::Expr& e : group.inside) {
    if (e->kind == ExprKind::If || e->kind == ExprKind::Let || e->kind == ExprKind::Match) in_order = false;
    if (const Let* let = as<Let>(e)) bound.insert(let->var.get());
    if (e->kind == ExprKind::Function && !free_vars(e).empty()) return false;
  }
  for (const ir::Expr& e : group.inside)
    if (e->kind == ExprKind::Match || (e->kind == ExprKind::Var && !bound.contains(e.get()))) return false;
  return std::all_of(group.inputs.begin(), group.inputs.end(), [&](const ir::Expr& e) {
    return in_order || e->kind == ExprKind::Constant || (e->kind == ExprKind::Var && !bound.contains(e.get()));
  });
}

static ir::Expr call_of(const Group& group, const NodeMap<ir::Expr>& done, DictAttrs attrs) {
  NodeMap<ir::Expr> copies;
  std::vector<VarRef> params;
  Exprs args;
  for (const ir::Expr& input : group.inputs) {
    params.push_back(ir::var(format("p{}", params.size()), input->type));
    copies[input.get()] = params.back();
    args.push_back(*done.find(input.get()));
  }
  Exprs children;
  for (const ir::Expr& e : group.inside) {
    if (e->kind == ExprKind::Function) {
      copies[e.get()] = *done.find(e.get());
      continue;
    }
    children.clear();
    for_each_child(e, [&](const ir::Expr& child) {
      const ir::Expr* copy = copies.find(child.get());
      children.push_back(copy ? *copy : child);
    });
    ir::Expr copy = with_children(e, children);
    copies[e.get()] = std::move(copy);
  }
  attrs["PartitionedFromPattern"] = name_of(group);
  return ir::call(ir::function(std::move(params), *copies.find(group.root.get()), {}, {}, std::move(attrs)),
                  std::move(args), {}, group.root->span);
}

Result<ir::Expr> partition(const Pattern& pattern, const ir::Expr& root, const DictAttrs& attrs,
                           const std::function<bool(const ir::Expr&)>& check, const Module* module) {
  if (needs_types(pattern)) RELAY_RETURN_IF_ERROR(give_types(root, module));
  Matcher matcher(pattern, module);
  Groups groups(matcher, root,
                [&](const Group& group) { return can_be_function(group) && (!check || check(group.root)); });
  if (!matcher.errors().empty()) return matcher.errors();
  return replace(groups, root,
                 [&](const Group& group, const NodeMap<ir::Expr>& done) { return call_of(group, done, attrs); });
}

}  // namespace relay::pattern
