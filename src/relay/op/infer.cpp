#include "relay/op/infer.h"

#include "relay/tensor/storage.h"

namespace relay::op {

namespace {

// The first tensor of a storage type in a type, or null.
const ir::TensorType* stored_in(const Type& type) {
  if (const ir::TensorType* t = ir::as<ir::TensorType>(type)) return t->dtype.is_storage() ? t : nullptr;
  if (const ir::TupleType* tuple = ir::as<ir::TupleType>(type))
    for (const Type& f : tuple->fields)
      if (const ir::TensorType* t = stored_in(f)) return t;
  return nullptr;
}

Diagnostic refused(const std::string& what, DType dtype, std::string help) {
  return Diagnostic{DiagnosticKind::type_mismatch,
                    format("{} is {}, a storage type, which has no arithmetic", what, dtype.str()),
                    {},
                    {},
                    {},
                    std::move(help)};
}

}  // namespace

Result<Type> infer(const OpDef& def, const Attrs& attrs, const Types& inputs) {
  if (!def.accepts_storage_types)
    for (size_t i = 0; i < inputs.size(); ++i)
      if (const ir::TensorType* t = stored_in(inputs[i]))
        return refused(
            i < def.inputs.size() ? def.inputs[i].name : format("input {}", i), t->dtype,
            format("convert it first: cast(.., dtype=\"{}\")", is_storage_integer(t->dtype) ? "int8" : "float32"));
  RELAY_ASSIGN(Type type, def.infer(attrs, inputs));
  if (const ir::TensorType* t = def.accepts_storage_types ? nullptr : stored_in(type))
    return refused("the result", t->dtype,
                   format("use a type of numbers, and convert them: cast(.., dtype=\"{}\")", t->dtype.str()));
  return type;
}

std::optional<Types> quantization_parameters(const OpDef& def, const Attrs& attrs, const Types& inputs) {
  constexpr size_t most = 8;
  std::vector<size_t> open;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i]) {
      if (def.inputs[i].is_tuple) return {};
      open.push_back(i);
    }
  if (!starts_with(def.name, "qnn.") || open.empty() || open.size() > most) return {};
  const Type candidates[] = {ir::tensor_type({}, DType::float32()), ir::tensor_type({}, DType::int32())};
  std::optional<Types> found;
  for (size_t choice = 0; choice < size_t{1} << open.size(); ++choice) {
    Types tried = inputs;
    for (size_t i = 0; i < open.size(); ++i) tried[open[i]] = candidates[choice >> i & 1];
    Assumptions assumed;
    if (!infer(def, attrs, tried)) continue;
    if (found) return {};
    found = std::move(tried);
  }
  return found;
}

}  // namespace relay::op
