#include "relay/pattern/groups.h"

#include <algorithm>

#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"

namespace relay::pattern {

using namespace ir;

static bool is_made(const ir::Expr& e) {
  const Function* f = as<Function>(e);
  return f && (f->attrs.count("PartitionedFromPattern") || f->attrs.count(ir::attribute::primitive));
}

// Inputs before users; without the bodies of functions that are left unchanged.
static Exprs open_nodes(const ir::Expr& root) {
  Exprs nodes;
  NodeSet done;
  walk(
      root, [&](const ir::Expr& e) { return !done.contains(e.get()) && (e == root || !is_made(e)); },
      [&](const ir::Expr& e) {
        if (done.insert(e.get())) nodes.push_back(e);
      });
  return nodes;
}

// Adds the nodes on the paths from a child back to the parent that dominates it: they are not inputs, even if they are
// operands of the child.
static void between(const ir::Expr& child, const ir::Expr& parent, NodeSet* inside) {
  walk(
      child,
      [&](const ir::Expr& e) {
        return e == child || (e != parent && e->kind != ExprKind::Op && inside->insert(e.get()));
      },
      [](const ir::Expr&) {});
}

namespace {
struct Sides {
  NodeSet inputs, inside;
};
}  // namespace

// The inputs of a match and its own parts; a node that is both is a part.
static Sides sides(const Match& match) {
  Sides out;
  for (const auto& [p, turn, e] : match.entries) {
    switch (p->kind) {
      case Kind::Wildcard:
        if (p->parts.empty()) out.inputs.insert(e.get());
        break;
      case Kind::Var: out.inputs.insert(e.get()); break;
      case Kind::Either:
      case Kind::Type:
      case Kind::DType:
      case Kind::Shape:
      case Kind::Attrs:
      case Kind::Guard: break;  // classified by their parts
      case Kind::Dominates: between(e, match.at(p->parts[0], turn), &out.inside); break;
      default: (e->kind == ExprKind::Var ? out.inputs : out.inside).insert(e.get());
    }
    if (p->kind == Kind::Call && p->any)
      for (const ir::Expr& arg : as<Call>(e)->args) out.inputs.insert(arg.get());
    if (p->kind == Kind::Tuple && p->any)
      for (const ir::Expr& element : as<Tuple>(e)->elements) out.inputs.insert(element.get());
  }
  return out;
}

Groups::Groups(Matcher& matcher, const ir::Expr& root, function_ref<bool(const Group&)> accept)
    : uses_(use_counts(root)) {
  Exprs nodes = open_nodes(root);
  for (size_t i = nodes.size(); i-- > 0;) {
    if (taken_.contains(nodes[i].get())) continue;
    if (const Match* match = matcher.match(nodes[i])) add({nodes[i], *match, {}, {}}, accept);
  }
}

void Groups::add(Group group, function_ref<bool(const Group&)> accept) {
  Sides of = sides(group.match);
  NodeMap<size_t> used_inside;
  NodeSet done;
  walk(
      group.root,
      [&](const ir::Expr& e) {
        if (done.contains(e.get()) || e->kind == ExprKind::Op || e->kind == ExprKind::GlobalVar) return false;
        bool is_input = of.inputs.contains(e.get()) && !of.inside.contains(e.get());
        if (!is_input && e->kind != ExprKind::Function) return true;
        done.insert(e.get());
        (is_input ? group.inputs : group.inside).push_back(e);
        return false;
      },
      [&](const ir::Expr& e) {
        if (!done.insert(e.get())) return;
        group.inside.push_back(e);
        for_each_child(e, [&](const ir::Expr& child) { ++used_inside[child.get()]; });
      });
  auto exclusive = [](const ir::Expr& e) {
    return e->kind != ExprKind::Constant && e->kind != ExprKind::Function && e->kind != ExprKind::Op &&
           e->kind != ExprKind::Var && e->kind != ExprKind::GlobalVar && e->kind != ExprKind::Constructor;
  };
  for (const ir::Expr& e : group.inside) {
    if (taken_.contains(e.get())) return;
    if (exclusive(e) && e != group.root && used_inside[e.get()] != uses_.at(e.get())) return;
  }
  if (!accept(group)) return;
  // Bodies of functions that the pattern matches are taken as well.
  for (const Match::Entry& entry : group.match.entries)
    if (of.inside.contains(entry.e.get()) && exclusive(entry.e)) taken_.insert(entry.e.get());
  for (const ir::Expr& e : group.inside)
    if (exclusive(e)) taken_.insert(e.get());
  taken_.insert(group.root.get());
  roots_[group.root.get()] = groups_.size();
  groups_.push_back(std::move(group));
}

ir::Expr replace(const Groups& groups, const ir::Expr& root,
                 function_ref<ir::Expr(const Group&, const NodeMap<ir::Expr>& done)> make) {
  NodeMap<ir::Expr> done;
  Exprs children;
  visit(root, [&](const ir::Expr& e) {
    children.clear();
    for_each_child(e, [&](const ir::Expr& child) { children.push_back(*done.find(child.get())); });
    ir::Expr now = with_children(e, children);
    done[e.get()] = now;
    if (const Group* group = groups.of(e)) {
      now = make(*group, done);
      done[e.get()] = std::move(now);
    }
  });
  return *done.find(root.get());
}

FunctionRef replace_in(const FunctionRef& f, const Pattern& pattern, function_ref<bool(const Group&)> accept,
                       function_ref<ir::Expr(const Group&, const NodeMap<ir::Expr>& done)> make) {
  Matcher matcher(pattern);
  const Groups groups(matcher, f, accept);
  return groups.empty() ? f : FunctionRef(as<Function>(replace(groups, f, make)));
}

}  // namespace relay::pattern
