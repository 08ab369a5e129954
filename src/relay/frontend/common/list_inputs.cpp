// Inputs that are sequences or optional. How many tensors they hold is told with the shapes: NAME.0, NAME.1, ...; NAME
// alone, without sizes, holds none. A sequence is a parameter that is a tuple, an optional tensor that is there a
// tensor, and what is absent no parameter.
#include "relay/frontend/common/emit.h"
#include "relay/frontend/common/import_state.h"

namespace relay::frontend {

std::vector<TensorInfo> ImportState::told_elements(const TensorInfo& input) const {
  std::vector<TensorInfo> elements;
  for (size_t i = 0;; ++i) {
    auto told = options_.shapes.find(format("{}.{}", input.name, i));
    if (told == options_.shapes.end()) return elements;
    TensorInfo element = input;
    element.name = told->first;
    element.form = TensorInfo::Form::Tensor;
    if (element.shape)
      for (DimInfo& dim : *element.shape) dim.name = {};  // each tensor has sizes of its own
    elements.push_back(std::move(element));
  }
}

Value ImportState::list_input(const TensorInfo& input, const Span& place) {
  using Form = TensorInfo::Form;
  auto refuse = [&](DiagnosticKind kind, std::string what, std::string help) {
    report({kind, format("input '{}' {}", input.name, what), place, {}, {}, std::move(help)});
    return Value();
  };
  const std::vector<int64_t>* none = given_shape(input.name);
  const std::vector<TensorInfo> elements = told_elements(input);
  const std::string how = format(
      "give the shape of each of its tensors (--shape {0}.0=2,3 --shape {0}.1=4,3), or say "
      "that it has none (--shape {0}=)",
      input.name);
  if (elements.empty() && !none)
    return refuse(DiagnosticKind::unsupported_operator,
                  input.form == Form::Optional ? "is optional, and nothing says whether it is there"
                                               : "is a sequence, and nothing says which tensors it holds",
                  how);
  if (none && (!none->empty() || !elements.empty()))
    return refuse(DiagnosticKind::bad_option,
                  format("holds tensors, but the shape given for it is that of one, [{}]", join(*none, ", ")), how);
  if (input.form == Form::Optional && elements.size() > 1)
    return refuse(DiagnosticKind::bad_option,
                  format("is one tensor at most, but shapes are given for {}", elements.size()), how);
  if (none && input.form != Form::Sequence) return Value::absent();
  ir::Types types;
  for (const TensorInfo& element : elements) {
    ir::Type type = input_type(element, place);
    if (!type) return {};
    for (const ir::Dim& size : ir::as<ir::TensorType>(type)->shape)
      if (!is_int(size))
        return refuse(DiagnosticKind::bad_option,
                      format("holds tensor '{}', whose sizes are not all known: {}", element.name, ir::str(type)), how);
    types.push_back(std::move(type));
  }
  if (input.form == Form::Optional) return add_parameter(std::string(input.name), types[0], place);
  ir::Expr all = add_parameter(std::string(input.name), ir::tuple_type(types), place);
  std::vector<Value> tensors;
  for (size_t i = 0; i < types.size(); ++i) tensors.emplace_back(emit_get(all, static_cast<int64_t>(i), place));
  return Value(std::make_shared<const std::vector<Value>>(std::move(tensors)));
}

}  // namespace relay::frontend
