// nn.depth_to_space: moves blocks of channels into space, b = block_size, C' = C / b^2:
//   DCR: out[n, c, y, x] = data[n, ((y % b) * b + x % b) * C' + c, y // b, x // b]
//   CRD: out[n, c, y, x] = data[n, c * b^2 + (y % b) * b + x % b, y // b, x // b]
// nn.space_to_depth: out[n, (i * b + j) * C + c, y, x] = data[n, c, y * b + i, x * b + j]
#include "relay/op/gradient.h"

namespace relay::ops {
namespace sub_pixel_cpp {
namespace {

struct SubPixelAttrs {
  int64_t block_size = 1;
  std::string layout = "NCHW";
  std::string mode = "DCR";
  static constexpr auto fields = std::tuple{
      field("block_size", &SubPixelAttrs::block_size, "The extent of a block along H and W."),
      field("layout", &SubPixelAttrs::layout, "Order of the data's and the result's axes."),
      field("mode", &SubPixelAttrs::mode, "DCR if channels are block-major, CRD (or CDR) if they are channel-major.")};
};

// Relay wrote "CDR" for ONNX's "CRD".
bool channel_major(const std::string& mode) { return mode == "CRD" || mode == "CDR"; }

// (C1) The layout is an order of NCHW, (C2) data has four axes, (C3) mode and block size are valid.
Result<const TensorType*> check(const SubPixelAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data"));
  if (a.block_size < 1) return constraint("C3", "block_size is {}, but must be positive", a.block_size);
  if (a.mode != "DCR" && !channel_major(a.mode))
    return constraint("C3", "mode must be \"DCR\" or \"CRD\", but is \"{}\"", a.mode);
  return data;
}

Result<Type> infer_to_space(const SubPixelAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, check(a, in));
  size_t c = a.layout.find('C'), h = a.layout.find('H'), w = a.layout.find('W');
  int64_t b = a.block_size;
  Dims out = data->shape;
  // (C4) The block divides the channels.
  if (!divides(dim(b * b), out[c]))
    return constraint("C4", "data has {} channels, which blocks of {} x {} do not divide", scalar::str(out[c]), b, b);
  out[c] = floordiv(out[c], b * b), out[h] = out[h] * b, out[w] = out[w] * b;
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute_to_space(const SubPixelAttrs& a, const te::Tensors& in, const Type& out) {
  size_t c = a.layout.find('C'), h = a.layout.find('H'), w = a.layout.find('W');
  int64_t b = a.block_size;
  return {te::compute("depth_to_space", shape_of(out), [&](Exprs i) {
    Expr block = floormod(i[h], b) * b + floormod(i[w], b);
    i[c] = a.mode == "DCR" ? block * shape_of(out)[c] + i[c] : i[c] * (b * b) + block;
    i[h] = floordiv(i[h], b), i[w] = floordiv(i[w], b);
    return (*in[0])(i);
  })};
}

Result<Type> infer_to_depth(const SubPixelAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, check(a, in));
  size_t c = a.layout.find('C'), h = a.layout.find('H'), w = a.layout.find('W');
  int64_t b = a.block_size;
  Dims out = data->shape;
  // (C4) The block divides the space.
  for (size_t axis : {h, w})
    if (!divides(dim(b), out[axis]))
      return constraint("C4", "data {} cannot be divided into blocks of {} x {}", text(data->shape), b, b);
  out[c] = out[c] * (b * b), out[h] = floordiv(out[h], b), out[w] = floordiv(out[w], b);
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute_to_depth(const SubPixelAttrs& a, const te::Tensors& in, const Type& out) {
  size_t c = a.layout.find('C'), h = a.layout.find('H'), w = a.layout.find('W');
  int64_t b = a.block_size;
  return {te::compute("space_to_depth", shape_of(out), [&](Exprs i) {
    Expr block = floordiv(i[c], in[0]->shape[c]);
    i[c] = floormod(i[c], in[0]->shape[c]);
    i[h] = i[h] * b + floordiv(block, b), i[w] = i[w] * b + floormod(block, b);
    return (*in[0])(i);
  })};
}

// Each is the other's gradient; only the order "DCR" exists for both.
ir::Exprs gradient(const char* back, const SubPixelAttrs& a, const Adjoint& of) {
  if (a.mode != "DCR") {
    const ir::Expr& data = of.inputs[0];
    const ir::Expr sources = grad::call("nn.depth_to_space", {grad::element_numbers(data)},
                                        {{"block_size", a.block_size}, {"layout", a.layout}, {"mode", a.mode}});
    return {grad::scattered(of.gradient, sources, data)};
  }
  return {grad::call(back, {of.gradient}, {{"block_size", a.block_size}, {"layout", a.layout}})};
}

}  // namespace
}  // namespace sub_pixel_cpp

OpDef nn_depth_to_space() {
  using namespace sub_pixel_cpp;
  return define<SubPixelAttrs>(
      {.name = "nn.depth_to_space",
       .doc = "Moves channels to blocks of space.",
       .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
       .fusion = Fusion::Injective,
       .infer = infer_to_space,
       .compute = compute_to_space,
       .gradient = [](const SubPixelAttrs& a, const Adjoint& of) { return gradient("nn.space_to_depth", a, of); },
       .oracle = "order(depth_to_space(order(data, layout, 'NCHW'), block_size, mode), 'NCHW', layout)",
       .examples = {{.inputs = {"(2, 8, 3, 4)"}, .attrs = "block_size=2", .symbolic = {"(n, 8, h, w)"}},
                    {.inputs = {"(1, 8, 2, 3)"}, .attrs = "block_size=2, mode=\"CDR\""},
                    {.inputs = {"(1, 18, 2, 3)"}, .attrs = "block_size=3, mode=\"CRD\"", .symbolic = {"(n, 18, h, w)"}},
                    {.inputs = {"(1, 3, 2, 8)"}, .attrs = "block_size=2, layout=\"NHWC\""}},
       .rejects = {{{"(1, 8, 2, 2)"}, "layout=\"NC\"", "C1"},
                   {{"(8, 2, 2)"}, "block_size=2", "C2"},
                   {{"(1, 8, 2, 2)"}, "mode=\"RCD\"", "C3"},
                   {{"(1, 6, 2, 2)"}, "block_size=2", "C4"}}},
      "SubPixelAttrs");
}

OpDef nn_space_to_depth() {
  using namespace sub_pixel_cpp;
  return define<SubPixelAttrs>(
      {.name = "nn.space_to_depth",
       .doc = "Moves blocks of space to channels.",
       .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
       .fusion = Fusion::Injective,
       .infer = infer_to_depth,
       .compute = compute_to_depth,
       .gradient = [](const SubPixelAttrs& a, const Adjoint& of) { return gradient("nn.depth_to_space", a, of); },
       .oracle = "order(space_to_depth(order(data, layout, 'NCHW'), block_size), 'NCHW', layout)",
       .examples = {{.inputs = {"(2, 3, 4, 6)"}, .attrs = "block_size=2"},
                    {.inputs = {"(1, 6, 4, 2)"},
                     .attrs = "block_size=2, layout=\"NHWC\"",
                     .symbolic = {"(n, 6, 4, 2)"}}},
       .rejects = {{{"(1, 8, 2, 2)"}, "layout=\"NC\"", "C1"},
                   {{"(8, 2, 2)"}, "block_size=2", "C2"},
                   {{"(1, 8, 2, 2)"}, "block_size=0", "C3"},
                   {{"(1, 6, 3, 2)"}, "block_size=2", "C4"}}},
      "SubPixelAttrs");
}

}  // namespace relay::ops
