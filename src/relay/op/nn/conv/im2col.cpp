// nn.im2col: the blocks under a window at all its positions, as columns
//   out[n, c * K + k, l] = data[n, c, place(l) * stride + tap(k) * dilation - before..]      0 outside of data
// nn.col2im: the sums of such columns, each element at its source: the adjoint of nn.im2col
//   out[n, c, p..] = sum of data[n, c * K + k, l] for all k and l with
//                    place(l) * stride + tap(k) * dilation - before = p
//
// with K the product of block_shape; k counts the taps and l the positions, both in row-major order.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace im2col_cpp {
namespace {

struct Im2ColAttrs {
  Ints block_shape, strides = {1}, padding = {0}, dilation = {1};
  static constexpr auto fields =
      std::tuple{required_field("block_shape", &Im2ColAttrs::block_shape, "Extents of the window."),
                 field("strides", &Im2ColAttrs::strides, "Step of the window along each axis."),
                 field("padding", &Im2ColAttrs::padding,
                       "Zero padding around the data: one value, one per axis, or the values before all axes followed "
                       "by those after all axes."),
                 field("dilation", &Im2ColAttrs::dilation, "Distance between two taps of the window.")};
};

struct Col2ImAttrs : Im2ColAttrs {
  Dims image_shape;
  static constexpr auto fields =
      std::tuple_cat(std::tuple{required_field("image_shape", &Col2ImAttrs::image_shape, "Extents of the result.")},
                     std::tuple{required_field("block_shape", &Col2ImAttrs::block_shape, "Extents of the window."),
                                field("strides", &Col2ImAttrs::strides, "Step of the window along each axis."),
                                field("padding", &Col2ImAttrs::padding,
                                      "Padding around the result: one value, one per axis, or the values before all "
                                      "axes followed by those after all axes."),
                                field("dilation", &Col2ImAttrs::dilation, "Distance between two taps of the window.")});
};

// A window over images with this many axes, whose attributes have been checked.
struct Window {
  Ints block, strides, pad, dilation;
  explicit Window(const Im2ColAttrs& a)
      : block(a.block_shape),
        strides(per_axis(a.strides, axes())),
        pad(padding_sides(a.padding, axes())),
        dilation(per_axis(a.dilation, axes())) {}
  size_t axes() const { return block.size(); }
  int64_t taps() const {
    int64_t n = 1;
    for (int64_t b : block) n *= b;
    return n;
  }
  // The number of positions along each axis of an image.
  Dims places(const Dims& image) const {
    Dims out;
    for (size_t d = 0; d < axes(); ++d)
      out.push_back(window_extent(image[d], dim(block[d]), strides[d], pad[d], pad[axes() + d], dilation[d]));
    return out;
  }
};

// (C1) There is an extent of the window for each axis of the image, and the other attributes are in range.
Status check(const Im2ColAttrs& a, size_t axes) {
  if (axes == 0 || a.block_shape.size() != axes)
    return constraint("C1", "block_shape {} should have {} values", text(a.block_shape), std::max<size_t>(axes, 1));
  RELAY_RETURN_IF_ERROR(per_axis("C1", "block_shape", a.block_shape, axes));
  RELAY_RETURN_IF_ERROR(per_axis("C1", "strides", a.strides, axes));
  RELAY_RETURN_IF_ERROR(per_axis("C1", "dilation", a.dilation, axes));
  RELAY_RETURN_IF_ERROR(padding_sides("C1", a.padding, axes));
  int64_t taps = 1;
  for (int64_t b : a.block_shape)
    if (__builtin_mul_overflow(taps, b, &taps))
      return constraint("C1", "block_shape {} is too large", text(a.block_shape));
  return ok();
}

// (C3) The window fits into the image with its padding.
Status expect_fits(const Window& w, const Dims& image) {
  for (size_t d = 0; d < w.axes(); ++d)
    if (!at_least(image[d] + (w.pad[d] + w.pad[w.axes() + d]), dim((w.block[d] - 1) * w.dilation[d] + 1)))
      return constraint("C3", "the window {} is larger than the image {}", text(w.block), text(image));
  return ok();
}

Dims images(const Dims& shape) { return {shape.begin() + 2, shape.end()}; }

Result<Type> infer(const Im2ColAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_RETURN_IF_ERROR(check(a, data->shape.size() < 2 ? 0 : data->shape.size() - 2));
  const Window w(a);
  RELAY_RETURN_IF_ERROR(expect_fits(w, images(data->shape)));
  return ir::tensor_type(
      simplified({data->shape[0], data->shape[1] * w.taps(), product(w.places(images(data->shape)))}), data->dtype);
}

// The indices of the element with this row-major number.
template <class Extents>
Exprs counted(Expr number, const Extents& extents) {
  Exprs at(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    at[d] = d == 0 ? number : floormod(number, extents[d]);
    number = floordiv(number, extents[d]);
  }
  return at;
}

te::Tensors compute(const Im2ColAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const Window w(a);
  const Dims places = w.places(images(data->shape));
  return {te::compute("im2col", shape_of(out), [&](const Exprs& i) {
    const Exprs tap = counted(floormod(i[1], w.taps()), w.block), place = counted(i[2], places);
    Exprs at = {i[0], floordiv(i[1], w.taps())};
    Expr inside;
    for (size_t d = 0; d < w.axes(); ++d) {
      at.push_back(place[d] * w.strides[d] + tap[d] * w.dilation[d] - w.pad[d]);
      if (w.pad[d] == 0 && w.pad[w.axes() + d] == 0) continue;
      const Expr here = logical_and(le(dim(0), at.back()), lt(at.back(), data->shape[2 + d]));
      inside = inside ? logical_and(inside, here) : here;
    }
    return inside ? select(inside, (*data)(at), imm(0, data->dtype)) : (*data)(at);
  })};
}

Result<Type> infer_back(const Col2ImAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_RETURN_IF_ERROR(check(a, a.image_shape.size()));
  // (C2) Data has three axes, of numbers, the second a multiple of the window's taps.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 3, "data"));
  if (data->dtype.is_bool()) return constraint("C2", "nn.col2im adds, but data is bool");
  const Window w(a);
  if (!divides(dim(w.taps()), data->shape[1]))
    return constraint("C2", "axis 1 of data {} is not a multiple of the {} taps of block_shape", text(data->shape),
                      w.taps());
  for (const Dim& d : a.image_shape)
    if (!at_least(d, dim(0))) return constraint("C2", "image_shape {} has a negative extent", text(a.image_shape));
  RELAY_RETURN_IF_ERROR(expect_fits(w, a.image_shape));
  // (C4) There is a column for each position of the window.
  const Dim places = scalar::simplify(product(w.places(a.image_shape)));
  if (!agree(places, data->shape[2]))
    return constraint("C4", "data {} has {} columns, but the window has {} positions in the image {}",
                      text(data->shape), scalar::str(data->shape[2]), scalar::str(places), text(a.image_shape));
  Dims out = {data->shape[0], floordiv(data->shape[1], w.taps())};
  out.insert(out.end(), a.image_shape.begin(), a.image_shape.end());
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute_back(const Col2ImAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const Window w(a);
  const Dims places = w.places(a.image_shape);
  const DType wide = accumulator(data->dtype);
  Exprs taps;
  for (int64_t b : w.block) taps.push_back(dim(b));
  te::Tensor sum = te::reduce("col2im", shape_of(out), taps, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    Expr k = dim(0), l = dim(0), inside = imm(1, DType::boolean());
    for (size_t d = 0; d < w.axes(); ++d) {
      const Expr from = i[2 + d] + w.pad[d] - r[d] * w.dilation[d], place = floordiv(from, w.strides[d]);
      inside = logical_and(inside, logical_and(le(dim(0), from), lt(place, places[d])));
      if (w.strides[d] > 1) inside = logical_and(inside, eq(floormod(from, w.strides[d]), dim(0)));
      k = k * w.block[d] + r[d], l = l * places[d] + place;
    }
    return select(inside, cast(wide, (*data)({i[0], i[1] * w.taps() + k, l})), imm(0, wide));
  });
  return {converted(sum, data->dtype)};
}

op::AttrValues window_of(const Im2ColAttrs& a) {
  return {{"block_shape", a.block_shape}, {"strides", a.strides}, {"padding", a.padding}, {"dilation", a.dilation}};
}

ir::Exprs gradient(const Im2ColAttrs& a, const Adjoint& of) {
  op::AttrValues attrs = window_of(a);
  attrs.push_back({"image_shape", images(grad::tensor(of.inputs[0]).shape)});
  return {grad::call("nn.col2im", {of.gradient}, attrs)};
}

ir::Exprs gradient_back(const Col2ImAttrs& a, const Adjoint& of) {
  return {grad::call("nn.im2col", {of.gradient}, window_of(a))};
}

}  // namespace
}  // namespace im2col_cpp

