// dyn.image.resize2d: image.resize2d to a size that is known only at run time
#include "relay/op/image/resize.h"

namespace relay::ops {
namespace dyn_resize2d_cpp {
namespace {

struct DynResize2DAttrs {
  std::string layout = "NCHW";
  std::string method = "linear";
  std::string coordinate_transformation_mode = "half_pixel";
  std::string rounding_method = "round";
  double cubic_alpha = -0.5;
  int64_t cubic_exclude = 0;
  double extrapolation_value = 0;
  OptDType out_dtype;
  static constexpr auto fields =
      std::tuple{field("layout", &DynResize2DAttrs::layout, "Order of the axes."),
                 field("method", &DynResize2DAttrs::method, "\"nearest_neighbor\", \"linear\" or \"cubic\"."),
                 field("coordinate_transformation_mode", &DynResize2DAttrs::coordinate_transformation_mode,
                       "Maps positions of the result to data, as in image.resize2d, without tf_crop_and_resize."),
                 field("rounding_method", &DynResize2DAttrs::rounding_method,
                       "Rounding to the nearest element, as in image.resize2d."),
                 field("cubic_alpha", &DynResize2DAttrs::cubic_alpha, "The parameter of the cubic kernel."),
                 field("cubic_exclude", &DynResize2DAttrs::cubic_exclude,
                       "True to ignore neighbours outside of data in \"cubic\"."),
                 field("extrapolation_value", &DynResize2DAttrs::extrapolation_value, "Not used."),
                 field("out_dtype", &DynResize2DAttrs::out_dtype, "Element type of the result; None: that of data.")};
};

image::Resize options(const DynResize2DAttrs& a) {
  return {a.layout,
          a.method,
          a.coordinate_transformation_mode,
          a.rounding_method,
          a.cubic_alpha,
          a.cubic_exclude != 0,
          {},
          a.extrapolation_value};
}

Result<Type> infer(const DynResize2DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The layout is an order of NCHW, and data has an axis for each letter.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, 4, "data"));
  // (C2) The method and the modes are known ones, and need no region.
  RELAY_RETURN_IF_ERROR(image::check("C2", options(a)));
  // (C3) The size is two integers, the region floats.
  RELAY_ASSIGN(size_t sizes, shape_input("C3", in, 1, "size"));
  RELAY_ASSIGN(const TensorType* region, tensor_input(in, 2, "roi"));
  if (sizes != 2 || rank(region) != 1 || !region->dtype.is_float())
    return constraint("C3", "size must be two integers and roi a vector of floats, but they are {} and {}",
                      ir::str(in[1]), ir::str(in[2]));
  // (C4) There are pixels.
  RELAY_RETURN_IF_ERROR(image::check_pixels("C4", a.layout, data));
  Dims out = data->shape;
  for (size_t axis : image::resized_axes(a.layout)) out[axis] = scalar::any_dim();
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensor shape(const DynResize2DAttrs& a, const te::Tensors& in) {
  Exprs sizes = in[0]->shape;
  int64_t next = 0;
  for (size_t axis : image::resized_axes(a.layout)) {
    Expr size = cast(DType::int64(), (*in[1])({dim(next++)}));
    sizes[axis] = select(lt(size, dim(1)), dim(-1), size);
  }
  return shape_tensor(sizes);
}

ir::Exprs gradient(const DynResize2DAttrs& a, const Adjoint& of) {
  return image::dynamic_resize_gradient(a.layout, of, [&](const ir::Expr& line, char axis) {
    const int64_t k = axis == 'H' ? 0 : 1;
    const ir::Expr one = grad::call("ones_like", {of.inputs[1]});
    const ir::Expr mask = ir::constant(Tensor::from_ints({2}, DType::boolean(), Ints{k == 0, k == 1}));
    return grad::call("dyn.image.resize2d", {line, grad::call("where", {mask, of.inputs[1], one}), of.inputs[2]},
                      {{"method", a.method},
                       {"coordinate_transformation_mode", a.coordinate_transformation_mode},
                       {"rounding_method", a.rounding_method},
                       {"cubic_alpha", a.cubic_alpha},
                       {"cubic_exclude", a.cubic_exclude}});
  });
}

}  // namespace
}  // namespace dyn_resize2d_cpp

OpDef dyn_image_resize2d() {
  using namespace dyn_resize2d_cpp;
  return define<DynResize2DAttrs>(
      {.name = "dyn.image.resize2d",
       .doc = "Resizes images to a size that is computed at run time.",
       .inputs = {{"data", "(N, C, H, W), in the order of layout"},
                  {"size", "(2,) positive integers: the extents of H and W"},
                  {"roi", "(4,) floats, not used"}},
       // Fusion of dyn.image.resize2d: injective in the reference; its size is computed before it, so that it could
       // share a kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = [](const DynResize2DAttrs& a, const te::Tensors& in,
                     const Type& out) { return te::Tensors{image::resized("resize2d", in[0], out, options(a))}; },
       .shape = shape,
       .gradient = gradient,
       .oracle = "order(resize(order(data, layout, 'NCHW'), size.tolist(), method, coordinate_transformation_mode, "
                 "rounding_method, cubic_alpha, cubic_exclude), 'NCHW', layout)",
       .examples = {{.inputs = {"(1, 2, 4, 5)", "(2,) int64", "(4,)"}, .ranges = {{-1, 1}, {3, 8}, {0, 1}}},
                    {.inputs = {"(1, 4, 5, 2)", "(2,) int32", "(4,)"},
                     .attrs = "layout=\"NHWC\", method=\"nearest_neighbor\", "
                              "coordinate_transformation_mode=\"asymmetric\", rounding_method=\"floor\"",
                     .ranges = {{-1, 1}, {3, 8}, {0, 1}}},
                    // Sixteen products, whose weights are also products.
                    {.inputs = {"(1, 2, 4, 5)", "(2,) int64", "(4,)"},
                     .attrs = "method=\"cubic\"",
                     .ranges = {{-1, 1}, {3, 8}, {0, 1}},
                     .ulps = 16}},
       .rejects = {{{"(1, 2, 4)", "(2,) int64", "(4,)"}, "", "C1"},
                   {{"(1, 2, 0, 4)", "(2,) int64", "(4,)"}, "", "C4"},
                   {{"(1, 2, 4, 4)", "(2,) int64", "(4,)"}, "method=\"area\"", "C2"},
                   {{"(1, 2, 4, 4)", "(2,) int64", "(4,)"},
                    "coordinate_transformation_mode=\"tf_crop_and_resize\"",
                    "C2"},
                   {{"(1, 2, 4, 4)", "(3,) int64", "(4,)"}, "", "C3"},
                   {{"(1, 2, 4, 4)", "(2,) int64", "(4,) int32"}, "", "C3"}}},
      "DynResize2DAttrs");
}

}  // namespace relay::ops
