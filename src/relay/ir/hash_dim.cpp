#include "relay/ir/hash_dim.h"

#include "relay/scalar/simplify.h"

namespace relay::ir {

uint64_t hash_dim(const scalar::Expr& dim) {
  if (scalar::is_int(dim)) return static_cast<uint64_t>(dim->ivalue);
  if (scalar::is_var(dim) || scalar::is_any(dim)) return 0x64696Dull << 40 | scalar::is_any(dim);
  scalar::Expr simple = scalar::simplify(dim);
  return scalar::is_int(simple) ? static_cast<uint64_t>(simple->ivalue) : 0x64696Dull << 40;
}

}  // namespace relay::ir
