// layout_transform: data with its axes reordered, some of them possibly blocked (layout.h). If a block does not divide
// its axis, the last block is padded with zeros.
#include "relay/op/gradient.h"
#include "relay/op/shape/layout.h"

namespace relay::ops {
namespace layout_transform_cpp {
namespace {

struct LayoutTransformAttrs {
  std::string src_layout, dst_layout;
  static constexpr auto fields = std::tuple{
      required_field("src_layout", &LayoutTransformAttrs::src_layout, "The layout of data, such as \"NCHW\"."),
      required_field("dst_layout", &LayoutTransformAttrs::dst_layout, "The layout of the result, such as \"NCHW8c\".")};
};

Result<Type> infer(const LayoutTransformAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(std::vector<LayoutAxis> from, layout_axes("src_layout", a.src_layout));
  RELAY_ASSIGN(std::vector<LayoutAxis> to, layout_axes("dst_layout", a.dst_layout));
  // (C2) Both layouts have the same letters.
  for (const std::vector<LayoutAxis>* side : {&from, &to})
    for (const LayoutAxis& axis : *side)
      if (place_of(from, axis.letter, false) == from.size() || place_of(to, axis.letter, false) == to.size())
        return constraint("C2", "{} is an axis of only one of the layouts \"{}\" and \"{}\"",
                          std::string(1, axis.letter), a.src_layout, a.dst_layout);
  // (C3) Data has the axes of its layout, and blocks their extents.
  RELAY_RETURN_IF_ERROR(expect_rank("C3", data, from.size(), "data"));
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d].block && !agree(data->shape[d], dim(from[d].block)))
      return constraint("C3", "data {} should have blocks of {} along axis {}, as \"{}\" says", text(data->shape),
                        from[d].block, d, a.src_layout);
  Dims out;
  for (const LayoutAxis& axis : to) {
    if (axis.block) {
      out.push_back(dim(axis.block));
      continue;
    }
    const int64_t block = block_of(to, axis.letter);
    Dim extent = data->shape[place_of(from, axis.letter, false)] * block_of(from, axis.letter);
    out.push_back(block == 1 ? extent : floordiv(extent + (block - 1), block));
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute(const LayoutTransformAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const std::vector<LayoutAxis> from = *layout_axes("", a.src_layout), to = *layout_axes("", a.dst_layout);
  return {te::compute("layout_transform", shape_of(out), [&](const Exprs& i) {
    Exprs at(from.size());
    Expr inside = imm(1, DType::boolean());
    for (size_t d = 0; d < from.size(); ++d) {
      const char letter = from[d].letter;
      const int64_t old_block = block_of(from, letter), block = block_of(to, letter);
      const Expr& outer = i[place_of(to, letter, false)];
      if (old_block == block) {  // the axis only moves
        at[d] = from[d].block ? i[place_of(to, letter, true)] : outer;
        continue;
      }
      Expr place = block == 1 ? outer : outer * block + i[place_of(to, letter, true)];
      at[d] = from[d].block ? floormod(place, old_block) : old_block == 1 ? place : floordiv(place, old_block);
      Expr total = scalar::simplify(data->shape[place_of(from, letter, false)] * old_block);
      if (block > 1 && scalar::prove_equal(floormod(total, block), dim(0)) != true)
        inside = logical_and(inside, lt(place, total));
    }
    return select(inside, (*data)(at), imm(0, data->dtype));
  })};
}

// Transforming the elements' numbers the same way shows the source of each.
ir::Exprs gradient(const LayoutTransformAttrs& a, const Adjoint& of) {
  const ir::Expr sources = grad::call("layout_transform", {grad::element_numbers(of.inputs[0])},
                                      {{"src_layout", a.src_layout}, {"dst_layout", a.dst_layout}});
  return {grad::scattered(of.gradient, sources, of.inputs[0])};
}

}  // namespace
}  // namespace layout_transform_cpp

OpDef layout_transform() {
  using namespace layout_transform_cpp;
  return define<LayoutTransformAttrs>(
      {.name = "layout_transform",
       .doc = "Converts data to another layout, which may have axes in blocks.",
       .inputs = {{"data", "any shape that matches src_layout"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "layout_transform(data, src_layout, dst_layout)",
       .examples = {{.inputs = {"(2, 3, 4, 5)"},
                     .attrs = "src_layout=\"NCHW\", dst_layout=\"NHWC\"",
                     .symbolic = {"(n, 3, h, w)"}},
                    {.inputs = {"(1, 8, 3, 4)"},
                     .attrs = "src_layout=\"NCHW\", dst_layout=\"NCHW4c\"",
                     .symbolic = {"(n, 8, h, w)"}},
                    {.inputs = {"(1, 6, 3, 2)"}, .attrs = "src_layout=\"NCHW\", dst_layout=\"NHWC4c\""},
                    {.inputs = {"(1, 2, 3, 4, 4)"}, .attrs = "src_layout=\"NCHW4c\", dst_layout=\"NCHW\""},
                    {.inputs = {"(1, 4, 3, 4, 4)"}, .attrs = "src_layout=\"NCHW4c\", dst_layout=\"NCHW8c\""},
                    {.inputs = {"(8, 4, 3, 3)"}, .attrs = "src_layout=\"OIHW\", dst_layout=\"OIHW2i4o\""}},
       .rejects = {{{"(2, 3, 4, 5)"}, "src_layout=\"NCHc\", dst_layout=\"NHWC\"", "C1"},
                   {{"(2, 3, 4, 5)"}, "src_layout=\"NCHW\", dst_layout=\"NHWC4\"", "C1"},
                   {{"(2, 3, 4, 5)"}, "src_layout=\"NCHW\", dst_layout=\"NHW\"", "C2"},
                   {{"(2, 3, 4)"}, "src_layout=\"NCHW\", dst_layout=\"NHWC\"", "C3"},
                   {{"(2, 3, 4, 5, 8)"}, "src_layout=\"NCHW4c\", dst_layout=\"NHWC\"", "C3"}}},
      "LayoutTransformAttrs");
}

}  // namespace relay::ops
