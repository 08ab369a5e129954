// Who says that an index is out of range: the operator, or the call in words of its own (take's `refusal`).
#pragma once

#include "relay/op/op.h"

namespace relay::op {

inline std::string refusing(const OpDef& def, const ir::Attrs& attrs) {
  const int field = attrs ? attrs->type.find("refusal") : -1;
  if (field < 0) return def.name;
  std::string words = std::get<std::string>(attrs->get(static_cast<size_t>(field)));
  return words.empty() ? def.name : words;
}

}  // namespace relay::op
