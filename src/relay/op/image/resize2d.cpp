// image.resize2d: out[n, c, y, x] = data at (place(y), place(x)), interpolated. See image/resize.h for place().
#include "relay/op/image/resize.h"

namespace relay::ops {
namespace resize2d_cpp {
namespace {

std::vector<Example> examples() {
  std::vector<Example> out = {
      {.inputs = {"(1, 2, 4, 5)"}, .attrs = "size=[8, 10]", .symbolic = {"(n, 2, h, w)"}},
      {.inputs = {"(1, 5, 4, 2)"},
       .attrs = "size=[10, 12], layout=\"NHWC\", method=\"nearest_neighbor\", "
                "coordinate_transformation_mode=\"asymmetric\", rounding_method=\"floor\""},
      // Cubic weights are polynomials in the coordinate's fraction, which has the rounding errors of the coordinate.
      {.inputs = {"(1, 1, 6, 7)"}, .attrs = "size=[4, 9], method=\"cubic\", cubic_alpha=-0.75f", .ulps = 32},
      {.inputs = {"(1, 1, 6, 7)"}, .attrs = "size=[9, 4], method=\"cubic\", cubic_exclude=1", .ulps = 32},
      {.inputs = {"(1, 2, 6, 7)"},
       .attrs = "size=[5, 4], roi=[0.25f, 0f, 1.25f, 0.5f], coordinate_transformation_mode=\"tf_crop_and_resize\", "
                "extrapolation_value=9f"},
      {.inputs = {"(1, 3, 4, 4) uint8"},
       .attrs = "size=[8, 8], method=\"nearest_neighbor\"",
       .low = 0,
       .high = 255,
       .ulps = 0}};
  for (const char* mode : {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"}) {
    out.push_back({.inputs = {"(1, 2, 5, 6)"},
                   .attrs = format("size=[7, 1], coordinate_transformation_mode=\"{}\"", mode),
                   .symbolic = {"(1, 2, h, 6)"}});
    for (const char* rounding : {"", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"})
      out.push_back({.inputs = {"(1, 1, 4, 6)"},
                     .attrs = format("size=[8, 3], method=\"nearest_neighbor\", coordinate_transformation_mode=\"{}\", "
                                     "rounding_method=\"{}\"",
                                     mode, rounding)});
  }
  return out;
}

}  // namespace
}  // namespace resize2d_cpp

OpDef image_resize2d() {
  using namespace resize2d_cpp;
  op::OpSpec<image::ResizeOf<2>> spec = image::resize_spec<2>("image.resize2d", "Resamples images to another size.",
                                                              "(N, C, H, W), in the order of layout");
  spec.examples = examples();
  spec.rejects = {{{"(1, 2, 4)"}, "size=[8, 8]", "C1"},
                  {{"(1, 2, 4, 4)"}, "size=[8, 8], method=\"area\"", "C2"},
                  {{"(1, 2, 4, 4)"}, "size=[8, 8], coordinate_transformation_mode=\"tf_crop_and_resize\"", "C2"},
                  {{"(1, 2, 0, 4)"}, "size=[8, 8]", "C4"},
                  {{"(1, 2, 4, 4)"}, "size=[8, 8, 8]", "C3"},
                  {{"(1, 2, 4, 4)"}, "size=[0, 8]", "C3"}};
  return define<image::ResizeOf<2>>(std::move(spec), "Resize2DAttrs");
}

}  // namespace relay::ops
