// Products with weights of few bits, which stay packed in the model, and rows of tables of such numbers.
#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/norm.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/norm.h"
#include "relay/frontend/onnx/window.h"
#include "relay/scalar/simplify.h"
#include "relay/tensor/storage.h"
#include "relay/transform/precision/round_inputs.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Ints;

Expr unpacked(Convert& c, const Expr& bytes, int64_t bits) {
  if (bits == 8 || !bytes) return bytes;
  const int64_t last = c.rank(bytes), each = 8 / bits;
  ir::Exprs parts;
  for (int64_t i = 0; i < each; ++i) {
    Expr shifted =
        i == 0 ? bytes : c.emit("right_shift", {bytes, c.scalar(static_cast<double>(i * bits), DType::uint8())});
    parts.push_back(c.expand(
        c.emit("bitwise_and", {shifted, c.scalar(static_cast<double>((1 << bits) - 1), DType::uint8())}), last));
  }
  ir::Dims shape = c.shape(bytes);
  shape.back() = scalar::simplify(shape.back() * each);
  return c.reshape(c.concatenate(parts, last), shape);
}

namespace {

// A (.., K) times the transpose of a weight (N, K).
Expr times_rows(Convert& c, const Expr& a, const Expr& weight) {
  ir::Dims shape = c.shape(a);
  if (shape.empty() || !weight) return c.failed() ? Expr() : c.bad("A is {}", a ? ir::str(a->type) : "?");
  scalar::Expr rows = scalar::imm(1);
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows = rows * shape[i];
  Expr y = c.emit("nn.dense", {c.reshape(a, {scalar::simplify(rows), shape.back()}), weight});
  shape.back() = c.shape(weight)[0];
  return c.reshape(y, shape);
}

}  // namespace

