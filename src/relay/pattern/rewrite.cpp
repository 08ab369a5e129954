#include <algorithm>

#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/pattern/pattern.h"
#include "relay/typing/typing.h"

namespace relay::pattern {

using namespace ir;

static constexpr int max_sweeps = 100;

Result<ir::Expr> rewrite(const std::vector<Rule>& rules, const ir::Expr& root, const Module* module) {
  ir::Expr current = root;
  bool typed = std::any_of(rules.begin(), rules.end(), [](const Rule& r) { return r.typed; });
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    if (typed && !current->type) RELAY_RETURN_IF_ERROR(typing::infer_expr(current, module));
    std::vector<Matcher> matchers;
    std::vector<const Rule*> active;
    for (const Rule& rule : rules)
      if (sweep == 0 || !rule.once) matchers.emplace_back(rule.pattern, module), active.push_back(&rule);
    if (active.empty()) return current;
    ir::Expr next = ir::rewrite(current, [&](const ir::Expr& before, const ir::Expr& now) {
      ir::Expr e = now;
      for (size_t i = 0; i < active.size(); ++i)
        if (const Match* match = matchers[i].match(e)) {
          Match own = *match;  // the rule may match with patterns that share nodes
          e = active[i]->replace(before, e, own);
        }
      return e;
    });
    for (const Matcher& m : matchers)
      if (!m.errors().empty()) return m.errors();
    if (next == current || ir::equal(next, current)) return current;
    current = std::move(next);
  }
  return Diagnostic{DiagnosticKind::not_supported,
                    format("the rules still change the program after {} sweeps over it", max_sweeps),
                    root->span,
                    {},
                    {},
                    "let a rule give back what it was given where nothing is left to do, or apply it once "
                    "(rewrite_once=True)"};
}

namespace {

// Matches that become functions.
class Partition {
 public:
  explicit Partition(const ir::Expr& root) : root_(root), uses_(use_counts(root)) {}

  void find(Matcher& matcher, const std::function<bool(const ir::Expr&)>& check) {
    Exprs nodes = open_nodes();
    for (size_t i = nodes.size(); i-- > 0;) {
      if (taken_.contains(nodes[i].get())) continue;
      const Match* match = matcher.match(nodes[i]);
      if (match) add(nodes[i], *match, check);
    }
  }

  ir::Expr result(const DictAttrs& attrs) {
    NodeMap<ir::Expr> done;
    Exprs children;
    visit(root_, [&](const ir::Expr& e) {
      children.clear();
      for_each_child(e, [&](const ir::Expr& child) { children.push_back(*done.find(child.get())); });
      const size_t* group = roots_.find(e.get());
      ir::Expr now = group ? call_of(groups_[*group], done, attrs) : with_children(e, children);
      done[e.get()] = std::move(now);
    });
    return *done.find(root_.get());
  }

 private:
  struct Group {
    ir::Expr root;
    Exprs inputs, inside;  // in the order of the program
  };

  // Inputs before users; nothing inside of functions that a partition made.
  Exprs open_nodes() const {
    Exprs nodes;
    NodeSet closed;
    walk_open([&](const ir::Expr& e) { nodes.push_back(e); });
    return nodes;
  }
  void walk_open(const std::function<void(const ir::Expr&)>& f) const {
    NodeSet done;
    walk(
        root_,
        [&](const ir::Expr& e) {
          if (done.contains(e.get())) return false;
          const Function* function = as<Function>(e);
          return !function || !(function->attrs.count("PartitionedFromPattern") || function->attrs.count("Primitive"));
        },
        [&](const ir::Expr& e) {
          if (done.insert(e.get())) f(e);
        });
  }

  void add(const ir::Expr& root, const Match& match, const std::function<bool(const ir::Expr&)>& check) {
    NodeSet inputs, inside;
    for (const auto& [p, e] : match.all()) {
      bool is_input = p->kind == Kind::Wildcard || p->kind == Kind::Var;
      (is_input ? inputs : inside).insert(e.get());
      if (p->kind == Kind::Call && p->any)
        for (const ir::Expr& arg : as<Call>(e)->args) inputs.insert(arg.get());
      if (p->kind == Kind::Tuple && p->any)
        for (const ir::Expr& element : as<Tuple>(e)->elements) inputs.insert(element.get());
    }
    for (const auto& [p, e] : match.all())
      if (p->kind == Kind::Dominates) between(e, match.at(p->parts[0]), &inside);
    Group group{root, {}, {}};
    std::unordered_map<const ExprNode*, size_t> used_inside;
    NodeSet done;
    walk(
        root,
        [&](const ir::Expr& e) {
          if (done.contains(e.get()) || e->kind == ExprKind::Op || e->kind == ExprKind::GlobalVar) return false;
          if (inputs.contains(e.get()) && !inside.contains(e.get())) {
            done.insert(e.get());
            group.inputs.push_back(e);
            return false;
          }
          return true;
        },
        [&](const ir::Expr& e) {
          if (!done.insert(e.get())) return;
          group.inside.push_back(e);
          for_each_child(e, [&](const ir::Expr& child) { ++used_inside[child.get()]; });
        });
    for (const ir::Expr& e : group.inside) {
      bool shareable = e->kind == ExprKind::Constant || e == root;
      if (taken_.contains(e.get()) || e->kind == ExprKind::Var) return;
      if (!shareable && used_inside[e.get()] != uses_.at(e.get())) return;
    }
    if (check && !check(root)) return;
    for (const ir::Expr& e : group.inside)
      if (e->kind != ExprKind::Constant) taken_.insert(e.get());
    roots_[root.get()] = groups_.size();
    groups_.push_back(std::move(group));
  }

  // What stands on the ways from a child back to the parent that dominates it: not inputs, whatever the child calls them.
  static void between(const ir::Expr& child, const ir::Expr& parent, NodeSet* inside) {
    walk(
        child,
        [&](const ir::Expr& e) {
          if (e == child) return true;
          return e != parent && e->kind != ExprKind::Op && inside->insert(e.get());
        },
        [](const ir::Expr&) {});
  }

  static std::string name_of(const Group& group) {
    std::string name;
    for (const ir::Expr& e : group.inside) {
      const Call* call = as<Call>(e);
      if (const Op* op = call ? as<Op>(call->callee) : nullptr) name += op->name + "_";
      if (const TupleGetItem* item = as<TupleGetItem>(e)) name += format("TupleGetItem{}_", item->index);
      if (e->kind == ExprKind::Tuple) name += "Tuple_";
    }
    return name;
  }

  ir::Expr call_of(const Group& group, const NodeMap<ir::Expr>& done, DictAttrs attrs) const {
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

  ir::Expr root_;
  std::unordered_map<const ExprNode*, size_t> uses_;
  std::vector<Group> groups_;
  NodeMap<size_t> roots_;  // the last node of a group -> the group
  NodeSet taken_;
};

}  // namespace

Result<ir::Expr> partition(const Pattern& pattern, const ir::Expr& root, const DictAttrs& attrs,
                           const std::function<bool(const ir::Expr&)>& check, const Module* module) {
  Matcher matcher(pattern, module);
  Partition partition(root);
  partition.find(matcher, check);
  if (!matcher.errors().empty()) return matcher.errors();
  return partition.result(attrs);
}

}  // namespace relay::pattern
