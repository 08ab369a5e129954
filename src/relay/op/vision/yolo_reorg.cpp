// vision.yolo_reorg: moves pixels into channels as Darknet does, with s the stride:
//
//   moved[n, k, y, x] = wide[n, k % (C / s^2), y * s + q / s, x * s + q % s],   q = k / (C / s^2)
//
// where wide is the elements of data, in their order, in the shape (N, C / s^2, H * s, W * s); the result is those of
// moved in (N, C * s^2, H / s, W / s).
#include "relay/op/gradient.h"
#include "relay/op/shape/reshape.h"

namespace relay::ops {
namespace yolo_reorg_cpp {
namespace {

struct YoloReorgAttrs {
  OptInt stride = 1;
  static constexpr auto fields =
      std::tuple{field("stride", &YoloReorgAttrs::stride, "Number of pixels to combine along each axis; None: 1.")};
};

Result<Type> infer(const YoloReorgAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data is images.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, 4, "data"));
  // (C2) The stride is positive, divides the pixels, and its square the channels.
  const int64_t s = a.stride.value_or(1);
  if (s < 1 || s > 1024) return constraint("C2", "stride must be from 1 to 1024, but is {}", s);
  if (!divides(dim(s * s), data->shape[1]) || !divides(dim(s), data->shape[2]) || !divides(dim(s), data->shape[3]))
    return constraint("C2", "the stride {1} does not divide data {0}", text(data->shape), s);
  const Dims& d = data->shape;
  return ir::tensor_type(simplified({d[0], d[1] * (s * s), floordiv(d[2], s), floordiv(d[3], s)}), data->dtype);
}

te::Tensors compute(const YoloReorgAttrs& a, const te::Tensors& in, const Type& out) {
  const int64_t s = a.stride.value_or(1);
  const Exprs& d = in[0]->shape;
  Expr groups = scalar::simplify(floordiv(d[1], s * s));
  te::Tensor wide = shape::reshaped("wide", in[0], simplified({d[0], groups, d[2] * s, d[3] * s}));
  te::Tensor moved = te::compute("moved", d, [&](const Exprs& i) {
    Expr q = floordiv(i[1], groups);
    return (*wide)({i[0], floormod(i[1], groups), i[2] * s + floordiv(q, s), i[3] * s + floormod(q, s)});
  });
  return {shape::reshaped("yolo_reorg", moved, shape_of(out))};
}

}  // namespace
}  // namespace yolo_reorg_cpp

OpDef vision_yolo_reorg() {
  using namespace yolo_reorg_cpp;
  return define<YoloReorgAttrs>(
      {.name = "vision.yolo_reorg",
       .doc = "Moves pixels to channels, as Darknet's reorg layer does.",
       .inputs = {{"data", "(N, C, H, W)"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       // Moving the elements' numbers the same way shows the source of each.
       .gradient = [](const YoloReorgAttrs& a, const Adjoint& of) -> ir::Exprs {
         const ir::Expr sources =
             grad::call("vision.yolo_reorg", {grad::element_numbers(of.inputs[0])}, {{"stride", a.stride.value_or(1)}});
         return {grad::scattered(of.gradient, sources, of.inputs[0])};
       },
       .oracle = "yolo_reorg(data, stride or 1)",
       .examples = {{.inputs = {"(2, 8, 4, 6)"}, .attrs = "stride=2", .symbolic = {"(n, 8, 4, 6)"}},
                    {.inputs = {"(1, 3, 2, 2)"}}},
       .rejects = {{{"(8, 4, 6)"}, "stride=2", "C1"}, {{"(1, 6, 4, 6)"}, "stride=2", "C2"}}},
      "YoloReorgAttrs");
}

}  // namespace relay::ops
