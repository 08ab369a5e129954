// Matching: goals (a pattern and an expression) are kept in a list. Alternatives are kept as choices with their own
// lists, and a failed goal backtracks to the last choice.
#include <algorithm>

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/pattern/pattern.h"
#include "relay/typing/typing.h"

namespace relay::pattern {

using namespace ir;

// The results for one dominator pattern, remembered for every visited node, so that all queries about a program
// together take time linear in its size.
struct Matcher::Paths {
  Matcher parent, path;
  NodeMap<ir::Expr> reached;  // by node: the parent at which all paths back from it meet; null if they do not
  Exprs alive;                // the keys

  void find(const ir::Expr& root);
  ir::Expr of(const ir::Expr& e);
  // The common parent of all inputs, or null.
  ir::Expr common(const ir::Expr& e) {
    ir::Expr result;
    bool good = true, first = true;
    for_each_child(e, [&](const ir::Expr& child) {
      if (child->kind == ExprKind::Op) return;
      ir::Expr one = of(child);
      good = good && one && (first || one == result);
      result = one, first = false;
    });
    return good && !first ? result : nullptr;
  }
};

ir::Expr Matcher::Paths::of(const ir::Expr& e) {
  if (!reached.contains(e.get())) find(e);
  return *reached.find(e.get());
}

void Matcher::Paths::find(const ir::Expr& root) {
  std::vector<std::pair<ir::Expr, bool>> stack{{root, false}};
  while (!stack.empty()) {
    auto [e, leaving] = stack.back();
    stack.pop_back();
    if (reached.contains(e.get())) continue;
    if (leaving) {
      ir::Expr parent_of = common(e);
      reached[e.get()] = parent_of;
      alive.push_back(e);
    } else if (parent.match(e)) {
      reached[e.get()] = e;
      alive.push_back(e);
    } else if (!path.match(e)) {
      reached[e.get()] = nullptr;
      alive.push_back(e);
    } else {
      stack.push_back({e, true});
      for_each_child(e, [&](const ir::Expr& child) {
        if (child->kind != ExprKind::Op) stack.push_back({child, false});
      });
    }
  }
}

Matcher::Matcher(Pattern pattern, const Module* module) : pattern_(std::move(pattern)), module_(module) {}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;

int Matcher::add(const Node* pattern, const ir::Expr& e, int turn, int next, bool after) {
  goals_.push_back({pattern, e, turn, next, after});
  return static_cast<int>(goals_.size()) - 1;
}

// Matches parts[first + i] against e[i], in this order.
int Matcher::add(const Patterns& parts, size_t first, const Exprs& e, int turn, int next) {
  for (size_t i = e.size(); i-- > 0;) next = add(parts[first + i].get(), e[i], turn, next);
  return next;
}

const Match* Matcher::match(const ir::Expr& e) {
  // Erases one by one: clearing a map takes time in the most entries that it ever held.
  for (const Match::Entry& entry : match_.entries) bound_.erase({entry.pattern, entry.turn});
  goals_.clear(), choices_.clear(), match_.entries.clear();
  turns_ = 0;
  int current = add(pattern_.get(), e, 0, -1);
  while (current >= 0) {
    Goal goal = goals_[static_cast<size_t>(current)];
    if (step(goal, &current)) continue;
    current = last_choice();
    if (current < 0) return nullptr;
  }
  return &match_;
}

// Backtracks to the last remaining choice; -1 if there is none.
int Matcher::last_choice() {
  int goals = -1;
  while (goals < 0 && !choices_.empty()) {
    const Choice& choice = choices_.back();
    for (; match_.entries.size() > choice.entries; match_.entries.pop_back())
      bound_.erase({match_.entries.back().pattern, match_.entries.back().turn});
    if (choice.redirected) redirected_.try_emplace({choice.redirected, choice.e}, false);
    goals = choice.goals;
    choices_.pop_back();
  }
  return goals;
}

bool Matcher::step(const Goal& goal, int* next) {
  *next = goal.next;
  if (goal.after) return last_questions(goal, next);
  auto [known, is_new] = bound_.try_emplace({goal.pattern, goal.turn}, match_.entries.size());
  if (!is_new) {
    const ir::Expr& e = match_.entries[known->second].e;
    return e == goal.e || (goal.e->kind == ExprKind::Constant && ir::equal(e, goal.e));
  }
  match_.entries.push_back({goal.pattern, goal.turn, goal.e});  // before the choices below it, which keep it
  return structure(goal, next);
}

bool Matcher::structure(const Goal& goal, int* next) {
  const Node& p = *goal.pattern;
  const ir::Expr& e = goal.e;
  switch (p.kind) {
    case Kind::Wildcard:
      if (p.parts.empty()) return true;
      if (auto known = redirected_.find({&p, e}); known != redirected_.end() && !known->second) return false;
      choices_.push_back({-1, match_.entries.size(), &p, e});
      *next = add(p.parts[0].get(), e, ++turns_, add(&p, e, goal.turn, *next, true));
      return true;
    case Kind::Expr: return p.expr == e || (p.expr->kind == e->kind && ir::equal(p.expr, e));
    case Kind::Var: return as<Var>(e) && (p.name.empty() || p.name == as<Var>(e)->name);
    case Kind::Constant: return e->kind == ExprKind::Constant;
    case Kind::Call: return call(goal, next);
    case Kind::Function: {
      const Function* f = as<Function>(e);
      if (!f || (!p.any && f->params.size() + 1 != p.parts.size())) return false;
      *next = add(p.parts[0].get(), f->body, goal.turn, *next);
      if (!p.any) *next = add(p.parts, 1, Exprs(f->params.begin(), f->params.end()), goal.turn, *next);
      return true;
    }
    case Kind::If: {
      const If* i = as<If>(e);
      if (i) *next = add(p.parts, 0, {i->condition, i->then_branch, i->else_branch}, goal.turn, *next);
      return i;
    }
    case Kind::Let: {
      const Let* l = as<Let>(e);
      if (l) *next = add(p.parts, 0, {l->var, l->value, l->body}, goal.turn, *next);
      return l;
    }
    case Kind::Tuple: {
      const Tuple* t = as<Tuple>(e);
      if (!t || (!p.any && t->elements.size() != p.parts.size())) return false;
      if (!p.any) *next = add(p.parts, 0, t->elements, goal.turn, *next);
      return true;
    }
    case Kind::Get: {
      const TupleGetItem* item = as<TupleGetItem>(e);
      if (!item || (p.index >= 0 && item->index != p.index)) return false;
      *next = add(p.parts[0].get(), item->tuple, goal.turn, *next);
      return true;
    }
    case Kind::Either:
      choose(add(p.parts[1].get(), e, goal.turn, *next));
      *next = add(p.parts[0].get(), e, goal.turn, *next);
      return true;
    case Kind::Type:
    case Kind::DType:
    case Kind::Shape:
    case Kind::Attrs:
    case Kind::Guard: *next = add(p.parts[0].get(), e, goal.turn, add(&p, e, goal.turn, *next, true)); return true;
    case Kind::Dominates: *next = add(p.parts[2].get(), e, goal.turn, add(&p, e, goal.turn, *next, true)); return true;
  }
  return false;
}

// --- calls -----------------------------------------------------------------------------------------------------------
static const Op* op_of(const Node& p) {
  return p.kind == Kind::Call && p.parts[0]->kind == Kind::Expr ? as<Op>(p.parts[0]->expr) : nullptr;
}
static const Call* call_of(const ir::Expr& e, std::string_view name) {
  const Call* c = as<Call>(e);
  const Op* op = c ? as<Op>(c->callee) : nullptr;
  return op && op->name == name ? c : nullptr;
}
static bool commutes(const ir::Expr& callee) {
  const Op* op = as<Op>(callee);
  return op && (op->name == "add" || op->name == "multiply");
}

bool Matcher::call(const Goal& goal, int* next) {
  const Node& p = *goal.pattern;
  const Call* c = as<Call>(goal.e);
  if (!c) return false;
  const int rest = *next, turn = goal.turn;
  bool in_order = p.any || c->args.size() + 1 == p.parts.size();
  // For another operator, only the other grouping is left to try.
  const Op* wanted = op_of(p);
  if (wanted && c->callee.get() != wanted) in_order = false;
  size_t before = choices_.size();
  if (wanted) associate(goal, *c);
  if (!in_order) {
    if (choices_.size() == before) return false;
    *next = choices_.back().goals;
    choices_.pop_back();
    return true;
  }
  if (p.any) {
    *next = add(p.parts[0].get(), c->callee, turn, rest);
    return true;
  }
  if (commutes(c->callee) && c->args.size() == 2)
    choose(add(p.parts[0].get(), c->callee, turn, add(p.parts, 1, {c->args[1], c->args[0]}, turn, rest)));
  *next = add(p.parts[0].get(), c->callee, turn, add(p.parts, 1, c->args, turn, rest));
  return true;
}

// Matches (p0 * p1) / p2 against x * (y / z), and p0 * (p1 / p2) against (x * y) / z. The inner pattern has no
// corresponding expression and is not bound.
void Matcher::associate(const Goal& goal, const Call& c) {
  const Node& p = *goal.pattern;
  if (p.any || p.parts.size() != 3 || c.args.size() != 2) return;
  const Op *outer = op_of(p), *callee = as<Op>(c.callee);
  if (!callee) return;
  // matches x against a, y against b, z against c
  auto propose = [&](const Pattern& a, const ir::Expr& x, const Pattern& b, const ir::Expr& y, const Pattern& divisor,
                     const ir::Expr& z) {
    int last = add(divisor.get(), z, goal.turn, goal.next);
    choose(add(a.get(), x, goal.turn, add(b.get(), y, goal.turn, last)));
  };
  if (outer->name == "divide" && callee->name == "multiply") {
    const Op* inner = op_of(*p.parts[1]);
    if (!inner || inner->name != "multiply" || p.parts[1]->parts.size() != 3) return;
    const Patterns& product = p.parts[1]->parts;
    for (size_t i = 0; i < 2; ++i)
      if (const Call* quotient = pattern::call_of(c.args[i], "divide"))
        for (size_t swap = 0; swap < 2; ++swap)
          propose(product[1 + swap], c.args[1 - i], product[2 - swap], quotient->args[0], p.parts[2],
                  quotient->args[1]);
  } else if (outer->name == "multiply" && callee->name == "divide") {
    const Call* product = pattern::call_of(c.args[0], "multiply");
    for (size_t i = 1; product && i < 3; ++i) {
      const Node& quotient = *p.parts[i];
      const Op* inner = op_of(quotient);
      if (!inner || inner->name != "divide" || quotient.parts.size() != 3) continue;
      for (size_t swap = 0; swap < 2; ++swap)
        propose(p.parts[3 - i], product->args[swap], quotient.parts[1], product->args[1 - swap], quotient.parts[2],
                c.args[1]);
    }
  }
}

// --- conditions ------------------------------------------------------------------------------------------------------
const Type& Matcher::type_of(const ir::Expr& e) {
  if (e->type || e->kind == ExprKind::Op) return e->type;
  Result<Type> type = typing::infer_expr(e, module_);
  if (!type && errors_.empty()) errors_ = type.errors();
  return e->type;
}

static std::optional<double> number(const AttrValue& v) {
  if (const bool* b = std::get_if<bool>(&v)) return *b;
  if (const int64_t* i = std::get_if<int64_t>(&v)) return static_cast<double>(*i);
  if (const double* d = std::get_if<double>(&v)) return *d;
  return std::nullopt;
}

// Equality of values as a program would write them: 1 is True, [1, 2] is a shape.
static bool same_value(const AttrValue& a, const AttrValue& b) {
  if (ir::equal(a, b)) return true;
  std::optional<double> x = number(a), y = number(b);
  return x && y ? *x == *y : str(a) == str(b);
}

static std::optional<AttrValue> attribute(const ir::Expr& e, const std::string& name) {
  if (const Op* op = as<Op>(e)) {
    if (name != "TOpPattern") return std::nullopt;
    int64_t fusion = op->def->fusion == op::Fusion::Opaque ? 8 : static_cast<int64_t>(op->def->fusion);
    return AttrValue(fusion);
  }
  if (const Function* f = as<Function>(e)) {
    auto found = f->attrs.find(name);
    return found == f->attrs.end() ? std::nullopt : std::optional(found->second);
  }
  const Call* c = as<Call>(e);
  const Op* op = c ? as<Op>(c->callee) : nullptr;
  if (!op || !op->def->attrs_type) return std::nullopt;
  int field = op->def->attrs_type->find(name);
  if (field < 0) return std::nullopt;
  size_t index = static_cast<size_t>(field);
  return c->attrs ? c->attrs->get(index) : op->def->attrs_type->fields[index].default_value;
}

bool Matcher::conditions(const Node& p, const ir::Expr& e) {
  if (p.kind == Kind::Attrs)
    return std::all_of(p.attrs.begin(), p.attrs.end(), [&](const auto& wanted) {
      std::optional<AttrValue> value = attribute(e, wanted.first);
      return value && same_value(*value, wanted.second);
    });
  Type type = type_of(e);
  if (!type) return false;
  if (p.kind == Kind::Type) return ir::equal(type, p.type);
  const TensorType* tensor = as<TensorType>(type);
  if (!tensor) return false;
  if (p.kind == Kind::DType) return tensor->dtype == p.dtype;
  return ir::equal(type, tensor_type(p.shape, tensor->dtype));
}

bool Matcher::last_questions(const Goal& goal, int* next) {
  const Node& p = *goal.pattern;
  if (p.kind == Kind::Guard) return p.guard(goal.e);
  if (p.kind == Kind::Wildcard) return redirected_[{&p, goal.e}] = true;
  if (p.kind != Kind::Dominates) return conditions(p, goal.e);
  std::unique_ptr<Paths>& paths = paths_[&p];
  if (!paths) paths.reset(new Paths{Matcher(p.parts[0], module_), Matcher(p.parts[1], module_), {}, {}});
  ir::Expr parent = paths->common(goal.e);
  if (!parent) return false;
  *next = add(p.parts[0].get(), parent, goal.turn, *next);
  return true;
}

}  // namespace relay::pattern
