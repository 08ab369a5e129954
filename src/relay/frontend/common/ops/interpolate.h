// Resizing along one axis after another, in any form that ONNX has: scales that do not yield whole numbers of elements,
// sizes that are computed at run time, filters against aliasing, any axes.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

struct Interpolation {
  std::string mode = "nearest", transformation = "half_pixel";
  std::string nearest = "round_prefer_floor";  // or "inwards": up along axes that shrink, down along the others
  double cubic_alpha = -0.75;
  bool exclude_outside = false, antialias = false;
  double extrapolation = 0;
};

// A resized axis of the data. Scalars: the new size (int64), the number of new elements per old one (float64), and for
// tf_crop_and_resize the start and end of the region (float64; else null).
struct ResizedAxis {
  int64_t axis;
  ir::Expr size, scale, start, end;
  std::optional<double> known_scale = {};  // if set, a filter against aliasing has few elements
};

ir::Expr interpolated(Conversion& c, const ir::Expr& x, const Interpolation& how, const std::vector<ResizedAxis>& axes);

}  // namespace relay::frontend