namespace {

// Inputs of a product with a weight of few bits.
struct BitInputs {
  Expr weight, scale, zero, group, bias;  // the last three may be null
};

struct BitShape {
  int64_t k, n, block, bits;
};

// The weight (n, k) of floats; its integers stay packed in the program, and the product converts them.
Expr dequantised_blocks(Convert& c, const BitInputs& in, const BitShape& s, DType dtype) {
  const int64_t blocks = (s.k + s.block - 1) / s.block;
  // Packed bytes, the first number in the lowest bits, as `count` integers a row.
  auto integers = [&](Expr bytes, int64_t count) {
    if (s.bits == 8) return bytes;
    const DType type = DType::storage(s.bits == 4 ? DType::Code::UInt4 : DType::Code::UInt2);
    return c.emit("storage.unpack", {bytes}, {{"dtype", type}, {"axis", int64_t{1}}, {"size", count}});
  };
  Expr weight = c.reshape(in.weight, {scalar::imm(s.n), scalar::imm(blocks * s.block * s.bits / 8)});
  if (s.k != blocks * s.block) weight = c.slice(weight, 1, 0, (s.k * s.bits + 7) / 8);
  weight = integers(weight, s.k);
  Expr zero = c.scalar(static_cast<double>(int64_t{1} << (s.bits - 1)), DType::int32());
  if (in.zero) {
    zero = c.reshape(in.zero, {scalar::imm(s.n), scalar::imm((blocks * s.bits + 7) / 8)});
    zero = c.cast(integers(zero, blocks), DType::uint8());
  }
  const Expr scale = c.reshape(in.scale, {scalar::imm(s.n), scalar::imm(blocks)});
  return c.emit("qnn.dequantize", {weight, scale, zero},
                {{"out_dtype", dtype}, {"axis", int64_t{1}}, {"block", s.block}});
}

// A, rounded to 8 bits in the weight's blocks if the model allows it (accuracy_level 4) and that makes the product
// faster: for weights of four bits.
Expr rounded_if_allowed(Convert& c, const Expr& a, const BitShape& s) {
  constexpr int64_t bytes = 4;  // of accuracy_level: inputs may be rounded to int8
  if (c.integer("accuracy_level", 0) != bytes || s.bits != 4 || c.dtype(a) != DType::float32() || c.rank(a) < 1 ||
      c.extent(a, c.rank(a) - 1) != s.k || !transform::can_round_in_blocks(s.k, s.block))
    return a;
  return transform::rounded_in_blocks(
      a, s.block, [&](const char* op, const ir::Exprs& args, const auto& attrs) { return c.emit(op, args, attrs); });
}

// A times the transpose of n rows of weights, in blocks of `block_size` with a scale each; their integers stay packed
// in the model.
Expr times_bits(Convert& c, const Expr& a, const BitInputs& in, int64_t k, int64_t n) {
  const int64_t bits = c.integer("bits", 4), block = c.integer("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8) return c.unsupported("bits is {}; 2, 4 and 8 can be imported", bits);
  if (k < 1 || n < 1 || block < 16 || k > INT32_MAX || n > INT32_MAX || block > INT32_MAX)
    return c.bad("K is {}, N {}, block_size {}", k, n, block);
  const int64_t blocks = (k + block - 1) / block;
  const DType dtype = c.dtype(a);
  if (!in.group && (!in.zero || c.dtype(in.zero) == DType::uint8())) {
    Expr y = times_rows(c, rounded_if_allowed(c, a, {k, n, block, bits}),
                        dequantised_blocks(c, in, {k, n, block, bits}, dtype));
    return in.bias ? c.add(y, in.bias) : y;
  }
  const ir::Dims each{scalar::imm(n), scalar::imm(blocks), scalar::imm(1)};
  Expr weight = c.reshape(in.weight, {scalar::imm(n), scalar::imm(blocks), scalar::imm(block * bits / 8)});
  Expr zero = c.scalar(static_cast<double>(int64_t{1} << (bits - 1)), dtype);
  if (in.zero) {
    zero = in.zero;
    if (c.dtype(zero) == DType::uint8()) {
      zero = unpacked(c, c.reshape(zero, {scalar::imm(n), scalar::imm((blocks * bits + 7) / 8)}), bits);
      zero = c.slice(zero, 1, 0, blocks);
    }
    zero = c.reshape(c.cast(zero, dtype), each);
  }
  Expr scale = c.reshape(in.scale, each);
  const ir::Dims flat{scalar::imm(n), scalar::imm(blocks * block)};
  weight = c.cast(unpacked(c, weight, bits), dtype);
  if (in.group) {
    // The block of each place is an input.
    auto of_place = [&](const Expr& e) {
      if (!e || c.rank(e) == 0) return e;
      return c.emit("take", {c.squeeze(e, 2), in.group}, {{"axis", int64_t{1}}, {"mode", "checked"}});
    };
    if (!c.expect_rank(in.group, 1, 1, "g_idx")) return {};
    weight = c.reshape(weight, flat);
    if (c.extent(in.group, 0) != blocks * block) weight = c.slice(weight, 1, 0, k);
    weight = c.multiply(c.subtract(weight, of_place(zero)), of_place(scale));
    if (c.extent(weight, 1) != k) weight = c.slice(weight, 1, 0, k);
  } else {
    weight = c.reshape(c.multiply(c.subtract(weight, zero), scale), flat);
    if (blocks * block != k) weight = c.slice(weight, 1, 0, k);
  }
  Expr y = times_rows(c, a, weight);
  return in.bias ? c.add(y, in.bias) : y;
}

Expr optional(Convert& c, size_t i) { return c.has(i) ? c.input(i) : Expr(); }

// The product with the weight, scales and bias from input `first` on.
Expr times_bits(Convert& c, const Expr& a, size_t first, const char* rows) {
  if (!c.has(first) || !c.has(first + 1)) return c.bad("input {} or {} is missing", first, first + 1);
  const BitInputs in{c.input(first), c.input(first + 1), nullptr, nullptr, optional(c, first + 2)};
  return times_bits(c, a, in, c.integer("K", 0), c.integer(rows, 0));
}

// The data, with a second input added if present, divided by the root of the mean of its squares if there is a scale.
struct Normalised {
  Expr y, sum;
};
Normalised normalised(Convert& c) {
  Expr sum = c.has(1) ? c.add(c.input(0), c.input(1)) : c.input(0);
  if (!c.has(2)) return {sum, sum};
  return {c.multiply(rms_normalised(c, sum, {c.rank(sum) - 1}, c.real("epsilon", 1e-5)), c.input(2)), sum};
}

}  // namespace

Values MatMulNBits(Convert& c) {
  if (c.integer("weight_prepacked", 0)) return c.unsupported("weights that are packed for a specific device");
  const BitInputs in{c.input(1), c.input(2), optional(c, 3), optional(c, 4), optional(c, 5)};
  return {times_bits(c, c.input(0), in, c.integer("K", 0), c.integer("N", 0))};
}

// Two such products of one input: the curve of the first times the second.
Values MatMulNBitsMlp(Convert& c) {
  const std::string curve = c.text("activation", "silu");
  if (curve != "silu") return c.unsupported("activation is '{}'", curve);
  const Normalised in = normalised(c);
  Expr gate = times_bits(c, in.y, 3, "N"), up = times_bits(c, in.y, 6, "N");
  return {c.multiply(silu(c, gate), up), in.sum};
}

// Three such products of one input.
Values MatMulNBitsQkv(Convert& c) {
  const Normalised in = normalised(c);
  return {times_bits(c, in.y, 3, "Nq"), times_bits(c, in.y, 6, "Nkv"), times_bits(c, in.y, 9, "Nkv"), in.sum};
}

namespace {

// The values of the 16 codes: floats of one bit of mantissa, or the quantiles of a normal distribution (QLoRA,
// https://arxiv.org/abs/2305.14314, appendix E).
constexpr float fp4_values[16] = {0.F,  0.00520833F,  0.66666667F,  1.F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
                                  -0.F, -0.00520833F, -0.66666667F, -1.F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
constexpr float nf4_values[16] = {
    -1.F,
    -0.6961928009986877F,
    -0.5250730514526367F,
    -0.39491748809814453F,
    -0.28444138169288635F,
    -0.18477343022823334F,
    -0.09105003625154495F,
    0.F,
    0.07958029955625534F,
    0.16093020141124725F,
    0.24611230194568634F,
    0.33791524171829224F,
    0.44070982933044434F,
    0.5626170039176941F,
    0.7229568362236023F,
    1.F,
};

}  // namespace

// A times a weight (N, K), or its transpose; its numbers are codes of 4 bits, the first in the high half of a byte,
// times the largest absolute value of their block.
Values MatMulBnb4(Convert& c) {
  const int64_t k = c.integer("K", 0), n = c.integer("N", 0), block = c.integer("block_size", 0),
                type = c.integer("quant_type", 0);
  if (k < 1 || n < 1 || block < 16 || k > INT32_MAX || n > INT32_MAX || block > INT32_MAX)
    return c.bad("K is {}, N {}, block_size {}", k, n, block);
  if (type != 0 && type != 1) return c.bad("quant_type is {}, not 0 (FP4) or 1 (NF4)", type);
  const int64_t all = k * n, bytes = (all + 1) / 2, blocks = (all + block - 1) / block;
  if (!c.expect_rank(c.input(1), 1, 1, "B") || !c.expect_rank(c.input(2), 1, 1, "absmax")) return {};
  if (c.extent(c.input(1), 0) != bytes || c.extent(c.input(2), 0) != blocks)
    return c.bad("B is {} and absmax {}, but N * K numbers need {} bytes in {} blocks", ir::str(c.input(1)->type),
                 ir::str(c.input(2)->type), bytes, blocks);
  const DType dtype = c.dtype(c.input(0));
  Tensor values = Tensor::empty({16}, dtype);
  for (int64_t i = 0; i < 16; ++i) values.set(i, static_cast<double>(type == 0 ? fp4_values[i] : nf4_values[i]));
  auto half = [&](const Expr& e) { return c.expand(c.cast(e, DType::int32()), 1); };
  Expr high = c.emit("right_shift", {c.input(1), c.scalar(4, DType::uint8())});
  Expr low = c.emit("bitwise_and", {c.input(1), c.scalar(15, DType::uint8())});
  Expr codes = c.reshape(c.concatenate({half(high), half(low)}, 1), {scalar::imm(2 * bytes)});
  if (2 * bytes != all) codes = c.slice(codes, 0, 0, all);
  Expr weight = c.emit("take", {c.constant(std::move(values)), codes}, {{"axis", int64_t{0}}});
  Expr scale = c.emit("repeat", {c.cast(c.input(2), dtype)}, {{"repeats", block}, {"axis", int64_t{0}}});
  if (blocks * block != all) scale = c.slice(scale, 0, 0, all);
  weight = c.reshape(c.multiply(weight, scale), {scalar::imm(n), scalar::imm(k)});
  if (c.integer("transB", 1)) return {times_rows(c, c.input(0), weight)};
  return {matrix_product(c, c.input(0), weight)};
}

// Slices of a table along an axis; the table's numbers times the scale of their block along another.
Values GatherBlockQuantized(Convert& c) {
  Expr table = c.input(0), scales = c.input(2);
  const int64_t block = c.integer("block_size", 128), bits = c.integer("bits", 4), rank = c.rank(table);
  if (!c.expect_rank(table, 1, 32, "data") || !c.expect_rank(scales, rank, rank, "scales")) return {};
  std::optional<int64_t> axis = c.axis(c.integer("gather_axis", 0), rank),
                         along = c.axis(c.integer("quantize_axis", 1), rank);
  if (!axis || !along) return {};
  const DType stored = c.dtype(table);
  if (stored.is_storage() && !is_storage_integer(stored)) return c.unsupported("a table of {}", stored.str());
  if (block < 16 || block > INT32_MAX) return c.bad("block_size is {}", block);
  if (bits != 2 && bits != 4 && bits != 8) return c.unsupported("bits is {}; 2, 4 and 8 can be imported", bits);
  if (*axis == *along) return c.unsupported("gather_axis and quantize_axis are both {}", *axis);
  const bool packed = stored == DType::uint8();
  const DType dtype = c.dtype(scales);
  auto rows = [&](const Expr& e) { return c.emit("take", {e, c.input(1)}, {{"axis", *axis}, {"mode", "checked"}}); };
  // The position of the axis of blocks in the result.
  const int64_t at = *along < *axis ? *along : *along + c.rank(c.input(1)) - 1;
  auto unpacked_rows = [&](const Expr& e) { return packed ? unpacked(c, rows(e), bits) : rows(e); };
  Expr x = unpacked_rows(table), scale = rows(scales);
  Expr zero = packed && !c.has(3) ? c.scalar(static_cast<double>(int64_t{1} << (bits - 1)), dtype) : Expr();
  if (c.has(3)) {
    zero = c.cast(unpacked_rows(c.input(3)), dtype);
    std::optional<int64_t> stored = c.extent(zero, at), blocks = c.extent(scale, at);
    if (stored && blocks && *stored > *blocks) zero = c.slice(zero, at, 0, *blocks);  // the last byte is partly used
  }
  std::optional<int64_t> extent = c.extent(x, at);
  auto spread = [&](Expr e) {
    if (!e || c.rank(e) == 0) return e;
    e = c.emit("repeat", {e}, {{"repeats", block}, {"axis", at}});
    std::optional<int64_t> repeated = c.extent(e, at);
    return extent && repeated && *repeated > *extent ? c.slice(e, at, 0, *extent) : e;
  };
  x = c.cast(x, dtype);
  if (zero) x = c.subtract(x, spread(zero));
  return {c.multiply(x, spread(scale))};
}

}  // namespace relay::onnx::microsoft
