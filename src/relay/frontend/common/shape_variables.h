// The sizes of a model's inputs that are not numbers: one shape variable per name, and a separate one for each size
// without a name.
#pragma once

#include <map>

#include "relay/frontend/common/scopes.h"

namespace relay::frontend {

class ShapeVariables {
 public:
  // Sets the value that replaces a name's variable. Must be called before the name is first requested.
  void bind(std::string_view name, int64_t value) { dims_[std::string(name)] = scalar::imm(value); }
  std::optional<int64_t> value(std::string_view name) const;
  // The dimension of a name: the same wherever the name occurs.
  ir::Dim named(std::string_view name);
  // A new variable, named after `wanted`.
  ir::Dim fresh(std::string_view wanted) { return scalar::var(names_(wanted)); }

  // The variables in the type of this parameter are read from it at run time.
  void add_parameter(const ir::VarRef& param);
  // A size as an int64 scalar that is computed at run time; null if one of its variables cannot be read. Floats in it
  // have the type `real`.
  ir::Expr expression(const ir::Dim& size, const Span& place, DType real) const;

 private:
  struct Place {
    ir::Dim dim;
    ir::VarRef param;
    int64_t axis;
  };
  UniqueNames names_{"d"};
  std::map<std::string, ir::Dim, std::less<>> dims_;  // by the model's name
  std::vector<Place> places_;
};

}  // namespace relay::frontend
