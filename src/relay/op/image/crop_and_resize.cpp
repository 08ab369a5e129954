// image.crop_and_resize: boxes of images, interpolated to one size. A box is (y1, x1, y2, x2), from 0 to 1 across the
// image.
//   out[b, c, y, x] = image box_indices[b] at (Y, X) with Y = (y1 + y * (y2 - y1) / (CH - 1)) * (H - 1), X likewise
//
// A crop of one row is at the middle of its box. Outside of the image: extrapolation_value.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace crop_and_resize_cpp {
namespace {

struct CropAndResizeAttrs {
  Dims crop_size;
  std::string layout = "NCHW";
  std::string method = "bilinear";
  double extrapolation_value = 0;
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      required_field("crop_size", &CropAndResizeAttrs::crop_size, "Extents [H, W] of the result."),
      field("layout", &CropAndResizeAttrs::layout, "Order of the axes."),
      field("method", &CropAndResizeAttrs::method, "\"bilinear\" or \"nearest_neighbor\"."),
      field("extrapolation_value", &CropAndResizeAttrs::extrapolation_value, "Value for points outside of the image."),
      field("out_dtype", &CropAndResizeAttrs::out_dtype, "Element type of the result; None: that of data.")};
};

Result<Type> infer(const CropAndResizeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* boxes, tensor_input(in, 1, "boxes"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 2, "box_indices"));
  // (C1) The layout is an order of NCHW, and data has four axes.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, 4, "data"));
  // (C2) A box is four floats, and has an index.
  if (rank(boxes) != 2 || !agree(boxes->shape[1], dim(4)) || !boxes->dtype.is_float())
    return constraint("C2", "boxes should be (boxes, 4) of floats, but is {}", ir::str(in[1]));
  if (!indices->dtype.is_int() || !agree(Dims{boxes->shape[0]}, indices->shape))
    return constraint("C2", "box_indices should be an integer for each of {} boxes, but is {}",
                      scalar::str(boxes->shape[0]), ir::str(in[2]));
  // (C3) The crop has two extents, of 1 or more.
  if (a.crop_size.size() != 2 || !at_least(a.crop_size[0], dim(1)) || !at_least(a.crop_size[1], dim(1)))
    return constraint("C3", "crop_size should be two positive extents, but is {}", text(a.crop_size));
  // (C4) The method is one of two.
  if (a.method != "bilinear" && a.method != "nearest_neighbor")
    return constraint("C4", "method must be \"bilinear\" or \"nearest_neighbor\", but is \"{}\"", a.method);
  Dims out = data->shape;
  out[a.layout.find('N')] = boxes->shape[0];
  out[a.layout.find('H')] = a.crop_size[0], out[a.layout.find('W')] = a.crop_size[1];
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

op::Checks checked(const CropAndResizeAttrs& a, const Types& in) {
  const int64_t axis = static_cast<int64_t>(a.layout.find('N'));
  return {{2, {as<TensorType>(in[0])->shape[static_cast<size_t>(axis)]}, {axis}}};
}

