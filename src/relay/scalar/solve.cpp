#include "relay/scalar/solve.h"

#include "relay/scalar/simplify.h"

namespace relay::scalar {

std::optional<int64_t> Determined::value(int64_t extent) const {
  int64_t multiple = 0;
  if (__builtin_sub_overflow(extent, offset, &multiple) || multiple < 0 || multiple % factor != 0) return std::nullopt;
  return multiple / factor;
}

std::optional<Determined> determines(const Expr& size, const Expr& variable) {
  if (size == variable) return Determined{1, 0};
  if (is_int(size) || is_any(size)) return std::nullopt;
  const std::optional<Affine> affine = as_affine(size, {variable});
  if (!affine || affine->coefficients[0] <= 0) return std::nullopt;
  const Expr offset = simplify(affine->rest);
  return is_int(offset) ? std::optional(Determined{affine->coefficients[0], offset->ivalue}) : std::nullopt;
}

}  // namespace relay::scalar
