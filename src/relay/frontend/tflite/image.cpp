// Images in the order (N, H, W, C) in another size.
#include <algorithm>

#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Ints;

// Inputs: the images, their new height and width.
static Values resized(Convert& c, const char* method, const char* mode, const char* rounding) {
  std::optional<Ints> size = c.places(1, "the new size");
  Expr x = c.input(0);
  if (!size || !c.expect_rank(x, 4, 4, "the data")) return {};
  if (c.flag("align_corners") && c.flag("half_pixel_centers"))
    return c.bad("align_corners and half_pixel_centers are both set");
  return {c.emit("image.resize2d", {x},
                 {{"size", *size},
                  {"layout", "NHWC"},
                  {"method", method},
                  {"coordinate_transformation_mode", mode},
                  {"rounding_method", rounding}})};
}

// Two neighbours of each new place along an axis of integers, with weights in units of 2^-10.
static Expr between_integers(Convert& c, const Expr& x, int64_t axis, int64_t size) {
  const std::optional<int64_t> extent = c.extent(x, axis);
  if (!extent || *extent < 1 || size < 1 || size > INT32_MAX >> 10 || *extent > INT32_MAX >> 10)
    return c.unsupported("quantised images {} in another size; give their shape (--shape)", ir::str(x->type));
  const bool corners = c.flag("align_corners") && size > 1, centres = c.flag("half_pixel_centers");
  const int64_t unit = 1 << 10;
  const int64_t step =
      corners ? (unit * (*extent - 1) + (size - 1) / 2) / (size - 1) : (unit * *extent + size / 2) / size;
  Tensor low = Tensor::empty({size}, DType::int64()), high = Tensor::empty({size}, DType::int64());
  Tensor weight = Tensor::empty({size, 1}, DType::int32());
  for (int64_t i = 0; i < size; ++i) {
    const int64_t place = i * step + (centres ? step / 2 - unit / 2 : 0);
    const int64_t before = std::max<int64_t>(place / unit, 0);
    low.set_int(i, before), high.set_int(i, std::min((place + unit - 1) / unit, *extent - 1));
    weight.set_int(i, place - unit * before);
  }
  auto taken = [&](Tensor& places) {
    return c.emit("take", {x, c.constant(std::move(places))}, {{"axis", axis}, {"mode", "clip"}});
  };
  Expr right = c.constant(std::move(weight));
  if (axis == 1) right = c.expand(right, 1);
  const Expr left = c.subtract(c.scalar(static_cast<double>(unit), DType::int32()), right);
  return c.add(c.multiply(taken(low), left), c.multiply(taken(high), right));
}

// The weighted sum of four neighbours, rounded away from zero at halves.
static Values resized_integers(Convert& c) {
  std::optional<Ints> size = c.places(1, "the new size");
  Expr x = c.input(0);
  if (!size || !c.expect_rank(x, 4, 4, "the data")) return {};
  if (size->size() != 2) return c.bad("the new size is [{}]", join(*size, ", "));
  const DType dtype = c.dtype(x);
  if (dtype.bits != 8) return c.unsupported("quantised images of {}", dtype.str());
  Expr sum = between_integers(c, c.cast(x, DType::int32()), 1, (*size)[0]);
  if (!sum) return {};
  sum = between_integers(c, sum, 2, (*size)[1]);
  auto number = [&](double value) { return c.scalar(value, DType::int32()); };
  const Expr half = c.emit("where", {c.emit("greater", {sum, number(0)}), number(1 << 19), number(-(1 << 19))});
  return {c.cast(c.emit("trunc_divide", {c.add(sum, half), number(1 << 20)}), dtype)};
}

Values RESIZE_BILINEAR(Convert& c) {
  if (c.is_quantized_input(0)) return resized_integers(c);
  return resized(c, "linear",
                 c.flag("align_corners")        ? "align_corners"
                 : c.flag("half_pixel_centers") ? "half_pixel"
                                                : "asymmetric",
                 "round");
}

Values RESIZE_NEAREST_NEIGHBOR(Convert& c) {
  if (c.flag("align_corners")) return resized(c, "nearest_neighbor", "align_corners", "round_prefer_ceil");
  return resized(c, "nearest_neighbor", c.flag("half_pixel_centers") ? "tf_half_pixel_for_nn" : "asymmetric", "floor");
}

}  // namespace relay::tflite::convert
