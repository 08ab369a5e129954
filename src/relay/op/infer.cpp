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
                    format("{} is {}, a type that elements are stored in and nothing computes with", what, dtype.str()),
                    {},
                    {},
                    {},
                    std::move(help)};
}

}  // namespace

Result<Type> infer(const OpDef& def, const Attrs& attrs, const Types& inputs) {
  if (!def.stores)
    for (size_t i = 0; i < inputs.size(); ++i)
      if (const ir::TensorType* t = stored_in(inputs[i]))
        return refused(
            i < def.inputs.size() ? def.inputs[i].name : format("input {}", i), t->dtype,
            format("convert it first: cast(.., dtype=\"{}\")", is_storage_integer(t->dtype) ? "int8" : "float32"));
  RELAY_ASSIGN(Type type, def.infer(attrs, inputs));
  if (const ir::TensorType* t = def.stores ? nullptr : stored_in(type))
    return refused("the result", t->dtype,
                   format("let it be numbers, and convert them: cast(.., dtype=\"{}\")", t->dtype.str()));
  return type;
}

}  // namespace relay::op
