// The help for an operator that is used as a value: "wrap it: fn (%x, %y) { add(%x, %y) }".
#pragma once

#include <string>
#include <vector>

#include "relay/op/op.h"
#include "relay/op/registry.h"

namespace relay::typing {

inline std::string how_to_wrap(const std::string& name) {
  std::vector<std::string> params;
  if (const op::OpDef* def = op::find(name))
    for (const op::Input& input : def->inputs) params.push_back("%" + input.name);
  std::string list = format("{}", join(params, ", "));
  return format("wrap it: fn ({}) {{ {}({}) }}", list, name, list);
}

}  // namespace relay::typing
