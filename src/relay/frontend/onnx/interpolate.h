// Resizing along one axis after another, in any form that ONNX has: scales that give no whole number of elements, sizes
// that are computed while the model runs, filters against aliasing, any axes.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

struct Interpolation {
  std::string mode = "nearest", transformation = "half_pixel", nearest = "round_prefer_floor";
  double cubic_alpha = -0.75;
  bool exclude_outside = false, antialias = false;
  double extrapolation = 0;
};

// One axis of the data. Scalars: the new size (int64), how many new elements there are to an old one (float64), and of
// tf_crop_and_resize where the region starts and ends (float64; else null).
struct ResizedAxis {
  int64_t axis;
  ir::Expr size, scale, start, end;
  std::optional<double> known_scale = {};  // a filter against aliasing is then of few elements
};

ir::Expr interpolated(Convert& c, const ir::Expr& x, const Interpolation& how, const std::vector<ResizedAxis>& axes);

}  // namespace relay::onnx
