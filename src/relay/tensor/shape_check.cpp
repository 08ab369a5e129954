#include "relay/tensor/shape_check.h"

#include <algorithm>

namespace relay {

std::string text_of_shape_input(DType dtype, std::span<const int64_t> shape) {
  return format("{}[{}]", dtype.str(), join(shape, ", "));
}

std::string text_of_shape_input(const Tensor& t) {
  if (t.rank() > 1 || t.elements() > max_listed_elements) return text_of_shape_input(t.dtype(), t.shape());
  std::vector<std::string> values;
  for (int64_t i = 0; i < t.elements(); ++i)
    values.push_back(t.dtype().is_float() ? format("{}", t.at(i)) : format("{}", t.int_at(i)));
  return t.rank() == 0 ? values[0] : format("[{}]", join(values, ", "));
}

bool is_shape(std::span<const int64_t> sizes, int64_t most) {
  int64_t elements = 1;
  return std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) {
    return size >= 0 && !__builtin_mul_overflow(elements, size, &elements) && elements <= most;
  });
}

Diagnostic no_shape(std::span<const int64_t> sizes, const ShapeUse& use) {
  const bool negative = std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; });
  const std::string who = use.op.empty() ? "" : use.op + ": ";
  Diagnostic d{DiagnosticKind::wrong_input, "", use.where};
  for (const ShapeUse::Input& in : use.inputs)
    d.notes.push_back(format("`{}` is {}, of what must be: {}", in.name, in.actual, in.requirement));
  if (!negative) {
    d.kind = DiagnosticKind::limit_exceeded;
    d.message = format("{}a shape that is computed while the program runs is too large: ({})", who, join(sizes, ", "));
    d.help = "give inputs for which a smaller size is computed";
    return d;
  }
  d.message = use.op.empty() ? format("the sizes that are computed while the program runs are not a shape: ({})",
                                      join(sizes, ", "))
                             : who + "from these values its result has no shape";
  d.help = "give inputs for which the computed sizes agree";
  return d;
}

}  // namespace relay
