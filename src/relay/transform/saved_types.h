// Keeps a module as its owner gave it, whatever passes do: types are stored in nodes, and a pass's result shares nodes
// with its input.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The types of a module's nodes. They are restored at the end of its life at the latest.
class SavedTypes {
 public:
  explicit SavedTypes(const ir::Module& module);
  ~SavedTypes() { restore(); }
  SavedTypes(const SavedTypes&) = delete;
  SavedTypes& operator=(const SavedTypes&) = delete;
  // True if one had changed.
  bool restore();

 private:
  struct Saved {
    ir::Expr node;
    ir::Type type;
    ir::Types type_args;
  };
  std::vector<Saved> nodes_;
};

// A copy of the node, before inference.
ir::Expr without_type(const ir::Expr& node);
// A copy of the module that shares no typed node with it, before inference.
ir::Module without_types(const ir::Module& module);
// The same with its types. Threads may infer and change the types of either.
ir::Module separate_copy(const ir::Module& module);
ir::FunctionRef separate_copy(const ir::FunctionRef& function);

}  // namespace relay::transform