OpDef nn_im2col() {
  using namespace im2col_cpp;
  return define<Im2ColAttrs>(
      {.name = "nn.im2col",
       .doc = "The blocks in a window at all positions, as columns.",
       .inputs = {{"data", "(N, C, image..)"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .is_extension = true,
       .oracle = "im2col(data, block_shape, strides, padding, dilation)",
       .examples = {{.inputs = {"(2, 3, 5, 6)"}, .attrs = "block_shape=[2, 3]", .symbolic = {"(n, 3, h, 6)"}},
                    {.inputs = {"(1, 2, 5, 6)"},
                     .attrs = "block_shape=[3, 2], strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2]"},
                    {.inputs = {"(2, 2, 9)"}, .attrs = "block_shape=[3], strides=[2], padding=[1]"}},
       .rejects = {{{"(2, 3, 5, 6)"}, "block_shape=[2]", "C1"},
                   {{"(2, 3)"}, "block_shape=[]", "C1"},
                   {{"(2, 3, 5, 6)"}, "block_shape=[6, 2]", "C3"}}},
      "Im2ColAttrs");
}

OpDef nn_col2im() {
  using namespace im2col_cpp;
  return define<Col2ImAttrs>(
      {.name = "nn.col2im",
       .doc = "Adds columns of blocks at the positions from which nn.im2col took them.",
       .inputs = {{"data", "(N, C * K, L)"}},
       .fusion = Fusion::Opaque,
       .infer = infer_back,
       .compute = compute_back,
       .gradient = gradient_back,
       .is_extension = true,
       .oracle = "col2im(data, image_shape, block_shape, strides, padding, dilation)",
       .examples = {{.inputs = {"(2, 18, 16)"},
                     .attrs = "image_shape=[5, 6], block_shape=[2, 3]",
                     .symbolic = {"(n, 18, 16)"}},
                    {.inputs = {"(1, 12, 15)"},
                     .attrs = "image_shape=[5, 6], block_shape=[3, 2], strides=[2, 1], padding=[1, 0, 2, 1], "
                              "dilation=[1, 2]"},
                    {.inputs = {"(2, 6, 5)"}, .attrs = "image_shape=[9], block_shape=[3], strides=[2], padding=[1]"}},
       .rejects = {{{"(2, 18, 16)"}, "image_shape=[5, 6], block_shape=[2]", "C1"},
                   {{"(18, 16)"}, "image_shape=[5, 6], block_shape=[2, 3]", "C2"},
                   {{"(2, 17, 16)"}, "image_shape=[5, 6], block_shape=[2, 3]", "C2"},
                   {{"(2, 18, 16)"}, "image_shape=[1, 6], block_shape=[2, 3]", "C3"},
                   {{"(2, 18, 15)"}, "image_shape=[5, 6], block_shape=[2, 3]", "C4"}}},
      "Col2ImAttrs");
}

}  // namespace relay::ops
