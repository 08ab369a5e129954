// Operators that draw numbers. The first state of the generator is a constant, so that a compiled model draws the same
// numbers in each run: it is that of `seed`, or without one of the name of the node's result.
#include "relay/frontend/onnx/random.h"

#include <bit>

namespace relay::onnx {

using ir::Expr;
using ir::Ints;

namespace {

uint64_t seed_of(Convert& c) {
  if (const int64_t* seed = c.value_of<int64_t>("seed")) return static_cast<uint64_t>(*seed);  // of Dropout
  if (c.has_attribute("seed")) return std::bit_cast<uint64_t>(c.real("seed", 0));
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char letter : c.node.outputs.empty() ? std::string_view() : c.node.outputs[0])
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

Expr first_state(Convert& c) {
  Tensor state = Tensor::full({10}, DType::uint64(), 0);
  state.set_int(3, static_cast<int64_t>(seed_of(c)));
  state.set_int(8, INT64_MIN);  // the highest bit: where the path of splits begins
  return c.constant(std::move(state));
}

// Of attribute `dtype`, which counts as `otherwise` when it is not there.
std::optional<DType> drawn_type(Convert& c, DType otherwise) {
  if (!c.has_attribute("dtype")) return otherwise;
  const int32_t code = static_cast<int32_t>(c.integer("dtype", 0));
  std::optional<DType> dtype = element_dtype(code);
  if (!dtype) return c.unsupported("it makes elements of type {}", element_name(code));
  return dtype;
}

std::optional<Ints> fixed_shape(Convert& c, const Expr& like) {
  Ints shape;
  for (int64_t axis = 0; axis < c.rank(like); ++axis) {
    std::optional<int64_t> extent = c.extent(like, axis);
    if (!extent)
      return c.unsupported("it needs a fixed size, but the data is {}; give the inputs' shapes (--shape)",
                           ir::str(like->type));
    shape.push_back(*extent);
  }
  return shape;
}

// The generator has float32 and float64; other floats are rounded from float32.
DType generated(DType dtype) { return dtype == DType::float64() ? dtype : DType::float32(); }

Expr distribution(Convert& c, const char* op, double first, double second, const Ints& shape, DType dtype) {
  for (int64_t extent : shape)
    if (extent < 0) return c.bad("the shape is [{}]", join(shape, ", "));
  if (!dtype.is_float()) return c.bad("it draws floats, but makes elements of {}", dtype.str());
  const DType drawn = generated(dtype);
  Expr both = c.emit(op, {first_state(c), c.scalar(first, drawn), c.scalar(second, drawn)},
                     {{"out_shape", shape}, {"out_dtype", drawn}});
  return both ? c.cast(c.get(both, 1), dtype) : Expr();
}

// Of what is written (`shape`), or like an input.
Values drawn(Convert& c, const char* op, double first, double second) {
  const bool like = c.inputs() > 0;
  Expr x = like ? c.input(0) : Expr();
  if (c.failed()) return {};
  std::optional<Ints> shape = like ? fixed_shape(c, x) : c.ints("shape", {});
  std::optional<DType> dtype = shape ? drawn_type(c, like ? c.dtype(x) : DType::float32()) : std::nullopt;
  if (!dtype) return {};
  return {distribution(c, op, first, second, *shape, *dtype)};
}

}  // namespace

Expr uniform_like(Convert& c, const Expr& x) {
  std::optional<Ints> shape = fixed_shape(c, x);
  return shape ? distribution(c, "random.uniform", 0, 1, *shape, generated(c.dtype(x))) : Expr();
}

namespace convert {

Values RandomUniform(Convert& c) { return drawn(c, "random.uniform", c.real("low", 0), c.real("high", 1)); }
Values RandomUniformLike(Convert& c) { return RandomUniform(c); }
Values RandomNormal(Convert& c) { return drawn(c, "random.normal", c.real("mean", 0), c.real("scale", 1)); }
Values RandomNormalLike(Convert& c) { return RandomNormal(c); }

// One where a number in [0, 1) lies below the input.
Values Bernoulli(Convert& c) {
  Expr x = c.input(0);
  std::optional<DType> dtype = drawn_type(c, c.dtype(x));
  Expr u = dtype ? uniform_like(c, x) : Expr();
  if (!u) return {};
  return {c.cast(c.emit("less", {u, c.cast(x, c.dtype(u))}), *dtype)};
}

// Classes, drawn with the probabilities whose logarithms the rows have, up to a summand.
Values Multinomial(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 2, "the data")) return {};
  std::optional<DType> dtype = drawn_type(c, DType::int32());
  if (!dtype) return {};
  Expr weights = c.emit("nn.softmax", {c.cast(x, DType::float32())}, {{"axis", int64_t{1}}});
  Expr both = c.emit("random.multinomial", {first_state(c), weights}, {{"num_samples", c.integer("sample_size", 1)}});
  if (!both) return {};
  return {c.cast(c.get(both, 1), *dtype)};
}

}  // namespace convert
}  // namespace relay::onnx
