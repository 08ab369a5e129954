// The fates of nodes of a foreign model that are not operator calls in the module. Calls record their own origin: every
// call has the place of its node.
#pragma once

#include <map>
#include <memory>

#include "relay/frontend/common/value.h"

namespace relay::frontend {

class NodeFates {
 public:
  // Records that a node at `place` was converted. Its fate depends on all of its conversions (a loop's body has
  // several). `has_nodes`: it contains nodes, which are converted too.
  void converted(const Span& place, const Values& inputs, const Values& results, bool has_nodes);
  // Records a node that was not converted.
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
