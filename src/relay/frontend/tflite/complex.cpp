// Complex numbers, of which Relay has no tensors: a value of two tensors, the real and the imaginary parts.
#include <cmath>
#include <numbers>

#include "relay/frontend/common/ops/matrix_product.h"
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Ints;

static Value complex(const Expr& real, const Expr& imaginary) {
  if (!real || !imaginary) return {};
  return Value(std::make_shared<const Values>(Values{Value(real), Value(imaginary)}));
}

// The real or the imaginary part of input 0.
static Expr part(Convert& c, size_t which) {
  const Value& value = c.value(0);
  if (!value.list || value.list->size() != 2) return c.bad("its input is not complex");
  return (*value.list)[which].expr;
}

Values REAL(Convert& c) { return {part(c, 0)}; }
Values IMAG(Convert& c) { return {part(c, 1)}; }
Values COMPLEX_ABS(Convert& c) {
  const Expr real = part(c, 0), imaginary = part(c, 1);
  return {c.emit("sqrt", {c.add(c.multiply(real, real), c.multiply(imaginary, imaginary))})};
}

// The Fourier transform as two matrices (length, places): exp(-2 pi i j k / length), its real and imaginary parts.
static std::optional<std::pair<Expr, Expr>> fourier(Convert& c, int64_t length, int64_t places) {
  if (!c.may_make(2 * length * places, DType::float32())) return std::nullopt;
  Tensor real = Tensor::empty({length, places}, DType::float32()),
         imaginary = Tensor::empty({length, places}, DType::float32());
  for (int64_t j = 0; j < length; ++j)
    for (int64_t k = 0; k < places; ++k) {
      const double turn = -2 * std::numbers::pi * static_cast<double>(j * k % length) / static_cast<double>(length);
      real.set(j * places + k, std::cos(turn)), imaginary.set(j * places + k, std::sin(turn));
    }
  return std::pair(c.constant(std::move(real)), c.constant(std::move(imaginary)));
}

// Inputs: reals (.., H, W), the lengths of the transform along the last two axes, to which they are cut or padded with
// zeros. The result has the first half of the last axis and its middle.
Values RFFT2D(Convert& c) {
  Expr x = c.input(0);
  std::optional<Ints> lengths = c.ints(1, "the lengths");
  if (!lengths || !c.expect_rank(x, 2, 32, "the data")) return {};
  if (lengths->size() != 2 || (*lengths)[0] < 1 || (*lengths)[1] < 1 || (*lengths)[0] > 65536 || (*lengths)[1] > 65536)
    return c.bad("the lengths are [{}]", join(*lengths, ", "));
  const int64_t rank = c.rank(x), rows = (*lengths)[0], columns = (*lengths)[1];
  ir::IntLists widths(static_cast<size_t>(rank), Ints{0, 0});
  for (int64_t i : {0, 1}) {
    const std::optional<int64_t> extent = c.extent(x, rank - 2 + i);
    if (!extent) return c.unsupported("data {}; give its shape (--shape)", ir::str(x->type));
    widths[static_cast<size_t>(rank - 2 + i)][1] = (*lengths)[static_cast<size_t>(i)] - *extent;
  }
  x = c.pad(x, widths, c.scalar(0, c.dtype(x)), "constant");
  const auto along_row = fourier(c, columns, columns / 2 + 1);
  if (!along_row) return {};
  Expr real = matrix_product(c, x, along_row->first), imaginary = matrix_product(c, x, along_row->second);
  if (rows == 1) return {complex(real, imaginary)};
  const auto along_column = fourier(c, rows, rows);
  if (!along_column) return {};
  const auto& [cosine, sine] = *along_column;  // symmetric matrices
  auto times = [&](const Expr& matrix, const Expr& e) { return matrix_product(c, matrix, e); };
  return {complex(c.subtract(times(cosine, real), times(sine, imaginary)),
                  c.add(times(cosine, imaginary), times(sine, real)))};
}

}  // namespace relay::tflite::convert
