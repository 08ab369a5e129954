// Inputs that are sequences or optional. The number of their tensors is specified with the shapes: NAME.0, NAME.1, ...;
// NAME alone, without sizes, holds none. A sequence is then a parameter that is a tuple, an optional tensor that is
// present is a tensor, and an absent one has no parameter. If the number is not specified, but the axes of the tensors
// are known (from the model, or as NAME.*), the parameter is a list or an optional value of the prelude, for any number
// of tensors.
#include "relay/frontend/common/emit.h"
#include "relay/frontend/common/import_state.h"

namespace relay::frontend {

std::vector<TensorInfo> ImportState::specified_elements(const TensorInfo& input) const {
  std::vector<TensorInfo> elements;
  for (size_t i = 0;; ++i) {
    auto entry = options_.shapes.find(format("{}.{}", input.name, i));
    if (entry == options_.shapes.end()) return elements;
    TensorInfo element = input;
    element.name = entry->first;
    element.form = TensorInfo::Form::Tensor;
    if (element.shape)
      for (DimInfo& dim : *element.shape) dim.name = {};  // each tensor has separate sizes
    elements.push_back(std::move(element));
  }
}

// List[T], Option[T] or Option[List[T]]; null if the axes of its tensors are not known.
ir::Type ImportState::unspecified_list_type(const TensorInfo& input, const Span& place) {
  TensorInfo element = input;
  const std::string any = format("{}.*", input.name);
  element.name = any;
  element.form = TensorInfo::Form::Tensor;
  const bool is_specified = specified_shape(any) != nullptr;
  if (!is_specified && !element.shape) return {};
  // An exporter that knows nothing about the tensors in a sequence may declare them scalars.
  if (is_specified && element.shape && element.shape->empty()) element.shape.reset();
  if (is_specified && !can_be_input(element, place)) return {};
  if (!element.dtype) return {};
  const std::vector<int64_t>* specified = specified_shape(any);
  ir::Dims shape;
  for (size_t axis = 0; axis < (specified ? specified->size() : element.shape->size()); ++axis) {
    const std::optional<int64_t> declared = element.shape ? (*element.shape)[axis].value : std::nullopt;
    const int64_t size = specified && (*specified)[axis] >= 0 ? (*specified)[axis] : declared.value_or(-1);
    shape.push_back(size < 0 ? scalar::any_dim() : scalar::imm(size));
  }
  auto data = [](const char* name, ir::Type of) -> ir::Type {
    return make<ir::TypeCall>(make<ir::DataTypeName>(name), ir::Types{std::move(of)});
  };
  ir::Type type = ir::tensor_type(std::move(shape), *element.dtype);
  if (input.form != TensorInfo::Form::Optional) type = data("List", type);
  return input.form == TensorInfo::Form::Sequence ? type : data("Option", type);
}

Value ImportState::list_input(const TensorInfo& input, const Span& place) {
  using Form = TensorInfo::Form;
  auto refuse = [&](DiagnosticKind kind, std::string what, std::string help) {
    report({kind, format("input '{}' {}", input.name, what), place, {}, {}, std::move(help)});
    return Value();
  };
  const std::vector<int64_t>* none = specified_shape(input.name);
  const std::vector<TensorInfo> elements = specified_elements(input);
  const std::string how = format(
      "give the shape of each of its tensors (--shape {0}.0=2,3 --shape {0}.1=4,3), say that it has none "
      "(--shape {0}=), or that it has any number of them (--shape {0}.*=-1,3)",
      input.name);
  if (ir::Type type = elements.empty() && !none ? unspecified_list_type(input, place) : ir::Type())
    return enter_list_(add_parameter(std::string(input.name), type, place));
  if (elements.empty() && !none)
    return refuse(DiagnosticKind::unsupported_operator,
                  input.form == Form::Optional ? "is optional, and it is unknown whether it is present"
                                               : "is a sequence, and its tensors are unknown",
                  how);
  if (none && (!none->empty() || !elements.empty()))
    return refuse(
        DiagnosticKind::bad_option,
        format("is a sequence, but the shape given for it, [{}], is that of a single tensor", join(*none, ", ")), how);
  if (input.form == Form::Optional && elements.size() > 1)
    return refuse(DiagnosticKind::bad_option,
                  format("is at most one tensor, but shapes are given for {}", elements.size()), how);
  if (none && input.form != Form::Sequence) return Value::absent();
  ir::Types types;
  for (const TensorInfo& element : elements) {
    ir::Type type = input_type(element, place);
    if (!type) return {};
    for (const ir::Dim& size : ir::as<ir::TensorType>(type)->shape)
      if (!is_int(size))
        return refuse(DiagnosticKind::bad_option,
                      format("contains tensor '{}', whose sizes are not all known: {}", element.name, ir::str(type)),
                      how);
    types.push_back(std::move(type));
  }
  if (input.form == Form::Optional) return add_parameter(std::string(input.name), types[0], place);
  ir::Expr all = add_parameter(std::string(input.name), ir::tuple_type(types), place);
  std::vector<Value> tensors;
  for (size_t i = 0; i < types.size(); ++i) tensors.emplace_back(emit_get(all, static_cast<int64_t>(i), place));
  return Value(std::make_shared<const std::vector<Value>>(std::move(tensors)));
}

}  // namespace relay::frontend
