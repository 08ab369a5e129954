// The limits on the sizes in a type.
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
    return refused(DiagnosticKind::limit_exceeded,
                   format("a tensor of {} dimensions, and {} is the limit", tensor->shape.size(), max_dimensions),
                   "put dimensions together: reshape");
  int64_t elements = 1;
  for (const Dim& d : tensor->shape) {
    if (scalar::is_int(d) && d->ivalue > 0) {
      if (elements > max_elements / d->ivalue)
        return refused(DiagnosticKind::limit_exceeded,
                       format("the sizes of a tensor have the product {} * {} or more, and {} elements are the limit",
                              elements, d->ivalue, max_elements),
                       "make the sizes, or the attributes that they come from, smaller");
      elements *= d->ivalue;
    }
    if (scalar::is_int(d) ? d->ivalue >= 0 : scalar::is_any(d) || !scalar::free_vars(d).empty()) continue;
    return refused(DiagnosticKind::constraint,
                   format("a dimension would be {}, which is {}", scalar::str(d),
                          scalar::is_int(d) ? "below zero" : "more than 64 bits hold"),
                   "change the sizes or attributes that it is made from");
  }
  return ok();
}

}  // namespace relay::typing
