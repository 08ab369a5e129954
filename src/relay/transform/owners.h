// The scopes of a function that compute each of its nodes, where values have no names: for passes that give them names.
#pragma once

#include <map>
#include <set>

#include "relay/ir/node_map.h"
#include "relay/transform/control/effects.h"

namespace relay::transform {

// True for a node that is not computed: a variable, a constant, a callee, a closed function.
bool is_leaf(const ir::Expr& e);
// Calls f(child, opens), where `opens` is true if the child opens a scope. The constructor that a call names is not an
// operand.
void for_each_part(const ir::Expr& e, function_ref<void(const ir::Expr&, bool)> f);

// The place of a node that only inner scopes use.
enum class Sharing : uint8_t {
  Strict,  // the scopes that use it, or the one around a branching node of which every branch uses it
  Common,  // the same, but one scope if there are branches below the node: the innermost around all that use it
};

// A node belongs to each scope that uses it, except for scopes inside another such scope. A node that every branch of
// an `if` or `match` uses belongs to the enclosing scope, which computes it before branching. Nodes with effects stay
// in the branches.
//
// Each scope that computes a branching node has branches of its own, so code may double with each branch in a row. Far
// too many scopes are therefore not made: the function is then treated as with Sharing::Common.
class Owners {
 public:
  struct Scope {
    int parent, depth;
    const ir::ExprNode* opener;
    int clause;  // of the match that opens it
    int count;   // of the scopes that the opener opens here; their numbers are consecutive
  };

  // `effects` has analysed the function; without it, calls of functions are assumed to have an effect.
  Owners(const ir::Expr& body, const Effects* effects, Sharing sharing);

  const Scope& at(int scope) const { return scopes_[static_cast<size_t>(scope)]; }
  // True if several scopes compute it.
  bool is_repeated(const ir::ExprNode* e) const;
  // True if it would be, but for Sharing::Common.
  bool is_shared(const ir::ExprNode* e) const { return shared_.contains(e); }
  // The first scope that `e` opens in `scope`; 0 if it opens none.
  int inside(int scope, const ir::Expr& e) const;
  // The nodes that `scope` computes before `e`, since scopes that `e` opens use them; null if there are none.
  const std::vector<const ir::Expr*>* before(int scope, const ir::Expr& e) const;

 private:
  using At = std::pair<int, const ir::ExprNode*>;  // a node in the scope that owns it
  struct Node {
    std::vector<int> uses, owners;  // scopes
    bool quiet = true;              // has no effect
    bool branches = false;          // opens scopes, or a node below it does
    bool stays = false;             // below a node that several scopes must each compute
  };

  void sort(const ir::Expr& body);
  bool is_quiet(const ir::Expr& e) const;
  bool place_all(const ir::Expr& body, Sharing sharing, size_t most);
  void place(const ir::Expr& e, Sharing sharing);
  bool is_branch(const Scope& s) const;
  std::set<int> reduced(const Node& node) const;
  int common(const std::vector<int>& scopes) const;
  void find_needs(const ir::Expr& e);
  void need(const ir::Expr& e, int scope, int owner);

  const Effects* effects_;
  std::vector<const ir::Expr*> order_;  // operands first
  ir::NodeMap<Node> nodes_;
  ir::NodeSet shared_;
  std::vector<Scope> scopes_;
  std::map<At, int> inner_;
  std::map<At, std::vector<const ir::Expr*>> hoisted_;
  std::set<At> passing_;  // pairs that need() has handled
};

}  // namespace relay::transform
