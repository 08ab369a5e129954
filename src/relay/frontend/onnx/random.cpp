// Operators that draw random numbers, by `seed`, or else by the name of the node's result.
#include "relay/frontend/onnx/random.h"

#include <bit>

#include "relay/frontend/common/ops/random.h"

namespace relay::onnx {

using ir::Expr;

namespace {

uint64_t seed_of(Convert& c) {
  if (const int64_t* seed = c.value_of<int64_t>("seed")) return static_cast<uint64_t>(*seed);  // of Dropout
  if (c.has_attribute("seed")) return std::bit_cast<uint64_t>(c.real("seed", 0));
  return seed_of_name(c.node.outputs.empty() ? std::string_view() : c.node.outputs[0]);
}

// The type of attribute `dtype`, which defaults to `otherwise`.
std::optional<DType> drawn_type(Convert& c, DType otherwise) {
  if (!c.has_attribute("dtype")) return otherwise;
  const int32_t code = static_cast<int32_t>(c.integer("dtype", 0));
  std::optional<DType> dtype = element_dtype(code);
  if (!dtype) return c.unsupported("it creates elements of type {}", element_name(code));
  return dtype;
}

// Has the node's `shape`, or that of the first input.
Values drawn(Convert& c, const char* op, double first, double second) {
  Expr like = c.inputs() > 0 ? c.input(0) : Expr();
  if (c.failed()) return {};
  std::optional<DType> dtype = drawn_type(c, like ? c.dtype(like) : DType::float32());
  if (!dtype) return {};
  return {like ? random_numbers_like(c, seed_of(c), op, first, second, like, *dtype)
               : random_numbers(c, seed_of(c), op, first, second, c.ints("shape"), *dtype)};
}

}  // namespace

Expr uniform_like(Convert& c, const Expr& x) {
  const DType dtype = c.dtype(x) == DType::float64() ? DType::float64() : DType::float32();
  return x ? random_numbers_like(c, seed_of(c), "random.uniform", 0, 1, x, dtype) : Expr();
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
  const Expr classes = random_classes(c, seed_of(c), x, c.integer("sample_size", 1));
  return {classes ? c.cast(classes, *dtype) : Expr()};
}

}  // namespace convert
}  // namespace relay::onnx
