// Names for the parts of an expression that are used more than once.
#pragma once

#include "relay/scalar/expr.h"

namespace relay::scalar {

// An expression with some of its parts replaced by variables.
struct Named {
  std::vector<Binding> parts;  // a part uses only parts before it
  Expr value;
};

// An expression is a graph, and written out as a tree it can be exponentially larger: ten times `v = v * v + v` is one
// of 2,047 nodes. If the tree of `e` has more than this number of nodes, its shared parts are named, and the text and
// the code of the result grow with the graph.
inline constexpr double largest_tree = 4096;

// Names the shared parts of `e` if its tree is too large, and returns it unchanged otherwise. A part is then computed
// even where a select would not have computed it. A part that is used only in the branches of selects is therefore
// named only if `is_safe` holds for each of its loads. `name` returns the name of the part with this number.
Named name_shared(const Expr& e, function_ref<bool(const Expr& load)> is_safe,
                  function_ref<std::string(size_t part)> name);

}  // namespace relay::scalar
