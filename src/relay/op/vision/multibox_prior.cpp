// vision.multibox_prior: boxes around each pixel of a feature map, as the corners (x1, y1, x2, y2), from 0 to 1
//
// For each pixel, in row-major order, one box of each size with the first ratio 1, then one of the first size with each
// further ratio: of half width size * H / W * sqrt(ratio) / 2 and half height size / sqrt(ratio) / 2 around
// ((x + offset x) * step x, (y + offset y) * step y). Steps that are not positive are 1 / W and 1 / H.
#include <algorithm>
#include <cmath>

#include "relay/op/common.h"

namespace relay::ops {
namespace multibox_prior_cpp {
namespace {

using ir::Floats;

struct MultiBoxPriorAttrs {
  Floats sizes = {1.0}, ratios = {1.0}, steps = {-1.0, -1.0}, offsets = {0.5, 0.5};
  bool clip = false;
  static constexpr auto fields = std::tuple{
      field("sizes", &MultiBoxPriorAttrs::sizes, "Sizes of the boxes."),
      field("ratios", &MultiBoxPriorAttrs::ratios, "Ratios of width to height; the first counts as 1."),
      field("steps", &MultiBoxPriorAttrs::steps, "Distances [y, x] of pixels; those of data if not positive."),
      field("offsets", &MultiBoxPriorAttrs::offsets, "Position [y, x] of the centre in a pixel."),
      field("clip", &MultiBoxPriorAttrs::clip, "True to clip boxes to [0, 1].")};
};

Result<Type> infer(const MultiBoxPriorAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data is a feature map of floats.
  if (rank(data) != 4 || !data->dtype.is_float())
    return constraint("C1", "data should be (N, C, H, W) of floats, but is {}", ir::str(in[0]));
  // (C2) There are a size and a ratio, all positive; steps and offsets have two values.
  auto positive = [](double v) { return v > 0; };
  if (a.sizes.empty() || a.ratios.empty() || !std::all_of(a.sizes.begin(), a.sizes.end(), positive) ||
      !std::all_of(a.ratios.begin(), a.ratios.end(), positive))
    return constraint("C2", "sizes and ratios must be positive, and at least one each");
  if (a.steps.size() != 2 || a.offsets.size() != 2)
    return constraint("C2", "steps and offsets must have two values, but have {} and {}", a.steps.size(),
                      a.offsets.size());
  const int64_t boxes = static_cast<int64_t>(a.sizes.size() + a.ratios.size()) - 1;
  return ir::tensor_type({dim(1), scalar::simplify(data->shape[2] * data->shape[3] * boxes), dim(4)}, data->dtype);
}

te::Tensors compute(const MultiBoxPriorAttrs& a, const te::Tensors& in, const Type& out) {
  const Exprs& shape = in[0]->shape;
  const DType dtype = in[0]->dtype, wide = accumulator(dtype);
  const int64_t boxes = static_cast<int64_t>(a.sizes.size() + a.ratios.size()) - 1;
  auto half = [&](size_t k, bool width) {
    double size = k < a.sizes.size() ? a.sizes[k] : a.sizes[0];
    double ratio = k < a.sizes.size() ? 1 : std::sqrt(a.ratios[k - a.sizes.size() + 1]);
    return number(width ? size * ratio / 2 : size / ratio / 2, wide);
  };
  return {te::compute("multibox_prior", shape_of(out), [&](const Exprs& i) {
    Expr box = floormod(i[1], boxes), pixel = floordiv(i[1], boxes);
    const Expr place[2] = {floordiv(pixel, shape[3]), floormod(pixel, shape[3])};
    auto centre = [&](size_t d) {
      Expr at = cast(wide, place[d]) + number(a.offsets[d], wide);
      return a.steps[d] > 0 ? at * number(a.steps[d], wide) : divide(at, cast(wide, shape[2 + d]));
    };
    Exprs heights, widths;
    for (size_t k = 0; k < static_cast<size_t>(boxes); ++k)
      heights.push_back(half(k, false)), widths.push_back(half(k, true));
    Expr height = one_of(box, heights);
    Expr width = divide(one_of(box, widths) * cast(wide, shape[2]), cast(wide, shape[3]));
    Expr x = centre(1), y = centre(0);
    Expr value = select(eq(i[2], dim(0)), x - width,
                        select(eq(i[2], dim(1)), y - height, select(eq(i[2], dim(2)), x + width, y + height)));
    if (a.clip) value = min(max(value, number(0, wide)), number(1, wide));
    return cast(dtype, value);
  })};
}

}  // namespace
}  // namespace multibox_prior_cpp

OpDef vision_multibox_prior() {
  using namespace multibox_prior_cpp;
  return define<MultiBoxPriorAttrs>(
      {.name = "vision.multibox_prior",
       .doc = "Boxes of several sizes and ratios around each pixel.",
       .inputs = {{"data", "a feature map, (N, C, H, W), whose values are ignored"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "multibox_prior(data, sizes, ratios, steps, offsets, clip)",
       .examples = {{.inputs = {"(1, 3, 4, 5)"}, .symbolic = {"(1, c, h, w)"}},
                    {.inputs = {"(2, 1, 3, 4)"}, .attrs = "sizes=[0.5f, 0.25f], ratios=[1f, 2f, 0.5f], clip=True"},
                    {.inputs = {"(1, 1, 3, 4)"},
                     .attrs = "sizes=[0.5f], ratios=[1f, 3f], steps=[0.25f, 0.125f], offsets=[0.25f, 0.75f]"}},
       .rejects = {{{"(1, 4, 5)"}, "", "C1"},
                   {{"(1, 3, 4, 5)"}, "sizes=[]", "C2"},
                   {{"(1, 3, 4, 5)"}, "ratios=[0f]", "C2"},
                   {{"(1, 3, 4, 5)"}, "steps=[0.5f]", "C2"}}},
      "MultiBoxPriorAttrs");
}

}  // namespace relay::ops
