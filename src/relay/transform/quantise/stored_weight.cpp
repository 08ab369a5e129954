// Weights that are stored as integers and multiplied as floats.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/quantise/annotate.h"

namespace relay::transform {

using namespace ir;

namespace {

// The integers of a weight, rank 2, and their scales.
struct Stored {
  std::vector<int8_t> integers;  // in the order of the weight
  Tensor scale;                  // (rows, groups), or its transpose if the sum runs along axis 0
  int64_t group = 0;
  int64_t row = 0;   // elements along the axis of the sum
  double error = 0;  // relative
};

// The position of an element: `inner` along the axis of the sum, `outer` along the other one.
size_t position(const Shape& shape, int64_t summed, int64_t outer, int64_t inner) {
  return static_cast<size_t>(summed == 1 ? outer * shape[1] + inner : inner * shape[1] + outer);
}

// Neighbours of a row of this length that share a scale; at least 1.
int64_t group_of(const OperandForm& form, int64_t row) {
  return std::max<int64_t>(form.group > 0 ? std::gcd(row, static_cast<int64_t>(form.group)) : row, 1);
}

Stored stored(const Tensor& weight, const OperandForm& form, int64_t summed) {
  const Shape& shape = weight.shape();
  const std::span<const float> values = weight.span<float>();
  Stored out;
  out.row = shape[static_cast<size_t>(summed)];
  out.group = group_of(form, out.row);
  const int64_t rows = shape[static_cast<size_t>(1 - summed)], groups = out.row / out.group;
  const double least = -std::ldexp(1.0, form.bits - 1), most = -least - 1;
  out.integers.resize(values.size());
  const Shape of_scales = summed == 1 ? Shape{rows, groups} : Shape{groups, rows};
  out.scale = Tensor::empty(of_scales, DType::float32());
  double errors = 0, squares = 0;
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t g = 0; g < groups; ++g) {
      double extreme = 0;
      for (int64_t k = g * out.group; k < (g + 1) * out.group; ++k) {
        const double x = values[position(shape, summed, n, k)];
        if (std::abs(x) > std::abs(extreme)) extreme = x;
      }
      // A scale is a float32 that is not subnormal.
      double scale = static_cast<double>(static_cast<float>(extreme / least));
      if (std::abs(scale) < 1e-30) scale = 1;
      out.scale.set(static_cast<int64_t>(position(of_scales, summed, n, g)), scale);
    }
  const auto value = [&](int64_t n, int64_t k) { return double{values[position(shape, summed, n, k)]}; };
  round_rows(rows, out.row, form.compensation, value, [&](int64_t n, int64_t k, double x) {
    const double scale = out.scale.at(static_cast<int64_t>(position(of_scales, summed, n, k / out.group)));
    const double q = std::clamp(std::nearbyint(x / scale), least, most), exact = value(n, k);
    out.integers[position(shape, summed, n, k)] = static_cast<int8_t>(q);
    errors += (q * scale - exact) * (q * scale - exact), squares += exact * exact;
    return q * scale;
  });
  out.error = squares > 0 ? std::sqrt(errors / squares) : 0;
  return out;
}

// The integers as a constant; those of 4 and 2 bits are packed.
Expr integers_of(const Stored& s, const Shape& shape, int bits, int64_t summed, const Span& span) {
  if (bits != 4 && bits != 2) {
    Tensor out = Tensor::empty(shape, DType::int8());
    std::copy(s.integers.begin(), s.integers.end(), static_cast<int8_t*>(out.mutable_data()));
    return constant(std::move(out), span);
  }
  const int64_t per = 8 / bits;
  Shape packed = shape;
  int64_t& along = packed[static_cast<size_t>(summed)];
  along = (along + per - 1) / per;
  Tensor bytes = Tensor::full(packed, DType::uint8(), 0);
  uint8_t* to = static_cast<uint8_t*>(bytes.mutable_data());
  for (int64_t n = 0; n < shape[static_cast<size_t>(1 - summed)]; ++n)
    for (int64_t k = 0; k < s.row; ++k) {
      const int code = s.integers[position(shape, summed, n, k)] & ((1 << bits) - 1);
      to[position(packed, summed, n, k / per)] |= static_cast<uint8_t>(code << (k % per * bits));
    }
  const DType type = DType::storage(bits == 4 ? DType::Code::Int4 : DType::Code::Int2);
  return op::make("storage.unpack", {constant(std::move(bytes), span)},
                  {{"dtype", type}, {"axis", summed}, {"size", s.row}}, span);
}

}  // namespace

Expr stored_weight(const Tensor& weight, const OperandForm& form, int64_t summed, const Span& span) {
  const Stored s = stored(weight, form, summed);
  const Expr zero = constant(Tensor::scalar(0, DType::int32()), span);
  const Expr integers = integers_of(s, weight.shape(), form.bits, summed, span);
  if (s.group == s.row)
    return op::make("qnn.dequantize", {integers, constant(s.scale.reshaped({s.scale.elements()}), span), zero},
                    {{"axis", 1 - summed}}, span);
  return op::make("qnn.dequantize", {integers, constant(s.scale, span), zero}, {{"axis", summed}, {"block", s.group}},
                  span);
}

Expr stored_rows(const Expr& stored, const Call& take) {
  const Call& dequantize = *as<Call>(stored);
  auto rows = [&](const Expr& of) { return call(take.callee, {of, take.args[1]}, take.attrs, take.span); };
  const Call* unpack = as<Call>(dequantize.args[0]);
  const Tensor& integers = as<Constant>(unpack ? unpack->args[0] : dequantize.args[0])->value;
  Tensor scales = as<Constant>(dequantize.args[1])->value;
  int64_t length = attribute<int64_t>(dequantize, "block", 0), size = integers.shape()[1];
  if (unpack) size = *attribute<OptInt>(*unpack, "size", OptInt());
  if (length == 0) length = size, scales = scales.reshaped({scales.elements(), 1});
  Expr numbers = rows(unpack ? unpack->args[0] : dequantize.args[0]);
  if (unpack)
    numbers = op::make("storage.unpack", {numbers},
                       {{"dtype", attribute<DType>(*unpack, "dtype", DType())}, {"size", size}}, take.span);
  const Expr scale = attribute<int64_t>(dequantize, "block", 0) ? dequantize.args[1] : constant(scales, take.span);
  return op::make("qnn.dequantize", {numbers, rows(scale), dequantize.args[2]}, {{"block", length}}, take.span);
}

int64_t stored_bytes(const Tensor& weight, const OperandForm& form, int64_t summed) {
  const int64_t per = form.bits == 4 || form.bits == 2 ? 8 / form.bits : 1;
  const int64_t rows = weight.shape()[static_cast<size_t>(1 - summed)];
  const int64_t row = weight.shape()[static_cast<size_t>(summed)], groups = row / group_of(form, row);
  return rows * ((row + per - 1) / per + groups * DType::float32().bytes());
}

double stored_error(const Tensor& weight, const OperandForm& form, int64_t summed) {
  return stored(weight, form, summed).error;
}

}  // namespace relay::transform
