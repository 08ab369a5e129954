// nn.upsampling: images scaled by scale_h and scale_w: out[n, c, y, x] = data at (y / scale_h, x / scale_w),
// interpolated; with align_corners the corners of both fall together.
#include <cmath>

#include "relay/op/image/resize.h"

namespace relay::ops {
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
      field("align_corners", &UpSamplingAttrs::align_corners, "Whether the corners of data and result fall together.")};
};

image::Resize options(const UpSamplingAttrs& a) {
  image::Resize r;
  r.layout = a.layout;
  r.method = a.method == "bilinear" ? "linear" : a.method == "bicubic" ? "cubic" : a.method;
  r.coordinates = a.align_corners ? "align_corners" : "asymmetric";
  r.rounding = "floor";
  return r;
}

Result<Type> infer(const UpSamplingAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The layout is an order of NCHW, and data has four axes.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, 4, "data"));
  // (C2) The method is a known one.
  RELAY_RETURN_IF_ERROR(image::check("C2", options(a)));
  Dims out = data->shape;
  for (size_t d = 0; d < 2; ++d) {
    // (C3) Scales are positive, and whole where the extent is not known.
    double scale = d == 0 ? a.scale_h : a.scale_w;
    Dim& extent = out[a.layout.find(d == 0 ? 'H' : 'W')];
    if (!(scale > 0)) return constraint("C3", "scales must be positive, but one is {}", scale);
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

te::Tensors compute(const UpSamplingAttrs& a, const te::Tensors& in, const Type& out) {
  return {image::resized("upsampling", in[0], out, options(a))};
}

}  // namespace

OpDef nn_upsampling() {
  return define<UpSamplingAttrs>(
      {.name = "nn.upsampling",
       .doc = "Scales images.",
       .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .oracle = "order(resize(order(data, layout, 'NCHW'), [output_shape[layout.index('H')], "
                 "output_shape[layout.index('W')]],"
                 " {'bilinear': 'linear', 'bicubic': 'cubic'}.get(method, method),"
                 " 'align_corners' if align_corners else 'asymmetric', 'floor'), 'NCHW', layout)",
       .examples = {{.inputs = {"(1, 3, 4, 5)"}, .attrs = "scale_h=2f, scale_w=2f", .symbolic = {"(n, 3, h, w)"}},
                    {.inputs = {"(1, 4, 5, 3)"},
                     .attrs = "scale_h=3f, scale_w=2f, layout=\"NHWC\"",
                     .symbolic = {"(n, h, w, 3)"}},
                    {.inputs = {"(1, 2, 4, 5)"},
                     .attrs = "scale_h=2f, scale_w=2f, method=\"bilinear\"",
                     .symbolic = {"(1, 2, h, w)"}},
                    {.inputs = {"(1, 2, 4, 5)"},
                     .attrs = "scale_h=1.5f, scale_w=2.2f, method=\"bilinear\", align_corners=True"}},
       .rejects = {{{"(1, 2, 4)"}, "", "C1"},
                   {{"(1, 2, 4, 4)"}, "method=\"area\"", "C2"},
                   {{"(1, 2, 4, 4)"}, "scale_h=0f", "C3"},
                   {{"(1, 2, h, 4)"}, "scale_h=1.5f", "C3"}}},
      "UpSamplingAttrs");
}

}  // namespace relay::ops
