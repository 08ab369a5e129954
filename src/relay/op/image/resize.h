// Resampling of the axes H and W, shared by image.resize2d and nn.upsampling.
//
// A coordinate of the result is a place in data. All modes but tf_crop_and_resize give a fraction of whole numbers, so
// the nearest element and the weights of its neighbours are exact, whatever the size; half_pixel, for one, is
//   ((2 * x + 1) * in - out) / (2 * out)
#pragma once

#include "relay/op/common.h"

namespace relay::op::image {

struct Resize {
  std::string layout = "NCHW";
  std::string method = "linear";           // nearest_neighbor, linear, cubic
  std::string coordinates = "half_pixel";  // the coordinate_transformation_mode
  std::string rounding = "round";          // of nearest_neighbor
  double cubic_alpha = -0.5;
  bool cubic_exclude = false;      // neighbours outside of data count for nothing
  std::vector<double> roi;         // of tf_crop_and_resize: [y0, x0, y1, x1], in [0, 1]
  double extrapolation_value = 0;  // outside of data, for tf_crop_and_resize
};

// Constraint `number`: the words are known ones.
Status check(const char* number, const Resize& r);
te::Tensor resized(const char* name, const te::Tensor& data, const Type& out, const Resize& r);

}  // namespace relay::op::image