te::Tensors compute(const CropAndResizeAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &boxes = in[1], &indices = in[2];
  const DType wide = boxes->dtype.bits == 64 ? DType::float64() : DType::float32(), dtype = dtype_of(out);
  const size_t n = a.layout.find('N'), axes[2] = {a.layout.find('H'), a.layout.find('W')};
  auto value_of = [&](double v) { return number(v, wide); };
  return {te::compute("crop_and_resize", shape_of(out), [&](const Exprs& i) {
    auto corner = [&](int64_t k) { return cast(wide, (*boxes)({i[n], dim(k)})); };
    Expr at[2], inside = imm(1, DType::boolean());
    for (size_t d = 0; d < 2; ++d) {
      const int64_t k = static_cast<int64_t>(d);
      Expr last = cast(wide, data->shape[axes[d]] - 1), begin = corner(k), end = corner(2 + k);
      const Expr& extent = a.crop_size[d];
      if (scalar::is_int(extent, 1))
        at[d] = value_of(0.5) * (begin + end) * last;
      else
        at[d] = begin * last + cast(wide, i[axes[d]]) * divide((end - begin) * last, cast(wide, extent - 1));
      inside = logical_and(inside, logical_and(le(value_of(0), at[d]), le(at[d], last)));
    }
    Expr batch = cast(DType::int64(), (*indices)({i[n]}));
    const Expr& images = data->shape[n];
    batch = max(min(select(lt(batch, dim(0)), batch + images, batch), images - 1), dim(0));
    auto pixel = [&](const Expr& y, const Expr& x) {
      Exprs from = i;
      from[n] = batch;
      const Expr places[2] = {y, x};
      for (size_t d = 0; d < 2; ++d)
        from[axes[d]] = max(min(cast(DType::int64(), places[d]), data->shape[axes[d]] - 1), dim(0));
      return cast(wide, (*data)(from));
    };
    Expr value;
    if (a.method == "nearest_neighbor") {
      auto nearest = [&](const Expr& x) { return unary(UnaryOp::Floor, x + value_of(0.5)); };
      value = pixel(nearest(at[0]), nearest(at[1]));
    } else {
      Expr y = unary(UnaryOp::Floor, at[0]), x = unary(UnaryOp::Floor, at[1]), one = value_of(1);
      Expr low = at[0] - y, right = at[1] - x;
      value = (pixel(y, x) * (one - right) + pixel(y, x + one) * right) * (one - low) +
              (pixel(y + one, x) * (one - right) + pixel(y + one, x + one) * right) * low;
    }
    if (!dtype.is_float()) value = unary(UnaryOp::Round, value);
    return cast(dtype, select(inside, value, value_of(a.extrapolation_value)));
  })};
}

// The same by image.grid_sample, whose coordinates run from -1 to 1 instead of 0 to 1.
ir::Expr definition(const CropAndResizeAttrs& a, const ir::Exprs& in) {
  if (!scalar::is_int(a.crop_size[0]) || !scalar::is_int(a.crop_size[1])) return nullptr;
  const DType dtype = grad::tensor(in[0]).dtype;
  if (!dtype.is_float() || (a.out_dtype && *a.out_dtype != dtype)) return nullptr;
  const int64_t size[2] = {a.crop_size[0]->ivalue, a.crop_size[1]->ivalue};
  ir::Expr boxes = in[1];
  if (grad::tensor(in[1]).dtype != dtype) boxes = grad::call("cast", {boxes}, {{"dtype", dtype}});
  auto corner = [&](int64_t k) {  // (boxes, 1, 1)
    const ir::Expr one =
        grad::call("strided_slice", {boxes}, {{"begin", Ints{k}}, {"end", Ints{k + 1}}, {"axes", Ints{1}}});
    return grad::call("expand_dims", {one}, {{"axis", int64_t{1}}});
  };
  auto fraction = [&](double value) { return grad::number(value, in[0]); };
  ir::Exprs grid;
  ir::Expr inside;
  for (size_t d : {size_t{1}, size_t{0}}) {  // x, then y
    Tensor steps = Tensor::empty({1, d ? 1 : size[0], d ? size[1] : 1}, dtype);
    for (int64_t i = 0; i < size[d]; ++i)
      steps.set(i, size[d] == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(size[d] - 1));
    const int64_t k = static_cast<int64_t>(d);
    const ir::Expr begin = corner(k), end = corner(2 + k);
    Tensor ones = Tensor::full({1, size[0], size[1]}, dtype, 1);
    const ir::Expr along = grad::plus(begin, grad::times(grad::minus(end, begin), ir::constant(std::move(steps))));
    const ir::Expr at = grad::times(along, ir::constant(std::move(ones)));  // (boxes, CH, CW)
    const ir::Expr here = grad::call(
        "logical_and", {grad::call("greater_equal", {at, fraction(0)}), grad::call("less_equal", {at, fraction(1)})});
    inside = inside ? grad::call("logical_and", {inside, here}) : here;
    grid.push_back(grad::minus(grad::times(at, fraction(2)), fraction(1)));
  }
  const int64_t images = static_cast<int64_t>(a.layout.find('N')), channels = static_cast<int64_t>(a.layout.find('C'));
  const ir::Expr own = grad::call("take", {in[0], in[2]}, {{"axis", images}, {"mode", "checked"}});
  const ir::Expr sampled =
      grad::call("image.grid_sample", {own, grad::call("stack", {ir::tuple(grid)}, {{"axis", int64_t{1}}})},
                 {{"method", a.method == "bilinear" ? "bilinear" : "nearest"}, {"layout", a.layout}});
  // The axes of all boxes' crops, in the order of the layout, including the channels.
  Ints order;
  for (char letter : a.layout)
    if (letter != 'C') order.push_back(static_cast<int64_t>(std::string("NHW").find(letter)));
  const ir::Expr transposed = grad::call("transpose", {inside}, {{"axes", order}});
  const ir::Expr all = grad::call("expand_dims", {transposed}, {{"axis", channels}});
  return grad::call("where", {all, sampled, fraction(a.extrapolation_value)});
}

}  // namespace
}  // namespace crop_and_resize_cpp

