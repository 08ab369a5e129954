#include "relay/frontend/common/ops/random.h"

namespace relay::frontend {

using ir::Expr;
using ir::Ints;

uint64_t seed_of_name(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

static Expr first_state(Conversion& c, uint64_t seed) {
  Tensor state = Tensor::full({10}, DType::uint64(), 0);
  state.set_int(3, static_cast<int64_t>(seed));
  state.set_int(8, INT64_MIN);  // the highest bit: the beginning of the path of splits
  return c.constant(std::move(state));
}

// The generator has float32 and float64; other floats are rounded from float32.
static DType generated(DType dtype) { return dtype == DType::float64() ? dtype : DType::float32(); }

Expr random_numbers(Conversion& c, uint64_t seed, const char* op, double first, double second, const Ints& shape,
                    DType dtype) {
  if (!dtype.is_float()) return c.bad("it draws floats, but makes elements of {}", dtype.str());
  const DType drawn = generated(dtype);
  for (int64_t extent : shape)
    if (extent < 0) return c.bad("the shape is [{}]", join(shape, ", "));
  const Expr both = c.emit(op, {first_state(c, seed), c.scalar(first, drawn), c.scalar(second, drawn)},
                           {{"out_shape", shape}, {"out_dtype", drawn}});
  return both ? c.cast(c.get(both, 1), dtype) : Expr();
}

Expr random_numbers_like(Conversion& c, uint64_t seed, const char* op, double first, double second, const Expr& like,
                         DType dtype) {
  Ints shape;
  for (int64_t axis = 0; axis < c.rank(like); ++axis)
    if (std::optional<int64_t> extent = c.extent(like, axis)) shape.push_back(*extent);
  if (std::ssize(shape) == c.rank(like)) return random_numbers(c, seed, op, first, second, shape, dtype);
  if (!dtype.is_float()) return c.bad("it draws floats, but makes elements of {}", dtype.str());
  const DType drawn = generated(dtype);
  const Expr both =
      c.emit(format("{}_like", op).c_str(),
             {first_state(c, seed), c.scalar(first, drawn), c.scalar(second, drawn), like}, {{"out_dtype", drawn}});
  return both ? c.cast(c.get(both, 1), dtype) : Expr();
}

Expr random_classes(Conversion& c, uint64_t seed, const Expr& logarithms, int64_t samples) {
  const Expr weights = c.emit("nn.softmax", {c.cast(logarithms, DType::float32())}, {{"axis", int64_t{1}}});
  const Expr both = c.emit("random.multinomial", {first_state(c, seed), weights}, {{"num_samples", samples}});
  return both ? c.get(both, 1) : Expr();
}

}  // namespace relay::frontend
