// The limits on the sizes in a type.
#include "relay/scalar/parts.h"
#include "relay/typing/typing.h"

namespace relay::typing {

using namespace ir;

Status valid_sizes(const Type& type) {
  if (const TupleType* tuple = as<TupleType>(type)) {
    for (const Type& field : tuple->fields) RELAY_RETURN_IF_ERROR(valid_sizes(field));
    return ok();
  }
  const TensorType* tensor = as<TensorType>(type);
  if (!tensor) return ok();
  auto refused = [](DiagnosticKind kind, std::string what, const char* help) {
    return Diagnostic{kind, std::move(what), {}, {}, {}, help};
  };
  if (tensor->shape.size() > max_dimensions)
    return refused(
        DiagnosticKind::limit_exceeded,
        format("a tensor has {} dimensions, more than the limit of {}", tensor->shape.size(), max_dimensions),
        "combine dimensions with reshape");
  int64_t elements = 1;
  for (const Dim& d : tensor->shape) {
    if (scalar::is_too_large(d))
      return refused(DiagnosticKind::limit_exceeded,
                     format("a dimension is an expression of more than {} parts", scalar::max_size_parts),
                     "give a part of it a name of its own, as a dimension of an input");
    if (scalar::is_int(d) && d->ivalue > 0) {
      if (elements > max_elements / d->ivalue)
        return refused(DiagnosticKind::limit_exceeded,
                       format("a tensor has at least {} * {} elements, more than the limit of {}", elements, d->ivalue,
                              max_elements),
                       "reduce the sizes, or the attributes that determine them");
      elements *= d->ivalue;
    }
    if (scalar::is_int(d) ? d->ivalue >= 0 : scalar::is_any(d) || !scalar::free_vars(d).empty()) continue;
    return refused(DiagnosticKind::constraint,
                   format("a dimension would be {}, which is {}", scalar::str(d),
                          scalar::is_int(d) ? "below zero" : "too large for 64 bits"),
                   "change the sizes or attributes that determine it");
  }
  return ok();
}

}  // namespace relay::typing
