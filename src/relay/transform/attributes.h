// Reads and changes attributes of operator calls:
//
//   const Call* pad = call_of(e, "nn.pad");                                    null if `e` is something else
//   std::string mode = attribute<std::string>(*pad, "pad_mode", "constant");
//   Attrs attrs = with_attributes(*pad, {{"pad_mode", "edge"}});               keeps the others
#pragma once

#include <algorithm>

#include "relay/ir/call_of.h"
#include "relay/op/op.h"

namespace relay::transform {

using ir::call_of;

// The default if the call has no attributes; an unknown name is a bug.
template <class T>
T attribute(const ir::Call& call, std::string_view name, T otherwise) {
  if (!call.attrs) return otherwise;
  int index = call.attrs->type.find(name);
  T value{};
  bool fits = index >= 0 && ir::AttrConvert<T>::from(call.attrs->get(static_cast<size_t>(index)), &value);
  RELAY_CHECK(fits, "{} has no attribute {} of this type", call.attrs->type.name, name);
  return value;
}

using Changes = std::vector<std::pair<std::string, ir::AttrValue>>;

// For the same operator, which must have these attributes; a wrong name or type is a bug.
inline ir::Attrs with_attributes(const ir::Call& call, const Changes& changes) {
  const ir::AttrsType& type = *ir::as<ir::Op>(call.callee)->def->attrs_type;
  Changes values = changes;
  auto kept = [&](const char* name) {
    return std::none_of(changes.begin(), changes.end(), [&](const auto& change) { return change.first == name; });
  };
  for (size_t i = 0; call.attrs && i < type.fields.size(); ++i)
    if (kept(type.fields[i].name)) values.push_back({type.fields[i].name, call.attrs->get(i)});
  Result<ir::Attrs> made = type.create(type, values);
  RELAY_CHECK(made, "{}", render(made.errors()));
  return *made;
}

}  // namespace relay::transform
