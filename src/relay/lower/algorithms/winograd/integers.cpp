// Winograd's form of convolutions of bytes, on integers of 16 bits, for machines that multiply pairs of these faster
// than floats and have no instruction for bytes. Results are those of the direct sum, bit for bit.
//
//   d = int16(byte) - zero point                        at most 255
//   B^T d B        at most 100 times as large: 25500
//   G w G^T        scaled to integers, at most 144 times as large as a weight: 18432
//   product        pairs of both, summed modulo 2^32
//   A^T product A  s times the result modulo 2^32; s is 24 for each direction with four outputs, 2 with two
//
// The odd factor of s has an inverse modulo 2^32, with which the sums are multiplied. What is left of s is a power of
// two. If results times that power fit into 32 bits, a shift gives them. The constant weight proves it.
#include <algorithm>
#include <cmath>

#include "relay/lower/algorithms/winograd/winograd.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::BinaryOp;
using scalar::Kind;

namespace {

bool is_byte(DType t) { return t == DType::int8() || t == DType::uint8(); }

int64_t least_of(DType byte) { return byte == DType::int8() ? INT8_MIN : 0; }
int64_t most_of(DType byte) { return byte == DType::int8() ? INT8_MAX : UINT8_MAX; }

// A byte that is the same for all elements, from `e`, which widens it: a number of any type, or an expression of its
// type. Null for everything else, and for numbers that `type` does not hold.
Expr same_byte(const Expr& e, DType type) {
  Expr inner = e->kind == Kind::Cast ? e->args[0] : e;
  if (inner->kind == Kind::Load && inner->args.empty())
    if (const auto* stage = dynamic_cast<const te::TensorNode*>(inner->source.get()); stage && stage->body)
      if (scalar::is_int(stage->body)) inner = stage->body;
  if (scalar::is_int(inner)) return least_of(type) <= inner->ivalue && inner->ivalue <= most_of(type) ? inner : Expr{};
  bool same = is_byte(inner->dtype);
  scalar::visit(inner, [&](const Expr& n) { same = same && n->kind != Kind::Var; });
  return same ? inner : Expr{};
}

}  // namespace

std::optional<ByteFactor> byte_factor(const Expr& e) {
  if (e->dtype != DType::int32()) return std::nullopt;
  if (e->kind == Kind::Cast && e->args[0]->kind == Kind::Load && is_byte(e->args[0]->dtype))
    return ByteFactor{e->args[0], {}};
  if (e->kind == Kind::Binary && e->binary == BinaryOp::Sub) {
    std::optional<ByteFactor> f = byte_factor(e->args[0]);
    if (!f || f->zero_point) return std::nullopt;
    const Expr zero = same_byte(e->args[1], f->load->dtype);
    if (!zero) return std::nullopt;
    if (!scalar::is_int(zero, 0))
      f->zero_point =
          scalar::is_int(zero) ? scalar::imm(zero->ivalue, DType::int16()) : scalar::cast(DType::int16(), zero);
    return f;
  }
  // A stage of differences.
  if (e->kind != Kind::Load) return std::nullopt;
  const te::TensorNode* stage = dynamic_cast<const te::TensorNode*>(e->source.get());
  if (!stage || stage->is_placeholder() || stage->combiner != te::Combiner::None || stage->is_program())
    return std::nullopt;
  std::vector<scalar::Binding> bindings;
  for (size_t d = 0; d < stage->axes.size(); ++d) bindings.push_back({stage->axes[d].var, e->args[d]});
  return byte_factor(scalar::substitute(stage->body, bindings));
}

Scale integer_scale(Winograd::Side side) {
  // The divisors of the points 0, 1, -1 are -1, 2, 2; those of 0, 1, -1, 2, -2 are 4, -6, -6, 24, 24.
  if (side.r == 1) return {1, 0};
  return side.m == 2 ? Scale{1, 1} : Scale{3, 3};
}

WinogradMatrices integer_matrices(Winograd::Side side) {
  const Scale scale = integer_scale(side);
  WinogradMatrices out = side.m == 4 ? cook_toom({0, 1, -1, 2, -2}, side) : winograd_matrices(side);
  for (std::vector<double>& row : out.weight)
    for (double& f : row) f = std::round(f * static_cast<double>(scale.odd << scale.shift));
  if (side.m < 4) return out;
  // Infinity has the greatest factor of the weight, so the results take a half of it.
  for (double& f : out.weight.back()) f /= 2;
  out.output.back().back() *= 2;
  return out;
}

// The inverse of an odd number modulo 2^32.
static uint32_t inverse(uint32_t odd) {
  uint32_t x = odd;  // right in the lowest three bits; each step doubles them
  for (int bits = 3; bits < DType::int32().bits; bits *= 2) x *= 2 - odd * x;
  return x;
}

Expr without_scale(const Expr& e, const WinogradTile& tile) {
  const Scale y = integer_scale(tile.y), x = integer_scale(tile.x);
  Expr out = e;
  if (y.odd * x.odd > 1) out = out * static_cast<int32_t>(inverse(static_cast<uint32_t>(y.odd * x.odd)));
  return y.shift + x.shift == 0 ? out
                                : scalar::binary(BinaryOp::Shr, out, scalar::imm(y.shift + x.shift, DType::int32()));
}

bool results_fit(const Convolution& conv, const WinogradTile& tile, const Tensor& weight) {
  const DType type = conv.data->dtype;
  int64_t least = least_of(type), most = most_of(type);
  if (conv.zero_point && scalar::is_int(conv.zero_point))
    least -= conv.zero_point->ivalue, most -= conv.zero_point->ivalue;
  else if (conv.zero_point)
    least = -UINT8_MAX, most = UINT8_MAX;
  // The axis of the weight that counts outputs.
  const Expr& o = conv.sum->axes[conv.o].var;
  const size_t dim =
      static_cast<size_t>(std::find(conv.weight->args.begin(), conv.weight->args.end(), o) - conv.weight->args.begin());
  if (dim >= weight.shape().size()) return false;
  int64_t inside = 1;
  for (size_t d = dim + 1; d < weight.shape().size(); ++d) inside *= weight.shape()[d];
  const int64_t outputs = weight.shape()[dim];
  std::vector<int64_t> positive(static_cast<size_t>(outputs)), negative(static_cast<size_t>(outputs));
  const std::span<const int8_t> values = weight.span<int8_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t output = static_cast<size_t>(static_cast<int64_t>(i) / inside % outputs);
    (values[i] > 0 ? positive : negative)[output] += values[i];
  }
  const int64_t sign_bit = DType::int32().bits - 1;
  const int64_t limit = int64_t{1} << (sign_bit - integer_scale(tile.y).shift - integer_scale(tile.x).shift);
  for (size_t i = 0; i < positive.size(); ++i)
    if (most * positive[i] + least * negative[i] >= limit || least * positive[i] + most * negative[i] < -limit)
      return false;
  return true;
}

}  // namespace relay::lower
