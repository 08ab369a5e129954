// The matches that a sweep over a program replaces.
#pragma once

#include "relay/ir/node_map.h"
#include "relay/pattern/pattern.h"

namespace relay::pattern {

struct Group {
  ir::Expr root;
  Match match;
  ir::Exprs inputs, inside;  // in the order of the program; a function inside is one node, its body is not among them
};

// Matches of which none overlaps with another (those nearer to the result win) and no value inside is used outside.
// Functions that a partition or the fusion of operators made are left alone. `accept` is asked last.
class Groups {
 public:
  Groups(Matcher& matcher, const ir::Expr& root, function_ref<bool(const Group&)> accept);

  // The group whose root the node is, or null.
  const Group* of(const ir::Expr& e) const {
    const size_t* i = roots_.find(e.get());
    return i ? &groups_[*i] : nullptr;
  }
  bool empty() const { return groups_.empty(); }

 private:
  void add(Group group, function_ref<bool(const Group&)> accept);

  std::unordered_map<const ir::ExprNode*, size_t> uses_;
  std::vector<Group> groups_;
  ir::NodeMap<size_t> roots_;
  ir::NodeSet taken_;
};

// With the children and what stands for the roots of groups rewritten.
ir::Expr replace(const Groups& groups, const ir::Expr& root,
                 function_ref<ir::Expr(const Group&, const ir::NodeMap<ir::Expr>& done)> make);

}  // namespace relay::pattern
