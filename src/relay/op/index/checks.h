// The checks of a call's inputs before it is computed (OpDef::checked), and the texts for an index out of range.
#pragma once

#include "relay/op/op.h"

namespace relay::op {

// The checks for these types of the inputs.
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

// The operator's name, or the call's own wording (take's `refusal`), followed by a name for numbers that are not
// indices.
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
