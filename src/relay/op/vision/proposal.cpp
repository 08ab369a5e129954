// vision.proposal: regions of images that are likely to contain objects, from scores and offsets of anchors
//
// Each pixel of the feature map has an anchor of each ratio and scale. Its offsets move it: with iou_loss they move its
// corners, otherwise they are (dx, dy) relative to its sides and factors exp(dw), exp(dh) of the sides. It is clipped
// to the image; one smaller than rpn_min_size * scale is widened by that, and comes last, like those outside of the
// image. Of the best rpn_pre_nms_top_n (all if below 1), those are left out that overlap one kept before them by more
// than the threshold. The result is (image, x1, y1, x2, y2) of the best rpn_post_nms_top_n of each image; if there are
// fewer, they are repeated.
#include <algorithm>
#include <cmath>

#include "relay/op/sort/order.h"
#include "relay/op/vision/suppression.h"

namespace relay::ops {
namespace proposal_cpp {
namespace {

using ir::Floats;

struct ProposalAttrs {
  Floats scales = {4.0, 8.0, 16.0, 32.0}, ratios = {0.5, 1.0, 2.0};
  int64_t feature_stride = 16;
  double threshold = 0.7;
  int64_t rpn_pre_nms_top_n = 6000, rpn_post_nms_top_n = 300, rpn_min_size = 16;
  bool iou_loss = false;
  using A = ProposalAttrs;
  static constexpr auto fields =
      std::tuple{field("scales", &A::scales, "Scales of the anchors."),
                 field("ratios", &A::ratios, "Ratios of height to width of the anchors."),
                 field("feature_stride", &A::feature_stride, "Pixels of the image per pixel of the feature map."),
                 field("threshold", &A::threshold, "The overlap above which the later box is dropped."),
                 field("rpn_pre_nms_top_n", &A::rpn_pre_nms_top_n, "Number of best boxes to consider."),
                 field("rpn_post_nms_top_n", &A::rpn_post_nms_top_n, "Number of boxes per image in the result."),
                 field("rpn_min_size", &A::rpn_min_size, "Minimum side of a box, multiplied by the scale in im_info."),
                 field("iou_loss", &A::iou_loss, "True if offsets are those of the corners.")};
};

int64_t anchors_of(const ProposalAttrs& a) { return static_cast<int64_t>(a.scales.size() * a.ratios.size()); }

Result<Type> infer(const ProposalAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* scores, tensor_input(in, 0, "cls_prob"));
  RELAY_ASSIGN(const TensorType* offsets, tensor_input(in, 1, "bbox_pred"));
  RELAY_ASSIGN(const TensorType* info, tensor_input(in, 2, "im_info"));
  // (C1) Scales and ratios are positive, and at least one each; so are the stride and the size of the result.
  auto positive = [](double v) { return v > 0; };
  if (a.scales.empty() || a.ratios.empty() || !std::all_of(a.scales.begin(), a.scales.end(), positive) ||
      !std::all_of(a.ratios.begin(), a.ratios.end(), positive))
    return constraint("C1", "scales and ratios must be positive, and at least one each");
  if (a.feature_stride < 1 || a.rpn_post_nms_top_n < 1)
    return constraint("C1", "feature_stride {} and rpn_post_nms_top_n {} must be positive", a.feature_stride,
                      a.rpn_post_nms_top_n);
  // (C2) There are two scores and four offsets for each anchor and pixel, three numbers for each image, of one type.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", scores, 4, "cls_prob"));
  const int64_t anchors = anchors_of(a);
  const Dims& s = scores->shape;
  if (!agree(s[1], dim(2 * anchors)) || !agree(offsets->shape, Dims{s[0], dim(4 * anchors), s[2], s[3]}) ||
      !agree(info->shape, Dims{s[0], dim(3)}))
    return constraint("C2",
                      "{} anchors need cls_prob (N, {}, H, W), bbox_pred (N, {}, H, W), im_info (N, 3), not {}, {}, {}",
                      anchors, 2 * anchors, 4 * anchors, text(s), text(offsets->shape), text(info->shape));
  if (!scores->dtype.is_float() || scores->dtype != offsets->dtype || scores->dtype != info->dtype)
    return constraint("C2", "cls_prob, bbox_pred and im_info must be floats of one type, but are {}, {} and {}",
                      scores->dtype.str(), offsets->dtype.str(), info->dtype.str());
  // (C3) There are pixels.
  if (scalar::is_int(s[2], 0) || scalar::is_int(s[3], 0)) return constraint("C3", "cls_prob {} has no pixels", text(s));
  return ir::tensor_type({scalar::simplify(s[0] * a.rpn_post_nms_top_n), dim(5)}, scores->dtype);
}

// For each anchor at the first pixel, x1, y1, x2, y2. Sizes are integers before they are scaled.
std::vector<std::vector<double>> anchors(const ProposalAttrs& a) {
  const auto side = static_cast<double>(a.feature_stride);
  std::vector<std::vector<double>> out(4);
  for (const double ratio : a.ratios)
    for (const double scale : a.scales) {
      const double width = std::floor(std::sqrt(std::floor(side * side / ratio)) + 0.5);
      const double height = std::floor(width * ratio + 0.5), centre = (side - 1) / 2;
      const double x = (width * scale - 1) / 2, y = (height * scale - 1) / 2;
      out[0].push_back(centre - x), out[1].push_back(centre - y);
      out[2].push_back(centre + x), out[3].push_back(centre + y);
    }
  return out;
}

// boxes[image, box, number]: the corners and the score; a box is a pixel and an anchor.
te::Tensor predicted(const ProposalAttrs& a, const te::Tensors& in, const Expr& boxes) {
  const te::Tensor &scores = in[0], &offsets = in[1], &info = in[2];
  const int64_t many = anchors_of(a);
  const DType wide = accumulator(scores->dtype);
  auto n = [&](double value) { return number(value, wide); };
  const double stride = static_cast<double>(a.feature_stride);
  const std::vector<std::vector<double>> shapes = anchors(a);
  return te::compute("boxes", {scores->shape[0], boxes, dim(5)}, [&](const Exprs& i) {
    const Expr k = floormod(i[1], many), pixel = floordiv(i[1], many);
    const Expr at[2] = {floormod(pixel, scores->shape[3]), floordiv(pixel, scores->shape[3])};  // x, y
    auto known = [&](int64_t j) { return cast(wide, (*info)({i[0], dim(j)})); };
    const Expr extent[2] = {known(1), known(0)};
    const Expr least = known(2) * n(static_cast<double>(a.rpn_min_size)), half = n(0.5), one = n(1);
    auto offset = [&](int64_t j) { return cast(wide, (*offsets)({i[0], k * 4 + j, at[1], at[0]})); };
    auto anchor = [&](size_t j) {
      Exprs values;
      for (const double value : shapes[j]) values.push_back(n(value));
      return one_of(k, values) + cast(wide, at[j % 2]) * n(stride);
    };
    Expr low[2], high[2], small = imm(0, DType::boolean()), outside = small;
    for (size_t d = 0; d < 2; ++d) {
      const auto j = static_cast<int64_t>(d);
      if (a.iou_loss) {
        low[d] = anchor(d) + offset(j), high[d] = anchor(d + 2) + offset(j + 2);
      } else {
        const Expr side = anchor(d + 2) - anchor(d) + one;
        const Expr centre = offset(j) * side + (anchor(d) + anchor(d + 2)) * half;
        const Expr reach = (scalar::unary(UnaryOp::Exp, offset(j + 2)) * side - one) * half;
        low[d] = centre - reach, high[d] = centre + reach;
      }
      low[d] = max(min(low[d], extent[d] - one), n(0)), high[d] = max(min(high[d], extent[d] - one), n(0));
      small = logical_or(small, lt(high[d] - low[d] + one, least));
      outside = logical_or(outside, le(scalar::unary(UnaryOp::Trunc, divide(extent[d], n(stride))), cast(wide, at[d])));
    }
    const Expr more = select(small, least * half, n(0));
    const Expr score = select(logical_or(small, outside), n(-1), cast(wide, (*scores)({i[0], k + many, at[1], at[0]})));
    return one_of(i[2], {low[0] - more, low[1] - more, high[0] + more, high[1] + more, score});
  });
}

te::Tensors compute(const ProposalAttrs& a, const te::Tensors& in, const Type& out) {
  const Exprs& shape = in[0]->shape;
  const Expr &batch = shape[0], n = scalar::simplify(shape[2] * shape[3] * anchors_of(a));
  const DType wide = accumulator(in[0]->dtype);
  const te::Tensor boxes = predicted(a, in, n);
  const te::Tensor scores =
      te::compute("scores", {batch, n}, [&](const Exprs& i) { return (*boxes)({i[0], i[1], dim(4)}); });
  const Order order(scores, 1, false);
  const te::Tensor ordered = te::compute("ordered", {batch, n, dim(4)}, [&](const Exprs& i) {
    return (*boxes)({i[0], vision::within(order.place({i[0], i[1]}), n), i[2]});
  });
  vision::Candidates c;
  c.lines = {batch}, c.boxes = n, c.above = true, c.unit = 1;
  c.threshold = number(a.threshold, wide), c.limit = dim(a.rpn_post_nms_top_n);
  c.count = [&](const Exprs&) { return a.rpn_pre_nms_top_n > 0 ? min(n, dim(a.rpn_pre_nms_top_n)) : n; };
  c.corners = [&](const Exprs& line, const Expr& rank) {
    Exprs four;
    for (int64_t k = 0; k < 4; ++k) four.push_back((*ordered)({line[0], rank, dim(k)}));
    return four;
  };
  c.counts = [](const Exprs&, const Expr&) { return imm(1, DType::boolean()); };
  c.compared = [](const Exprs&, const Expr&, const Expr&) { return imm(1, DType::boolean()); };
  const vision::Kept kept(c);
  return {te::compute("proposal", shape_of(out), [&](const Exprs& i) {
    const Expr image = floordiv(i[0], a.rpn_post_nms_top_n), k = floormod(i[0], a.rpn_post_nms_top_n);
    const Expr many = max((*kept.count())({image}), dim(1));
    const Expr rank = vision::within(kept.rank({image}, vision::within(floormod(k, many), n)), n);
    const Expr value = (*ordered)({image, rank, max(i[1] - 1, dim(0))});
    return cast(dtype_of(out), select(eq(i[1], dim(0)), cast(wide, image), value));
  })};
}

}  // namespace
}  // namespace proposal_cpp

