#include "relay/frontend/common/ops/heads.h"

#include "relay/scalar/simplify.h"

namespace relay::frontend {

using ir::Dims;
using ir::Expr;

Expr by_heads(Conversion& c, const Expr& e, int64_t heads, const char* what) {
  if (!e || c.rank(e) == 4) return e;
  if (!c.expect_rank(e, 3, 4, what)) return nullptr;
  std::optional<int64_t> width = c.fixed_extent(e, 2, what);
  if (!width) return nullptr;
  if (heads < 1 || *width % heads)
    return c.bad("{} is {}, which {} heads do not divide", what, ir::str(e->type), heads);
  const Dims& shape = c.shape(e);
  return c.transpose(c.reshape(e, {shape[0], shape[1], scalar::imm(heads), scalar::imm(*width / heads)}), {0, 2, 1, 3});
}

Expr joined_heads(Conversion& c, const Expr& e) {
  if (!e) return e;
  Expr transposed = c.transpose(e, {0, 2, 1, 3});
  const Dims shape = c.shape(transposed);
  return c.reshape(transposed, {shape[0], shape[1], scalar::simplify(shape[2] * shape[3])}, {0, 0, -3});
}

Expr head_products(Conversion& c, const Expr& a, const Expr& b, bool transposed) {
  if (!a || !b) return nullptr;
  auto flat = [&](const Expr& e) {
    const Dims s = c.shape(e);
    return c.reshape(e, {scalar::simplify(s[0] * s[1]), s[2], s[3]}, {-3, 0, 0});
  };
  const Dims front = c.shape(a);
  const ir::Ints split = is_int(front[1]) ? ir::Ints{-4, -1, front[1]->ivalue, 0, 0} : ir::Ints();
  Expr product = c.emit("nn.batch_matmul", {flat(a), flat(b)}, {{"transpose_a", false}, {"transpose_b", transposed}});
  if (!product) return nullptr;
  return c.reshape(product, {front[0], front[1], c.shape(product)[1], c.shape(product)[2]}, split);
}

Expr rotated(Conversion& c, const Expr& x, const Expr& cos, const Expr& sin, int64_t rotary_size, bool interleaved) {
  Expr front = c.slice(x, 3, 0, rotary_size), first, second;
  auto every_second = [&](int64_t from) {
    return c.emit(
        "strided_slice", {front},
        {{"begin", ir::Ints{from}}, {"end", ir::Ints{rotary_size}}, {"strides", ir::Ints{2}}, {"axes", ir::Ints{3}}});
  };
  if (interleaved)
    first = every_second(0), second = every_second(1);
  else
    first = c.slice(front, 3, 0, rotary_size / 2), second = c.slice(front, 3, rotary_size / 2, rotary_size);
  Expr real = c.subtract(c.multiply(cos, first), c.multiply(sin, second));
  Expr imaginary = c.add(c.multiply(sin, first), c.multiply(cos, second));
  Expr y = interleaved ? c.reshape(c.concatenate({c.expand(real, 4), c.expand(imaginary, 4)}, 4), c.shape(front))
                       : c.concatenate({real, imaginary}, 3);
  return c.extent(x, 3) == rotary_size ? y : c.concatenate({y, c.slice(x, 3, rotary_size, INT32_MAX)}, 3);
}

}  // namespace relay::frontend
