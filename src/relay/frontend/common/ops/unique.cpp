#include "relay/frontend/common/ops/unique.h"

#include "relay/frontend/common/ops/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::frontend {

using ir::Expr;

Values unique_elements(Conversion& c, const Expr& x, bool sorted) {
  scalar::Expr count = scalar::imm(1);
  for (const ir::Dim& d : c.shape(x)) count = count * d;
  Expr flat = c.reshape(x, {scalar::simplify(count)});
  Expr all = c.emit("unique", {flat}, {{"sorted", sorted}, {"return_counts", true}});
  if (!all) return {};
  auto part = [&](int64_t which) { return c.cast(c.get(all, which), DType::int64()); };
  // Only the first entries, one per distinct element, are valid.
  Expr at = numbers_to(c, c.squeeze(part(3), 0));
  auto cut = [&](const Expr& e) { return c.emit("take", {e, at}, {{"axis", int64_t{0}}, {"mode", "clip"}}); };
  return {cut(c.get(all, 0)), cut(part(1)), part(2), cut(part(4))};
}

}  // namespace relay::frontend
