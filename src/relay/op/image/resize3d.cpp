// image.resize3d: out[n, c, z, y, x] = data at (place(z), place(y), place(x)), interpolated. See image/resize.h for
// place().
#include "relay/op/image/resize.h"

namespace relay::ops {

OpDef image_resize3d() {
  op::OpSpec<image::ResizeOf<3>> spec = image::resize_spec<3>("image.resize3d", "Resamples volumes to another size.",
                                                              "(N, C, D, H, W), in the order of layout");
  spec.examples = {
      {.inputs = {"(1, 2, 3, 4, 5)"}, .attrs = "size=[5, 8, 4]", .symbolic = {"(n, 2, d, h, w)"}},
      {.inputs = {"(1, 3, 4, 5, 2)"},
       .attrs = "size=[6, 6, 7], layout=\"NDHWC\", method=\"nearest_neighbor\", "
                "coordinate_transformation_mode=\"align_corners\", rounding_method=\"\""},
      // Cubic weights are polynomials in the coordinate's fraction, which has the rounding errors of the coordinate.
      {.inputs = {"(1, 1, 4, 3, 5)"}, .attrs = "size=[3, 5, 4], method=\"cubic\", cubic_exclude=1", .ulps = 32},
      {.inputs = {"(1, 1, 3, 4, 5)"},
       .attrs = "size=[4], roi=[0f, 0.25f, 0f, 1f, 1.25f, 0.5f], extrapolation_value=9f, "
                "coordinate_transformation_mode=\"tf_crop_and_resize\""}};
  spec.rejects = {{{"(1, 2, 4, 4)"}, "size=[8]", "C1"},
                  {{"(1, 2, 4, 4, 4)"}, "size=[8], method=\"area\"", "C2"},
                  {{"(1, 2, 4, 4, 4)"}, "size=[8, 8]", "C3"},
                  {{"(1, 2, 4, 0, 4)"}, "size=[8]", "C4"}};
  return define<image::ResizeOf<3>>(std::move(spec), "Resize3DAttrs");
}

}  // namespace relay::ops
