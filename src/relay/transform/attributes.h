// An attribute of a call by name: attribute<int64_t>(call, "axis", 1). Passes that know an operator read it this way.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The default when the call has no attributes; a name that the operator lacks is a bug.
template <class T>
T attribute(const ir::Call& call, std::string_view name, T otherwise) {
  if (!call.attrs) return otherwise;
  int index = call.attrs->type.find(name);
  T value{};
  bool fits = index >= 0 && ir::AttrConvert<T>::from(call.attrs->get(static_cast<size_t>(index)), &value);
  RELAY_CHECK(fits, "{} has no attribute {} of this type", call.attrs->type.name, name);
  return value;
}

}  // namespace relay::transform
