// Products with weights of few-bit floats with a scale for each block of numbers.
#include <array>

#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/window.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

// Scales (N, blocks) repeated for each number of (N, K); null if a problem was reported.
Expr each(Convert& c, const Expr& scales, int64_t block, int64_t k) {
  if (!c.expect_rank(scales, 2, 2, "the scales")) return nullptr;
  if (block < 1 || block > INT32_MAX) return c.bad("block_size is {}", block);
  if (c.extent(scales, 1) != (k + block - 1) / block)
    return c.bad("the scales are {}, not {} for a row", ir::str(scales->type), (k + block - 1) / block);
  return c.slice(c.emit("repeat", {scales}, {{"repeats", block}, {"axis", int64_t{1}}}), 1, 0, k);
}

// a (.., K) times the transpose of a weight (N, K), plus a bias, in the type of the input.
Values product(Convert& c, const Expr& a, const Expr& weight, size_t bias) {
  const DType f32 = DType::float32();
  if (!weight) return {};
  Expr y = matrix_product(c, c.cast(a, f32), c.transpose(weight, {1, 0}));
  if (c.has(bias)) y = c.add(y, c.cast(c.input(bias), f32));
  return {c.cast(y, c.dtype(c.input(0)))};
}

}  // namespace

Values MatMulBlockQuantizedFp8Weight(Convert& c) {
  const DType f32 = DType::float32();
  std::optional<int64_t> k = c.rank(c.input(1)) == 2 ? c.extent(c.input(1), 1) : std::nullopt;
  if (!k || *k < 1) return c.bad("the weight is {}, not (N, K)", ir::str(c.input(1)->type));
  Expr scales = each(c, c.input(2), c.integer("block_size", 128), *k), a = c.input(0);
  if (!scales) return {};
  if (c.has(3)) {
    // Rounded to the weight's type, whose largest value is 448.
    Expr scale = c.cast(c.rank(c.input(3)) > 0 ? c.reshape(c.input(3), {}) : c.input(3), f32);
    Expr steps = c.emit("clip", {c.divide(c.cast(a, f32), scale)}, {{"a_min", -448.0}, {"a_max", 448.0}});
    a = c.multiply(c.cast(c.cast(steps, DType::storage(DType::Code::E4M3FN)), f32), scale);
  }
  return product(c, a, c.multiply(c.cast(c.input(1), f32), scales), 4);
}

// Two numbers of 4 bits per byte; scales of 8 bits, and a single scale of all.
Values MatMulBlockQuantizedFp4Weight(Convert& c) {
  const DType f32 = DType::float32();
  constexpr std::array<double, 16> values = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  Tensor table = Tensor::empty({16}, f32);
  for (size_t i = 0; i < values.size(); ++i) table.set(static_cast<int64_t>(i), values[i]);
  Expr codes = c.rank(c.input(1)) == 2 ? unpacked(c, c.input(1), 4) : Expr();
  std::optional<int64_t> k = codes ? c.extent(codes, 1) : std::nullopt;
  if (!k || *k < 1) return c.bad("the weight is {}, not (N, K / 2)", ir::str(c.input(1)->type));
  Expr weights = c.emit("take", {c.constant(std::move(table)), codes}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  Expr scales = c.emit("reinterpret", {c.input(2)}, {{"dtype", DType::storage(DType::Code::E4M3FN)}});
  scales = each(c, c.cast(scales, f32), c.integer("block_size", 16), *k);
  Expr all = c.rank(c.input(3)) > 0 ? c.reshape(c.input(3), {}) : c.input(3);
  return scales ? product(c, c.input(0), c.multiply(c.multiply(weights, scales), all), 5) : Values();
}

}  // namespace relay::onnx::microsoft