OpDef image_crop_and_resize() {
  using namespace crop_and_resize_cpp;
  return define<CropAndResizeAttrs>(
      {.name = "image.crop_and_resize",
       .doc = "Crops boxes from images and resizes them to one size.",
       .inputs = {{"data", "(N, C, H, W), in the order of layout"},
                  {"boxes", "(boxes, 4): y1, x1, y2, x2, from 0 to 1"},
                  {"box_indices", "(boxes,) integers: the index of the image of each box"}},
       // Fusion of image.crop_and_resize: injective in the reference; an element is made of four, which the values of
       // boxes choose.
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .checked = checked,
       .definition = definition,
       .oracle =
           "crop_and_resize(order(data, layout, 'NCHW'), boxes, box_indices, [output_shape[layout.index(x)] for x "
           "in 'HW'], layout, method, extrapolation_value)",
       // Kernels round the position of a sample, and so its weights, in another order.
       .examples = {{.inputs = {"(2, 3, 5, 6)", "(4, 4)", "(4,) int32"},
                     .attrs = "crop_size=[3, 4]",
                     .symbolic = {"(2, c, h, 6)", "(b, 4)", "(b,) int32"},
                     .low = 0,
                     .high = 1,
                     .ulps = 32},
                    {.inputs = {"(2, 5, 6, 3)", "(4, 4)", "(4,) int64"},
                     .attrs = "crop_size=[1, 7], layout=\"NHWC\", extrapolation_value=9f",
                     .low = -1,
                     .high = 1,
                     .ulps = 32},
                    {.inputs = {"(2, 1, 8, 8)", "(4, 4)", "(4,) int32"},
                     .attrs = "crop_size=[3, 3], method=\"nearest_neighbor\"",
                     .low = 0,
                     .high = 1}},
       .rejects = {{{"(2, 5, 6)", "(4, 4)", "(4,) int32"}, "crop_size=[3, 3]", "C1"},
                   {{"(2, 1, 5, 6)", "(4, 5)", "(4,) int32"}, "crop_size=[3, 3]", "C2"},
                   {{"(2, 1, 5, 6)", "(4, 4)", "(4,)"}, "crop_size=[3, 3]", "C2"},
                   {{"(2, 1, 5, 6)", "(4, 4)", "(4,) int32"}, "crop_size=[3]", "C3"},
                   {{"(2, 1, 5, 6)", "(4, 4)", "(4,) int32"}, "crop_size=[3, 3], method=\"cubic\"", "C4"}}},
      "CropAndResizeAttrs");
}

}  // namespace relay::ops
