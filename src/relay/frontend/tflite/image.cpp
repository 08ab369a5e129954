// Images in the order (N, H, W, C) in another size.
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Ints;

// Inputs: the images, their new height and width.
static Values resized(Convert& c, const char* method, const char* mode, const char* rounding) {
  std::optional<Ints> size = c.ints(1, "the new size");
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

Values RESIZE_BILINEAR(Convert& c) {
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
