// What becomes of the nodes of a foreign model that are no call of an operator in the module. The others say themselves
// where they come from: every call has the place of its node.
#pragma once

#include <map>
#include <memory>

#include "relay/frontend/common/value.h"

namespace relay::frontend {

class NodeFates {
 public:
  // A node at `place` was converted; its fate is decided by all of its conversions (a loop's body has several).
  // `has_nodes`: it has nodes of its own, which are converted too.
  void converted(const Span& place, const Values& inputs, const Values& results, bool has_nodes);
  // A node that no conversion reached.
  void not_reached(const std::string& node);
  // Adds the two lists of ir/import_notes.h to the module's attributes.
  void note(ir::Module& module) const;

 private:
  struct Node {
    std::string name;
    std::vector<std::shared_ptr<const std::string>> places;  // of its conversions: Span::node, kept alive
    bool is_reached = false, has_nodes = false, is_passed_on = true, is_known = true;
  };
  Node& node(const std::string& name);

  std::vector<Node> nodes_;  // in the order of the model
  std::map<std::string, size_t> index_;
};

}  // namespace relay::frontend
