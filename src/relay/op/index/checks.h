// What a call checks of its inputs before it is computed (OpDef::checked), and who says that an index is out of range.
#pragma once

#include "relay/op/op.h"

namespace relay::op {

// By the types of the inputs.
inline Checks checks_of(const OpDef& def, const Attrs& attrs, const Types& inputs) {
  if (!def.checked) return {};
  Types tensors;
  for (const Type& t : inputs)
    if (const ir::TupleType* tuple = ir::as<ir::TupleType>(t))
      tensors.insert(tensors.end(), tuple->fields.begin(), tuple->fields.end());
    else
      tensors.push_back(t);
  return def.checked(attrs, tensors);
}

// The operator, or the call in words of its own (take's `refusal`); with the name of numbers that are no indices.
inline std::string refusing(const OpDef& def, const Attrs& attrs, const CheckedIndices& checked) {
  const std::string& name = def.part_of ? def.part_of->name : def.name;
  if (!checked.words.empty()) return format("{}: {}", name, checked.words);
  if (checked.axes[0] == no_axis) return format("{}: {}", name, def.inputs[checked.input].name);
  const int field = attrs ? attrs->type.find("refusal") : -1;
  if (field < 0) return name;
  std::string words = std::get<std::string>(attrs->get(static_cast<size_t>(field)));
  return words.empty() ? name : words;
}

}  // namespace relay::op
