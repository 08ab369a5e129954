// The matches that one sweep over a program replaces.
#pragma once

#include "relay/ir/node_map.h"
#include "relay/pattern/pattern.h"

namespace relay::pattern {

struct Group {
  ir::Expr root;
  Match match;
  ir::Exprs inputs, inside;  // in program order; a function inside is one node, without its body
};

// Matches that do not overlap (those nearer to the result win) and of which no inner value is used outside. Functions
// made by a partition or by operator fusion are left unchanged. `accept` is called last.
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

// The expression with groups replaced; children are rewritten first.
ir::Expr replace(const Groups& groups, const ir::Expr& root,
                 function_ref<ir::Expr(const Group&, const ir::NodeMap<ir::Expr>& done)> make);

// The function with the matches of a pattern replaced that `accept` takes; the function itself if there is none.
ir::FunctionRef replace_in(const ir::FunctionRef& f, const Pattern& pattern, function_ref<bool(const Group&)> accept,
                           function_ref<ir::Expr(const Group&, const ir::NodeMap<ir::Expr>& done)> make);

}  // namespace relay::pattern
