// Devices of parameters (plan_devices.cpp), for passes that add or remove parameters.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The attributes of a function that had `before` parameters and now has `after`, of which the first `in_front` are new.
// The devices in param_virtual_devices follow their parameters; new ones have none.
inline ir::DictAttrs with_param_devices(ir::DictAttrs attrs, size_t before, size_t after, size_t in_front = 0) {
  const auto found = attrs.find("param_virtual_devices");
  ir::Strings old;
  if (found == attrs.end() || !ir::AttrConvert<ir::Strings>::from(found->second, &old) || old.size() != before)
    return attrs;
  ir::Strings devices(after);
  for (size_t i = 0; i < before && in_front + i < after; ++i) devices[in_front + i] = old[i];
  found->second = std::move(devices);
  return attrs;
}

}  // namespace relay::transform
