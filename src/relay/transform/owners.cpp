#include "relay/transform/owners.h"

#include <algorithm>

#include "relay/ir/rewrite.h"
#include "relay/transform/group/dataflow.h"

namespace relay::transform {

using namespace ir;

bool is_leaf(const Expr& e) {
  switch (e->kind) {
    case ExprKind::Constant:
    case ExprKind::Var:
    case ExprKind::GlobalVar:
    case ExprKind::Op: return true;
    default: return is_closed(e);
  }
}

void for_each_part(const Expr& e, function_ref<void(const Expr&, bool)> f) {
  size_t i = 0;
  for_each_open_child(e, [&](const Expr& child) {
    bool opens = e->kind == ExprKind::Function || ((e->kind == ExprKind::If || e->kind == ExprKind::Match) && i > 0);
    bool named = e->kind == ExprKind::Call && i == 0 && child->kind == ExprKind::Constructor;
    ++i;
    if (!named) f(child, opens);
  });
}

static int opened_by(const Expr& e) {
  int count = 0;
  for_each_part(e, [&](const Expr&, bool opens) { count += opens; });
  return count;
}

Owners::Owners(const Expr& body, const Effects* effects, Sharing sharing) : effects_(effects) {
  sort(body);
  size_t written = 1;
  for (const Expr* e : order_) written += static_cast<size_t>(opened_by(*e));
  constexpr size_t any = 1000, each = 8;  // scopes, and scopes for each that is written
  if (!place_all(body, sharing, any + each * written))
    place_all(body, Sharing::Common, std::numeric_limits<size_t>::max());
  for (const Expr* e : order_) find_needs(*e);
}

bool Owners::is_repeated(const ExprNode* e) const {
  const Node* node = nodes_.find(e);
  return node && node->owners.size() > 1;
}

int Owners::inside(int scope, const Expr& e) const {
  const std::map<At, int>::const_iterator first = inner_.find({scope, e.get()});
  return first == inner_.end() ? 0 : first->second;
}

const std::vector<const Expr*>* Owners::before(int scope, const Expr& e) const {
  const std::map<At, std::vector<const Expr*>>::const_iterator found = hoisted_.find({scope, e.get()});
  return found == hoisted_.end() ? nullptr : &found->second;
}

void Owners::sort(const Expr& body) {
  NodeSet seen;
  std::vector<std::pair<const Expr*, bool>> work{{&body, false}};
  while (!work.empty()) {
    const auto [e, leaving] = work.back();
    work.pop_back();
    if (leaving) {
      Node node;
      node.quiet = is_quiet(*e);
      for_each_part(*e, [&](const Expr& child, bool opens) {
        const Node* part = nodes_.find(child.get());
        node.branches = node.branches || opens || (part && part->branches);
      });
      nodes_[e->get()] = std::move(node);
      order_.push_back(e);
    } else if (!is_leaf(*e) && seen.insert(e->get())) {
      work.emplace_back(e, true);
      const size_t begin = work.size();
      for_each_part(*e, [&](const Expr& child, bool) { work.emplace_back(&child, false); });
      std::reverse(work.begin() + static_cast<ptrdiff_t>(begin), work.end());
    }
  }
}

bool Owners::is_quiet(const Expr& e) const {
  if (effects_) return effects_->of(e) == Effect::None;
  if (e->kind == ExprKind::Function) return true;
  bool quiet = e->kind != ExprKind::RefCreate && e->kind != ExprKind::RefRead && e->kind != ExprKind::RefWrite;
  if (const Call* call = as<Call>(e))
    quiet =
        call->callee->kind == ExprKind::Op || call->callee->kind == ExprKind::Constructor || is_closed(call->callee);
  for_each_part(e, [&](const Expr& child, bool) {
    const Node* node = nodes_.find(child.get());
    quiet = quiet && (!node || node->quiet);
  });
  return quiet;
}

// False if there would be more scopes than `most`.
bool Owners::place_all(const Expr& body, Sharing sharing, size_t most) {
  scopes_ = {{-1, 0, nullptr, 0, 1}};
  inner_.clear(), shared_ = {};
  for (const Expr* e : order_) {
    Node& node = nodes_[e->get()];
    node.uses.clear(), node.owners.clear(), node.stays = false;
  }
  if (Node* root = nodes_.find(body.get())) root->uses.push_back(0);
  for (size_t i = order_.size(); i-- > 0;) {  // users come before their operands
    place(*order_[i], sharing);
    if (scopes_.size() > most) return false;
  }
  return true;
}

void Owners::place(const Expr& e, Sharing sharing) {
  Node& node = nodes_[e.get()];
  if (node.uses.size() > 1) {
    for (int scope : reduced(node)) node.owners.push_back(scope);
    if (node.owners.size() > 1 && sharing == Sharing::Common && node.quiet && !node.stays && node.branches)
      node.owners = {common(node.owners)}, shared_.insert(e.get());
  } else {
    node.owners = node.uses;
  }
  const std::vector<int>& owners = node.owners;
  const bool stays = owners.size() > 1 && (node.stays || !node.quiet);
  std::vector<int> first;
  if (const int opened = opened_by(e); opened > 0)
    for (int owner : owners) {
      first.push_back(static_cast<int>(scopes_.size()));
      inner_[{owner, e.get()}] = first.back();
      for (int i = 0; i < opened; ++i) scopes_.push_back({owner, at(owner).depth + 1, e.get(), i, opened});
    }
  int branch = 0;
  for_each_part(e, [&](const Expr& child, bool opens) {
    if (Node* operand = nodes_.find(child.get())) {
      operand->stays = operand->stays || stays;
      for (size_t i = 0; i < owners.size(); ++i) operand->uses.push_back(opens ? first[i] + branch : owners[i]);
    }
    branch += opens;
  });
}

// True for a branch of several of an `if` or `match`.
bool Owners::is_branch(const Scope& s) const {
  return s.opener && s.count > 1 && (s.opener->kind == ExprKind::If || s.opener->kind == ExprKind::Match);
}

std::set<int> Owners::reduced(const Node& node) const {
  std::set<int> scopes(node.uses.begin(), node.uses.end());
  if (node.quiet && !node.stays)
    for (std::set<int>::iterator it = scopes.end(); it != scopes.begin();) {  // inner scopes have larger numbers
      const int last = *--it;
      const Scope& s = at(last);
      if (!is_branch(s) || s.clause + 1 != s.count) continue;
      const std::set<int>::iterator begin = scopes.find(last - s.clause);
      if (begin == scopes.end() || std::distance(begin, it) + 1 != s.count) continue;
      scopes.insert(s.parent);
      it = scopes.erase(begin, std::next(it));
    }
  if (scopes.size() == 1) return scopes;
  std::set<int> out;
  for (int scope : scopes) {
    int outer = at(scope).parent;
    while (outer >= 0 && !scopes.contains(outer)) outer = at(outer).parent;
    if (outer < 0) out.insert(scope);
  }
  return out;
}

// The innermost scope around all of them.
int Owners::common(const std::vector<int>& scopes) const {
  int out = scopes[0];
  for (int scope : scopes)
    while (out != scope) {
      int& deeper = at(out).depth >= at(scope).depth ? out : scope;
      deeper = at(deeper).parent;
    }
  return out;
}

// A node whose owner is outside of a scope that uses it is computed before the node that opens the scope.
void Owners::find_needs(const Expr& e) {
  const Node& node = *nodes_.find(e.get());
  for (int use : node.uses) {
    int owner = use;
    while (std::find(node.owners.begin(), node.owners.end(), owner) == node.owners.end()) owner = at(owner).parent;
    if (owner != use) need(e, use, owner);
  }
}

void Owners::need(const Expr& e, int scope, int owner) {
  for (; at(scope).parent != owner; scope = at(scope).parent)
    if (!passing_.insert({scope, e.get()}).second) return;
  if (passing_.insert({scope, e.get()}).second) hoisted_[{owner, at(scope).opener}].push_back(&e);
}

}  // namespace relay::transform
