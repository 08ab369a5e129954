// nn.upsampling: images scaled by scale_h and scale_w: out[n, c, y, x] = data at (y / scale_h, x / scale_w),
// interpolated; with align_corners the corners of both coincide.
// nn.upsampling3d: the same for volumes, by scale_d, scale_h and scale_w; coordinate_transformation_mode determines the
// position in data (image/resize.h).
// Layouts of both may have blocks (nn/conv/blocked.h).
// dyn.nn.upsampling, dyn.nn.upsampling3d: the same with the scales as inputs.
#include <cmath>

#include "relay/op/image/resize.h"
#include "relay/op/nn/conv/blocked.h"

namespace relay::ops {
namespace upsampling_cpp {
namespace {

struct UpSamplingAttrs {
  double scale_h = 1;
  double scale_w = 1;
  std::string layout = "NCHW";
  std::string method = "nearest_neighbor";
  bool align_corners = false;
  static constexpr auto fields = std::tuple{
      field("scale_h", &UpSamplingAttrs::scale_h, "The scale along H."),
      field("scale_w", &UpSamplingAttrs::scale_w, "The scale along W."),
      field("layout", &UpSamplingAttrs::layout, "Order of the axes."),
      field("method", &UpSamplingAttrs::method, "\"nearest_neighbor\", \"bilinear\" or \"bicubic\"."),
      field("align_corners", &UpSamplingAttrs::align_corners, "True to align the corners of data and result.")};
};

struct UpSampling3DAttrs {
  double scale_d = 1;
  double scale_h = 1;
  double scale_w = 1;
  std::string layout = "NCDHW";
  std::string method = "nearest_neighbor";
  std::string coordinate_transformation_mode = "half_pixel";
  static constexpr auto fields =
      std::tuple{field("scale_d", &UpSampling3DAttrs::scale_d, "The scale along D."),
                 field("scale_h", &UpSampling3DAttrs::scale_h, "The scale along H."),
                 field("scale_w", &UpSampling3DAttrs::scale_w, "The scale along W."),
                 field("layout", &UpSampling3DAttrs::layout, "Order of the axes."),
                 field("method", &UpSampling3DAttrs::method, "\"nearest_neighbor\" or \"trilinear\"."),
                 field("coordinate_transformation_mode", &UpSampling3DAttrs::coordinate_transformation_mode,
                       "Maps positions of the result to data: half_pixel, align_corners or asymmetric.")};
};

image::Resize options(const UpSamplingAttrs& a) {
  image::Resize r;
  r.layout = a.layout;
  r.method = a.method == "bilinear" ? "linear" : a.method == "bicubic" ? "cubic" : a.method;
  r.coordinates = a.align_corners ? "align_corners" : "asymmetric";
  r.rounding = "floor";
  return r;
}

image::Resize options(const UpSampling3DAttrs& a) {
  image::Resize r;
  r.layout = a.layout;
  r.method = a.method == "trilinear" ? "linear" : a.method;
  r.coordinates = a.coordinate_transformation_mode;
  r.rounding = "";
  return r;
}

// (C1) The layout is an order of NC and the axes that are scaled, and data has an axis for each letter.
// (C2) The method is a known one.
Result<Type> scaled(const image::Resize& r, const std::string& letters, const std::vector<double>& scales,
                    const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", r.layout, letters));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, letters.size(), "data"));
  RELAY_RETURN_IF_ERROR(image::check("C2", r));
  Dims out = data->shape;
  const std::vector<size_t> axes = image::resized_axes(r.layout);
  for (size_t d = 0; d < axes.size(); ++d) {
    // (C3) Scales are positive, and integral if the extent is unknown.
    Dim& extent = out[axes[d]];
    const double scale = scales[d];
    if (!(scale > 0 && scale <= 0x1p40))
      return constraint("C3", "scales must be positive and at most 2^40, but one is {}", scale);
    if (scalar::is_int(extent))
      extent = dim(std::llround(static_cast<double>(extent->ivalue) * scale));
    else if (scale == std::floor(scale))
      extent = scalar::simplify(extent * static_cast<int64_t>(scale));
    else
      return constraint("C3", "data {} cannot be scaled by {}: a symbolic extent needs a whole scale",
                        text(data->shape), scale);
  }
  return ir::tensor_type(std::move(out), data->dtype);
}

Result<Type> infer(const UpSamplingAttrs& a, const Types& in) {
  return scaled(options(a), "NCHW", {a.scale_h, a.scale_w}, in);
}

Result<Type> infer_3d(const UpSampling3DAttrs& a, const Types& in) {
  // (C4) The coordinate mode is one of three.
  const std::string& mode = a.coordinate_transformation_mode;
  if (mode != "half_pixel" && mode != "align_corners" && mode != "asymmetric")
    return constraint("C4", "coordinate_transformation_mode \"{}\" is none of half_pixel, align_corners, asymmetric",
                      mode);
  return scaled(options(a), "NCDHW", {a.scale_d, a.scale_h, a.scale_w}, in);
}

te::Tensors compute(const UpSamplingAttrs& a, const te::Tensors& in, const Type& out) {
  return {image::resized("upsampling", in[0], out, options(a))};
}

struct DynUpSamplingAttrs {
  std::string layout = "NCHW";
  std::string method = "nearest_neighbor";
  bool align_corners = false;
  static constexpr auto fields = std::tuple{
      field("layout", &DynUpSamplingAttrs::layout, "Order of the axes."),
      field("method", &DynUpSamplingAttrs::method, "\"nearest_neighbor\", \"bilinear\" or \"bicubic\"."),
      field("align_corners", &DynUpSamplingAttrs::align_corners, "True to align the corners of data and result.")};
};

struct DynUpSampling3DAttrs {
  std::string layout = "NCDHW";
  std::string method = "nearest_neighbor";
  std::string coordinate_transformation_mode = "half_pixel";
  static constexpr auto fields =
      std::tuple{field("layout", &DynUpSampling3DAttrs::layout, "Order of the axes."),
                 field("method", &DynUpSampling3DAttrs::method, "\"nearest_neighbor\" or \"trilinear\"."),
                 field("coordinate_transformation_mode", &DynUpSampling3DAttrs::coordinate_transformation_mode,
                       "Maps positions of the result to data: half_pixel, align_corners or asymmetric.")};
};

image::Resize options(const DynUpSamplingAttrs& a) {
  return options(UpSamplingAttrs{1, 1, a.layout, a.method, a.align_corners});
}
image::Resize options(const DynUpSampling3DAttrs& a) {
  return options(UpSampling3DAttrs{1, 1, 1, a.layout, a.method, a.coordinate_transformation_mode});
}

// (C1) and (C2) as above. (C3) A scale is one float.
template <class A>
Result<Type> infer_dynamic(const A& a, const Types& in, const std::string& letters) {
  const image::Resize r = options(a);
  RELAY_ASSIGN(Type known, scaled(r, letters, std::vector<double>(letters.size() - 2, 1.0), in));
  Dims shape = shape_of(known);
  const std::vector<size_t> axes = image::resized_axes(r.layout);
  for (size_t d = 0; d < axes.size(); ++d) {
    RELAY_ASSIGN(const TensorType* scale, tensor_input(in, 1 + d, "a scale"));
    if (!scale->shape.empty() || !scale->dtype.is_float())
      return constraint("C3", "a scale must be one float, but is {}", ir::str(in[1 + d]));
    shape[axes[d]] = scalar::any_dim();
  }
  return ir::tensor_type(std::move(shape), dtype_of(known));
}

// Extents times scales, rounded; -1 for a scale that is not positive, which is refused.
template <class A>
te::Tensor dynamic_shape(const A& a, const te::Tensors& in) {
  Exprs sizes = in[0]->shape;
  const std::vector<size_t> axes = image::resized_axes(options(a).layout);
  const DType wide = DType::float64();
  for (size_t d = 0; d < axes.size(); ++d) {
    Expr scale = cast(wide, (*in[1 + d])({})), extent = cast(wide, sizes[axes[d]]);
    Expr size = cast(DType::int64(), unary(UnaryOp::Floor, extent * scale + number(0.5, wide)));
    sizes[axes[d]] = select(lt(number(0, wide), scale), size, dim(-1));
  }
  return shape_tensor(sizes);
}

AttrValues method_attrs(const DynUpSamplingAttrs& a) {
  return {{"method", a.method}, {"align_corners", a.align_corners}};
}
AttrValues method_attrs(const DynUpSampling3DAttrs& a) {
  return {{"method", a.method}, {"coordinate_transformation_mode", a.coordinate_transformation_mode}};
}

template <class A>
ir::Exprs dynamic_gradient(const char* name, const A& a, const std::string& letters, const Adjoint& of) {
  return image::dynamic_resize_gradient(a.layout, of, [&](const ir::Expr& line, char axis) {
    ir::Exprs args = {line};
    for (size_t k = 1; k < of.inputs.size(); ++k)
      args.push_back(letters[1 + k] == axis ? of.inputs[k] : grad::number(1, of.inputs[k]));
    return grad::call(name, args, method_attrs(a));
  });
}

template <class A>
OpSpec<A> dynamic_spec(const char* name, const char* doc, const std::string& letters) {
  OpSpec<A> spec;
  // Fusion of dyn.nn.upsampling, dyn.nn.upsampling3d: injective in the reference; its size is computed before it, so
  // that it could share a kernel with what follows only.
  spec.name = name, spec.doc = doc, spec.fusion = Fusion::Opaque;
  spec.inputs = {
      {"data", letters == "NCHW" ? "(N, C, H, W), in the order of layout" : "(N, C, D, H, W), in the order of layout"}};
  for (char letter : letters.substr(2))
    spec.inputs.push_back({std::string("scale_") + static_cast<char>(letter - 'A' + 'a'), "(), a positive float"});
  spec.infer = [letters](const A& a, const Types& in) { return infer_dynamic(a, in, letters); };
  spec.compute = [](const A& a, const te::Tensors& in, const Type& out) {
    return te::Tensors{image::resized("upsampling", in[0], out, options(a))};
  };
  spec.shape = [](const A& a, const te::Tensors& in) { return dynamic_shape(a, in); };
  spec.gradient = [name, letters](const A& a, const Adjoint& of) { return dynamic_gradient(name, a, letters, of); };
  return spec;
}

}  // namespace
}  // namespace upsampling_cpp

OpDef dyn_nn_upsampling() {
  using namespace upsampling_cpp;
  using A = DynUpSamplingAttrs;
  op::OpSpec<A> spec =
      dynamic_spec<A>("dyn.nn.upsampling", "Resizes images by scales that are computed at run time.", "NCHW");
  spec.oracle =
      "order(resize(order(data, layout, 'NCHW'), [math.floor(data.shape[layout.index(x)] * float(s) + 0.5) for x, s in "
      "(('H', scale_h), ('W', scale_w))], {'bilinear': 'linear', 'bicubic': 'cubic'}.get(method, method),"
      " 'align_corners' if align_corners else 'asymmetric', 'floor'), 'NCHW', layout)";
  spec.examples = {{.inputs = {"(1, 2, 4, 5)", "()", "()"}, .ranges = {{-1, 1}, {2, 2}, {1.5, 1.5}}},
                   {.inputs = {"(1, 4, 5, 2)", "()", "()"},
                    .attrs = "layout=\"NHWC\", method=\"bilinear\", align_corners=True",
                    .ranges = {{-1, 1}, {2, 3}, {1, 2}}}};
  spec.rejects = {{{"(1, 2, 4)", "()", "()"}, "", "C1"},
                  {{"(1, 2, 4, 4)", "()", "()"}, "method=\"area\"", "C2"},
                  {{"(1, 2, 4, 4)", "()", "(1,)"}, "", "C3"}};
  return define<A>(std::move(spec), "DynUpSamplingAttrs");
}

OpDef dyn_nn_upsampling3d() {
  using namespace upsampling_cpp;
  using A = DynUpSampling3DAttrs;
  op::OpSpec<A> spec =
      dynamic_spec<A>("dyn.nn.upsampling3d", "Resizes volumes by scales that are computed at run time.", "NCDHW");
  spec.oracle =
      "order(resize(order(data, layout, 'NCDHW'), [math.floor(data.shape[layout.index(x)] * float(s) + 0.5) for x, s "
      "in (('D', scale_d), ('H', scale_h), ('W', scale_w))], 'linear' if method == 'trilinear' else method,"
      " coordinate_transformation_mode, ''), 'NCDHW', layout)";
  spec.examples = {{.inputs = {"(1, 2, 2, 3, 4)", "()", "()", "()"},
                    .attrs = "coordinate_transformation_mode=\"asymmetric\"",
                    .ranges = {{-1, 1}, {2, 2}, {1, 1}, {1.5, 1.5}}},
                   {.inputs = {"(1, 2, 2, 3, 4)", "()", "()", "()"},
                    .attrs = "method=\"trilinear\"",
                    .ranges = {{-1, 1}, {2, 2}, {1, 1}, {1.5, 1.5}}}};
  spec.rejects = {{{"(1, 2, 4, 4)", "()", "()", "()"}, "", "C1"},
                  {{"(1, 2, 4, 4, 4)", "()", "()", "()"}, "method=\"area\"", "C2"},
                  {{"(1, 2, 4, 4, 4)", "()", "()", "() int32"}, "", "C3"}};
  return define<A>(std::move(spec), "DynUpSampling3DAttrs");
}

OpDef nn_upsampling() {
  using namespace upsampling_cpp;
  op::OpSpec<UpSamplingAttrs> spec = {
      .name = "nn.upsampling",
      .doc = "Scales images.",
      .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
      .fusion = Fusion::Injective,
      .infer = infer,
      .compute = compute,
      .gradient = [](const UpSamplingAttrs& a, const Adjoint& of) { return image::resize_gradient(options(a), of); },
      .oracle =
          "order(resize(order(data, layout, 'NCHW'), [output_shape[layout.index('H')], "
          "output_shape[layout.index('W')]],"
          " {'bilinear': 'linear', 'bicubic': 'cubic'}.get(method, method),"
          " 'align_corners' if align_corners else 'asymmetric', 'floor'), 'NCHW', layout)",
      .examples = {{.inputs = {"(1, 3, 4, 5)"}, .attrs = "scale_h=2f, scale_w=2f", .symbolic = {"(n, 3, h, w)"}},
                   {.inputs = {"(1, 4, 5, 3)"},
                    .attrs = "scale_h=3f, scale_w=2f, layout=\"NHWC\"",
                    .symbolic = {"(n, h, w, 3)"}},
                   {.inputs = {"(1, 2, 4, 5, 3)"},
                    .attrs = "scale_h=3f, scale_w=2f, layout=\"NCHW3c\", method=\"bilinear\"",
                    .symbolic = {"(n, 2, h, w, 3)"}},
                   {.inputs = {"(1, 2, 4, 5)"},
                    .attrs = "scale_h=2f, scale_w=2f, method=\"bilinear\"",
                    .symbolic = {"(1, 2, h, w)"}},
                   {.inputs = {"(1, 2, 4, 5)"},
                    .attrs = "scale_h=1.5f, scale_w=2.2f, method=\"bilinear\", align_corners=True"}},
      .rejects = {{{"(1, 2, 4)"}, "", "C1"},
                  {{"(1, 2, 4, 4)"}, "method=\"area\"", "C2"},
                  {{"(1, 2, 4, 4)"}, "scale_h=0f", "C3"},
                  {{"(1, 2, 4, 4)"}, "scale_h=1e300f", "C3"},
                  {{"(1, 2, h, 4)"}, "scale_h=1.5f", "C3"}}};
  nn::allow_blocks<UpSamplingAttrs, UpSamplingAttrs>(spec, {&UpSamplingAttrs::layout}, nullptr);
  return define<UpSamplingAttrs>(std::move(spec), "UpSamplingAttrs");
}

OpDef nn_upsampling3d() {
  using namespace upsampling_cpp;
  op::OpSpec<UpSampling3DAttrs> spec = {
      .name = "nn.upsampling3d",
      .doc = "Scales volumes.",
      .inputs = {{"data", "(N, C, D, H, W), in the order of layout"}},
      .fusion = Fusion::Injective,
      .infer = infer_3d,
      .compute = [](const UpSampling3DAttrs& a, const te::Tensors& in,
                    const Type& out) { return te::Tensors{image::resized("upsampling3d", in[0], out, options(a))}; },
      .gradient = [](const UpSampling3DAttrs& a, const Adjoint& of) { return image::resize_gradient(options(a), of); },
      .oracle =
          "order(resize(order(data, layout, 'NCDHW'), [output_shape[layout.index(x)] for x in 'DHW'],"
          " 'linear' if method == 'trilinear' else method, coordinate_transformation_mode, ''), 'NCDHW', layout)",
      .examples = {{.inputs = {"(1, 3, 2, 3, 4)"},
                    .attrs = "scale_d=2f, scale_h=2f, scale_w=2f, coordinate_transformation_mode=\"asymmetric\"",
                    .symbolic = {"(n, 3, d, h, w)"}},
                   {.inputs = {"(1, 2, 3, 4, 2)"}, .attrs = "scale_d=2f, scale_w=3f, layout=\"NDHWC\""},
                   {.inputs = {"(1, 1, 2, 3, 4, 2)"}, .attrs = "scale_d=2f, scale_w=3f, layout=\"NCDHW2c\""},
                   {.inputs = {"(1, 2, 3, 4, 2)"},
                    .attrs = "scale_d=1.5f, scale_h=2f, scale_w=2f, method=\"trilinear\""}},
      .rejects = {{{"(1, 2, 4, 4)"}, "", "C1"},
                  {{"(1, 2, 4, 4, 4)"}, "method=\"area\"", "C2"},
                  {{"(1, 2, 4, 4, 4)"}, "scale_h=0f", "C3"},
                  {{"(1, 2, 4, 4, 4)"}, "coordinate_transformation_mode=\"tf_crop_and_resize\"", "C4"}}};
  nn::allow_blocks<UpSampling3DAttrs, UpSampling3DAttrs>(spec, {&UpSampling3DAttrs::layout}, nullptr);
  return define<UpSampling3DAttrs>(std::move(spec), "UpSampling3DAttrs");
}

}  // namespace relay::ops
