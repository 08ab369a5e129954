// Operators that draw random numbers. The first state of the generator is a constant, so that a compiled model draws
// the same numbers in each run: it is derived from `seed`, or else from the name of the node's result.
#include "relay/frontend/onnx/random.h"

#include <bit>

namespace relay::onnx {

using ir::Expr;
using ir::Exprs;
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
  state.set_int(8, INT64_MIN);  // the highest bit: the beginning of the path of splits
  return c.constant(std::move(state));
}

// The type of attribute `dtype`, which defaults to `otherwise`.
std::optional<DType> drawn_type(Convert& c, DType otherwise) {
  if (!c.has_attribute("dtype")) return otherwise;
  const int32_t code = static_cast<int32_t>(c.integer("dtype", 0));
  std::optional<DType> dtype = element_dtype(code);
  if (!dtype) return c.unsupported("it creates elements of type {}", element_name(code));
  return dtype;
}

// The generator has float32 and float64; other floats are rounded from float32.
DType generated(DType dtype) { return dtype == DType::float64() ? dtype : DType::float32(); }

// Has the node's `shape`, or of the shape of `like`, whose sizes need not be known.
Expr distribution(Convert& c, const std::string& op, double first, double second, const Expr& like, DType dtype) {
  if (!dtype.is_float()) return c.bad("it draws floats, but makes elements of {}", dtype.str());
  const DType drawn = generated(dtype);
  Exprs inputs{first_state(c), c.scalar(first, drawn), c.scalar(second, drawn)};
  Ints shape = c.ints("shape", {});
  for (int64_t axis = 0; like && axis < c.rank(like); ++axis)
    if (std::optional<int64_t> extent = c.extent(like, axis)) shape.push_back(*extent);
  for (int64_t extent : shape)
    if (extent < 0) return c.bad("the shape is [{}]", join(shape, ", "));
  const bool fixed = !like || static_cast<int64_t>(shape.size()) == c.rank(like);
  if (!fixed) inputs.push_back(like);
  Expr both = fixed ? c.emit(op.c_str(), inputs, {{"out_shape", shape}, {"out_dtype", drawn}})
                    : c.emit((op + "_like").c_str(), inputs, {{"out_dtype", drawn}});
  return both ? c.cast(c.get(both, 1), dtype) : Expr();
}

Values drawn(Convert& c, const char* op, double first, double second) {
  Expr like = c.inputs() > 0 ? c.input(0) : Expr();
  if (c.failed()) return {};
  std::optional<DType> dtype = drawn_type(c, like ? c.dtype(like) : DType::float32());
  if (!dtype) return {};
  return {distribution(c, op, first, second, like, *dtype)};
}

}  // namespace

Expr uniform_like(Convert& c, const Expr& x) {
  return x ? distribution(c, "random.uniform", 0, 1, x, generated(c.dtype(x))) : Expr();
}

namespace convert {

Values RandomUniform(Convert& c) { return drawn(c, "random.uniform", c.real("low", 0), c.real("high", 1)); }
Values RandomUniformLike(Convert& c) { return RandomUniform(c); }
Values RandomNormal(Convert& c) { return drawn(c, "random.normal", c.real("mean", 0), c.real("scale", 1)); }
Values RandomNormalLike(Convert& c) { return RandomNormal(c); }

// 1 where a number in [0, 1) is below the input.
Values Bernoulli(Convert& c) {
  Expr x = c.input(0);
  std::optional<DType> dtype = drawn_type(c, c.dtype(x));
  Expr u = dtype ? uniform_like(c, x) : Expr();
  if (!u) return {};
  return {c.cast(c.emit("less", {u, c.cast(x, c.dtype(u))}), *dtype)};
}

// Classes, drawn with probabilities whose logarithms, up to a constant, are in the rows.
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