OpDef vision_proposal() {
  using namespace proposal_cpp;
  const std::string anchors = "scales=[0.5f, 1f], ratios=[0.5f, 1f, 2f], rpn_min_size=2, rpn_post_nms_top_n=8";
  const std::vector<std::string> inputs = {"(2, 12, 3, 4)", "(2, 24, 3, 4)", "(2, 3)"};
  const std::vector<std::pair<double, double>> ranges = {{0, 1}, {-0.3, 0.3}, {40, 70}},
                                               few = {{0, 1}, {-9, 9}, {1, 40}};
  return define<ProposalAttrs>(
      {.name = "vision.proposal",
       .doc = "Regions of images that probably contain an object, from scores and offsets of anchors.",
       .inputs = {{"cls_prob", "(N, 2 * anchors, H, W): scores of the background, then of objects"},
                  {"bbox_pred", "(N, 4 * anchors, H, W)"},
                  {"im_info", "(N, 3): height, width, scale"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "proposal(cls_prob, bbox_pred, im_info, scales, ratios, feature_stride, threshold, rpn_pre_nms_top_n, "
                 "rpn_post_nms_top_n, rpn_min_size, iou_loss)",
       // exp, and corners from a centre and a side, are rounded in another order.
       .examples =
           {{.inputs = inputs,
             .attrs = anchors + ", threshold=0.3f",
             .symbolic = {"(b, 12, h, w)", "(b, 24, h, w)", "(b, 3)"},
             .ranges = few,
             .ulps = 16},
            {.inputs = inputs, .attrs = anchors + ", rpn_pre_nms_top_n=20", .ranges = ranges, .ulps = 16},
            {.inputs = inputs, .attrs = anchors + ", rpn_pre_nms_top_n=5, iou_loss=True", .ranges = few, .ulps = 16}},
       .rejects = {{inputs, "scales=[]", "C1"},
                   {{"(2, 12, 0, 4)", "(2, 24, 0, 4)", "(2, 3)"}, anchors, "C3"},
                   {inputs, anchors + ", feature_stride=0", "C1"},
                   {{"(2, 12, 3)", "(2, 24, 3, 4)", "(2, 3)"}, anchors, "C2"},
                   {{"(2, 12, 3, 4)", "(2, 12, 3, 4)", "(2, 3)"}, anchors, "C2"},
                   {{"(2, 12, 3, 4)", "(2, 24, 3, 4)", "(2, 3) float64"}, anchors, "C2"}}},
      "ProposalAttrs");
}

}  // namespace relay::ops
