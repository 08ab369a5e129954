// image.resize1d: out[n, c, x] = data at place(x), interpolated. See image/resize.h for place().
#include "relay/op/image/resize.h"

namespace relay::ops {

OpDef image_resize1d() {
  op::OpSpec<image::ResizeOf<1>> spec = image::resize_spec<1>("image.resize1d", "Resamples signals to another size.",
                                                              "(N, C, W), in the order of layout");
  spec.examples = {
      {.inputs = {"(1, 2, 5)"}, .attrs = "size=[10]", .symbolic = {"(n, 2, w)"}},
      {.inputs = {"(1, 5, 2)"},
       .attrs =
           "size=[12], layout=\"NWC\", method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\", "
           "rounding_method=\"\""},
      // Cubic weights are polynomials in the coordinate's fraction, which has the rounding errors of the coordinate.
      {.inputs = {"(1, 1, 7)"}, .attrs = "size=[9], method=\"cubic\", cubic_alpha=-0.75f", .ulps = 32},
      {.inputs = {"(1, 2, 7)"},
       .attrs = "size=[4], roi=[0.25f, 1.25f], coordinate_transformation_mode=\"tf_crop_and_resize\", "
                "extrapolation_value=9f"}};
  spec.rejects = {{{"(1, 2, 4, 4)"}, "size=[8]", "C1"},
                  {{"(1, 2, 4)"}, "size=[8], method=\"area\"", "C2"},
                  {{"(1, 2, 4)"}, "size=[8, 8]", "C3"},
                  {{"(1, 2, 0)"}, "size=[8]", "C4"}};
  return define<image::ResizeOf<1>>(std::move(spec), "Resize1DAttrs");
}

}  // namespace relay::ops
