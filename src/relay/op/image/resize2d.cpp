// image.resize2d: out[n, c, y, x] = data at (place(y), place(x)), interpolated. See image/resize.h for the places.
#include "relay/op/image/resize.h"

namespace relay::ops {
namespace {

struct Resize2DAttrs {
  Dims size;
  std::vector<double> roi;
  std::string layout = "NCHW";
  std::string method = "linear";
  std::string coordinate_transformation_mode = "half_pixel";
  std::string rounding_method = "round";
  double cubic_alpha = -0.5;
  int64_t cubic_exclude = 0;
  double extrapolation_value = 0;
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      required_field("size", &Resize2DAttrs::size, "Extents [H, W] of the result."),
      field("roi", &Resize2DAttrs::roi, "For tf_crop_and_resize: the region [y0, x0, y1, x1] of data, from 0 to 1."),
      field("layout", &Resize2DAttrs::layout, "Order of the axes."),
      field("method", &Resize2DAttrs::method, "\"nearest_neighbor\", \"linear\" or \"cubic\"."),
      field("coordinate_transformation_mode", &Resize2DAttrs::coordinate_transformation_mode,
            "Where a place of the result lies in data: half_pixel, align_corners, asymmetric, pytorch_half_pixel, "
            "tf_half_pixel_for_nn, tf_crop_and_resize."),
      field("rounding_method", &Resize2DAttrs::rounding_method,
            "What is nearest: round, floor, ceil, round_prefer_floor, round_prefer_ceil."),
      field("cubic_alpha", &Resize2DAttrs::cubic_alpha, "The parameter of the cubic kernel."),
      field("cubic_exclude", &Resize2DAttrs::cubic_exclude,
            "Whether neighbours outside of data count for nothing in \"cubic\"."),
      field("extrapolation_value", &Resize2DAttrs::extrapolation_value,
            "The value outside of data, for tf_crop_and_resize."),
      field("out_dtype", &Resize2DAttrs::out_dtype, "Element type of the result; None: of data.")};
};

image::Resize options(const Resize2DAttrs& a) {
  return {a.layout,
          a.method,
          a.coordinate_transformation_mode,
          a.rounding_method,
          a.cubic_alpha,
          a.cubic_exclude != 0,
          a.roi,
          a.extrapolation_value};
}

Result<Type> infer(const Resize2DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The layout is an order of NCHW, and data has four axes.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, 4, "data"));
  // (C2) The method and the modes are known ones.
  RELAY_RETURN_IF_ERROR(image::check("C2", options(a)));
  // (C3) The result has a size.
  if (a.size.size() != 1 && a.size.size() != 2)
    return constraint("C3", "size must be one extent or two, but is {}", text(a.size));
  for (const Dim& extent : a.size)
    if (!at_least(extent, dim(1))) return constraint("C3", "size must be positive, but is {}", text(a.size));
  Dims out = data->shape;
  out[a.layout.find('H')] = a.size.front(), out[a.layout.find('W')] = a.size.back();
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute(const Resize2DAttrs& a, const te::Tensors& in, const Type& out) {
  return {image::resized("resize2d", in[0], out, options(a))};
}

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
    for (const char* rounding : {"round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"})
      out.push_back({.inputs = {"(1, 1, 4, 6)"},
                     .attrs = format("size=[8, 3], method=\"nearest_neighbor\", coordinate_transformation_mode=\"{}\", "
                                     "rounding_method=\"{}\"",
                                     mode, rounding)});
  }
  return out;
}

}  // namespace

OpDef image_resize2d() {
  return define<Resize2DAttrs>(
      {.name = "image.resize2d",
       .doc = "Resamples images to another size.",
       .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .oracle = "order(resize(order(data, layout, 'NCHW'), size, method, coordinate_transformation_mode, "
                 "rounding_method, cubic_alpha, cubic_exclude, roi,"
                 " extrapolation_value), 'NCHW', layout)",
       .examples = examples(),
       .rejects = {{{"(1, 2, 4)"}, "size=[8, 8]", "C1"},
                   {{"(1, 2, 4, 4)"}, "size=[8, 8], method=\"area\"", "C2"},
                   {{"(1, 2, 4, 4)"}, "size=[8, 8], coordinate_transformation_mode=\"tf_crop_and_resize\"", "C2"},
                   {{"(1, 2, 4, 4)"}, "size=[8, 8, 8]", "C3"},
                   {{"(1, 2, 4, 4)"}, "size=[0, 8]", "C3"}}},
      "Resize2DAttrs");
}

}  // namespace relay::ops
