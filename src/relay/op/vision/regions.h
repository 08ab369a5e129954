// Shared parts of operators on regions of images.
#pragma once

#include "relay/op/common.h"

namespace relay::op::vision {

// (C1) Checks that data is images (N, C, H, W) of floats, in layout NCHW. (C2) Checks that a region is five numbers of
// data's type: the batch index, and two corners.
inline Status check_regions(const Types& in, const std::string& layout) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* rois, tensor_input(in, 1, "rois"));
  if (rank(data) != 4 || !data->dtype.is_float() || layout != "NCHW")
    return constraint("C1", "data should be images (N, C, H, W) of floats, in layout \"NCHW\", but is {} in \"{}\"",
                      ir::str(in[0]), layout);
  for (size_t d : {0, 2, 3})
    if (scalar::is_int(data->shape[d], 0)) return constraint("C1", "data {} has no pixels", text(data->shape));
  if (rank(rois) != 2 || !agree(rois->shape[1], dim(5)) || rois->dtype != data->dtype)
    return constraint("C2", "rois should be (regions, 5) of {}, but is {}", data->dtype.str(), ir::str(in[1]));
  return ok();
}

// Checks that the batch indices of regions are in range.
inline Checks checked_images(const Types& in) {
  auto images = [](const te::Tensors& tensors) {
    return te::compute("images", {tensors[1]->shape[0]},
                       [&](const Exprs& i) { return cast(DType::int64(), (*tensors[1])({i[0], dim(0)})); });
  };
  return {{1, {as<TensorType>(in[0])->shape[0]}, {no_axis}, images, "the batch"}};
}

}  // namespace relay::op::vision
