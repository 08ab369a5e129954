// Resampling of the axes D, H and W, shared by image.resize1d to image.resize3d and nn.upsampling.
//
// A coordinate of the result maps to a position in data. In all modes except tf_crop_and_resize the position is a
// fraction of integers, so the nearest element and the weights of its neighbours are exact for any size; half_pixel,
// for example, is
//   ((2 * x + 1) * in - out) / (2 * out)
//
// Integers are weighted in float64 and rounded once, to the nearest integer (halves to even), and saturate.
#pragma once

#include "relay/op/gradient.h"

namespace relay::op::image {

struct Resize {
  std::string layout = "NCHW";
  std::string method = "linear";           // nearest_neighbor, linear, cubic
  std::string coordinates = "half_pixel";  // the coordinate_transformation_mode
  std::string rounding = "round";          // for nearest_neighbor; "": "round" with align_corners, else "floor"
  double cubic_alpha = -0.5;
  bool cubic_exclude = false;      // neighbours outside of data have weight 0
  std::vector<double> roi;         // for tf_crop_and_resize: [y0, x0, y1, x1], in [0, 1]; likewise for other axes
  double extrapolation_value = 0;  // outside of data, for tf_crop_and_resize
};

// The positions of D, H and W in a layout, in that order.
std::vector<size_t> resized_axes(const std::string& layout);
// Constraint `number`: the mode names are known.
Status check(const char* number, const Resize& r);
// Checks that data has pixels along the resized axes.
Status check_pixels(const char* number, const std::string& layout, const TensorType* data);
// The gradient. Resizing is linear along each axis: the gradient multiplies by the matrix of each axis, whose rows are
// resized rows of the identity matrix. Empty if a matrix is too large, or if the extents of the result have no name.
ir::Exprs resize_gradient(const Resize& r, const Adjoint& of);
// The same for extents of the result that are known only at run time. `resized(image, axis)` resizes an image (1, C, H,
// W) (or D, H, W), in which only the axis of that letter has more than one element, as data is resized.
ir::Exprs dynamic_resize_gradient(const std::string& layout, const Adjoint& of,
                                  const std::function<ir::Expr(const ir::Expr& image, char axis)>& resized);
te::Tensor resized(const char* name, const te::Tensor& data, const Type& out, const Resize& r);

struct ResizeAttrs {
  Dims size;
  std::vector<double> roi;
  std::string layout;
  std::string method = "linear";
  std::string coordinate_transformation_mode = "half_pixel";
  std::string rounding_method = "round";
  double cubic_alpha = -0.5;
  int64_t cubic_exclude = 0;
  double extrapolation_value = 0;
  OptDType out_dtype;
};

// The attributes with the defaults for this number of axes.
template <size_t axes>
struct ResizeOf : ResizeAttrs {
  ResizeOf() { layout = "NC" + std::string("DHW").substr(3 - axes); }
  static constexpr auto fields = std::tuple{
      required_field("size", &ResizeOf::size, "Extents of the result, one per axis or one for all."),
      field("roi", &ResizeOf::roi,
            "For tf_crop_and_resize: the region of data, from 0 to 1; its begin along each axis, then its end along "
            "each axis."),
      field("layout", &ResizeOf::layout, "Order of the axes."),
      field("method", &ResizeOf::method, "\"nearest_neighbor\", \"linear\" or \"cubic\"."),
      field("coordinate_transformation_mode", &ResizeOf::coordinate_transformation_mode,
            "Maps positions of the result to data: half_pixel, align_corners, asymmetric, pytorch_half_pixel, "
            "tf_half_pixel_for_nn or tf_crop_and_resize."),
      field("rounding_method", &ResizeOf::rounding_method,
            "Rounding to the nearest element: round, floor, ceil, round_prefer_floor or round_prefer_ceil; empty: "
            "round with align_corners, otherwise floor."),
      field("cubic_alpha", &ResizeOf::cubic_alpha, "The parameter of the cubic kernel."),
      field("cubic_exclude", &ResizeOf::cubic_exclude, "True to ignore neighbours outside of data in \"cubic\"."),
      field("extrapolation_value", &ResizeOf::extrapolation_value,
            "Value for points outside of data, for tf_crop_and_resize."),
      field("out_dtype", &ResizeOf::out_dtype, "Element type of the result; None: that of data.")};
};

Resize options(const ResizeAttrs& a);
Result<Type> infer_resize(size_t axes, const ResizeAttrs& a, const Types& in);
std::string resize_oracle(size_t axes);

// Everything except examples and rejects.
template <size_t axes>
OpSpec<ResizeOf<axes>> resize_spec(const char* name, const char* doc, const char* input) {
  OpSpec<ResizeOf<axes>> spec;
  spec.name = name, spec.doc = doc, spec.inputs = {{"data", input}}, spec.fusion = Fusion::Injective;
  spec.infer = [](const ResizeOf<axes>& a, const Types& in) { return infer_resize(axes, a, in); };
  spec.compute = [](const ResizeOf<axes>& a, const te::Tensors& in, const Type& out) {
    return te::Tensors{resized(format("resize{}d", axes).c_str(), in[0], out, options(a))};
  };
  spec.gradient = [](const ResizeOf<axes>& a, const Adjoint& of) { return resize_gradient(options(a), of); };
  spec.oracle = resize_oracle(axes);
  return spec;
}

}  // namespace relay::op::image
