// vision.roi_align: a grid of pooled_size in each region of an image, of samples that are interpolated between pixels
//
//   out[r, c, i, j] = mean over sample_ratio^2 points of the cell (i, j) of region r, bilinear in data[batch of r, c]
//
// A region is (batch, x1, y1, x2, y2) in units of the image it came from; spatial_scale brings it to data. A point more
// than one pixel outside counts zero. With `aligned`, which is Relay's own, pixels have their centres at 0.5, and
// regions may be smaller than a pixel. mode "max": the greatest of the samples' four weighted pixels.
#include "relay/op/gradient.h"
#include "relay/op/vision/regions.h"

namespace relay::ops {
namespace {

struct ROIAlignAttrs {
  Ints pooled_size;
  double spatial_scale = 1;
  int64_t sample_ratio = -1;
  std::string layout = "NCHW";
  std::string mode = "avg";
  bool aligned = false;
  static constexpr auto fields =
      std::tuple{required_field("pooled_size", &ROIAlignAttrs::pooled_size, "Height and width of the result."),
                 required_field("spatial_scale", &ROIAlignAttrs::spatial_scale, "Pixels of data to a unit of regions."),
                 field("sample_ratio", &ROIAlignAttrs::sample_ratio, "Samples along each side of a cell."),
                 field("layout", &ROIAlignAttrs::layout, "\"NCHW\"."),
                 field("mode", &ROIAlignAttrs::mode, "\"avg\" or \"max\"."),
                 field("aligned", &ROIAlignAttrs::aligned, "Whether pixels have their centres at 0.5.")};
};

Result<Type> infer(const ROIAlignAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(vision::check_regions(in, a.layout));  // (C1) (C2)
  const TensorType *data = as<TensorType>(in[0]), *rois = as<TensorType>(in[1]);
  // (C3) The grid has two sizes, and samples.
  constexpr int64_t max_samples = 1024;
  if (a.pooled_size.size() != 2 || a.pooled_size[0] < 1 || a.pooled_size[1] < 1 || a.sample_ratio < 1 ||
      a.sample_ratio > max_samples)
    return constraint("C3", "pooled_size {} should be two positive numbers, and sample_ratio {} in 1 to {}",
                      text(a.pooled_size), a.sample_ratio, max_samples);
  // (C4) The mode is one of two.
  if (a.mode != "avg" && a.mode != "max")
    return constraint("C4", "mode must be \"avg\" or \"max\", but is \"{}\"", a.mode);
  return ir::tensor_type({rois->shape[0], data->shape[1], dim(a.pooled_size[0]), dim(a.pooled_size[1])}, data->dtype);
}

te::Tensors compute(const ROIAlignAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &rois = in[1];
  const DType wide = accumulator(data->dtype);
  auto n = [&](double value) { return number(value, wide); };
  const int64_t samples = a.sample_ratio;
  const bool is_max = a.mode == "max";
  auto floor = [](const Expr& e) { return scalar::unary(UnaryOp::Floor, e); };
  // A side of region r, in pixels: where it begins, and how long a cell is.
  auto side = [&](const Expr& r, int64_t low, int64_t cells) {
    auto corner = [&](int64_t k) {
      return cast(wide, (*rois)({r, dim(k)})) * n(a.spatial_scale) - n(a.aligned ? 0.5 : 0);
    };
    Expr length = corner(low + 2) - corner(low);
    return std::pair(corner(low), divide(a.aligned ? length : max(length, n(1)), n(static_cast<double>(cells))));
  };
  // The two pixels around a place and the weight of the second; whether the place is near enough.
  struct Between {
    Expr first, second, weight, inside;
  };
  auto between = [&](std::pair<Expr, Expr> side, const Expr& cell, const Expr& k, const Expr& extent) {
    Expr at =
        side.first + (cast(wide, cell) + divide(cast(wide, k) + n(0.5), n(static_cast<double>(samples)))) * side.second;
    Expr size = cast(wide, extent), inside = logical_and(le(n(-1), at), le(at, size));
    Expr held = min(max(at, n(0)), size - n(1)), whole = floor(held);
    Expr first = max(min(cast(DType::int64(), whole), extent - 1), dim(0));
    return Between{first, min(first + 1, extent - 1), held - whole, inside};
  };
  te::Tensor found = te::reduce(
      "roi_align", shape_of(out), {dim(samples), dim(samples)}, is_max ? Combiner::Max : Combiner::Sum,
      [&](const Exprs& i, const Exprs& r) {
        Between y = between(side(i[0], 2, a.pooled_size[0]), i[2], r[0], data->shape[2]);
        Between x = between(side(i[0], 1, a.pooled_size[1]), i[3], r[1], data->shape[3]);
        Expr batch = max(min(cast(DType::int64(), (*rois)({i[0], dim(0)})), data->shape[0] - 1), dim(0));
        auto pixel = [&](const Expr& at_y, const Expr& at_x, const Expr& weight) {
          return cast(wide, (*data)({batch, i[1], at_y, at_x})) * weight;
        };
        Expr left = n(1) - x.weight, top = n(1) - y.weight;
        Expr a0 = pixel(y.first, x.first, top * left), a1 = pixel(y.first, x.second, top * x.weight);
        Expr b0 = pixel(y.second, x.first, y.weight * left), b1 = pixel(y.second, x.second, y.weight * x.weight);
        Expr value = is_max ? max(max(a0, a1), max(b0, b1)) : a0 + a1 + b0 + b1;
        return select(logical_and(y.inside, x.inside), value, n(0));
      });
  const double count = is_max ? 1 : static_cast<double>(samples * samples);
  return {elementwise("roi_align", found,
                      [&](const Exprs& i) { return cast(data->dtype, divide((*found)(i), n(count))); })};
}

ir::Expr cast_to(const ir::Expr& t, DType to) { return grad::call("cast", {t}, {{"dtype", to}}); }
ir::Expr with_axis(const ir::Expr& t, int64_t axis) { return grad::call("expand_dims", {t}, {{"axis", axis}}); }
ir::Expr shaped(const ir::Expr& t, const Ints& shape) { return grad::call("reshape", {t}, {{"newshape", shape}}); }

ir::Expr column(const ir::Expr& rois, int64_t k) {  // (R, 1)
  return grad::call("strided_slice", {rois}, {{"begin", Ints{k}}, {"end", Ints{k + 1}}, {"axes", Ints{1}}});
}

// Which image each region is of, (R, 1), int64.
ir::Expr image_of(const Adjoint& of) {
  const ir::Expr given = cast_to(column(of.inputs[1], 0), DType::int64()),
                 last = grad::call("max", {grad::places(of.inputs[0], 0)});
  return grad::call("minimum", {grad::call("maximum", {given, ir::constant(0, DType::int64())}), last});
}

// The samples of all regions along an axis of data, (R, cells, samples): where each is, between the first and the last
// pixel, and whether it is near enough.
struct Samples {
  ir::Expr held, inside, places, last;
};

// Columns `low` and low + 2 say where the regions lie along the axis.
Samples samples_along(const ROIAlignAttrs& a, const Adjoint& of, int64_t low, int64_t cells, int64_t axis) {
  const ir::Expr &data = of.inputs[0], &rois = of.inputs[1];
  const DType dtype = grad::tensor(rois).dtype;
  auto n = [&](double value) { return grad::number(value, rois); };
  Tensor offsets = Tensor::full({cells, a.sample_ratio}, dtype, 0);  // of samples, in cells
  for (int64_t k = 0; k < offsets.elements(); ++k)
    offsets.set(k, (static_cast<double>(k) + 0.5) / static_cast<double>(a.sample_ratio));
  auto corner = [&](int64_t k) {
    return grad::minus(grad::times(column(rois, k), n(a.spatial_scale)), n(a.aligned ? 0.5 : 0));
  };
  const ir::Expr begin = corner(low), given = grad::minus(corner(low + 2), begin);
  const ir::Expr length = a.aligned ? given : grad::call("maximum", {given, n(1)});
  const ir::Expr cell = grad::over(length, n(static_cast<double>(cells)));
  const ir::Expr at = grad::plus(with_axis(begin, 2), grad::times(ir::constant(offsets), with_axis(cell, 2)));
  const ir::Expr places = cast_to(grad::places(data, axis), dtype), last = grad::call("max", {places});
  const ir::Expr inside = grad::call(
      "logical_and", {grad::call("less_equal", {n(-1), at}), grad::call("less_equal", {at, grad::plus(last, n(1))})});
  return {grad::call("minimum", {grad::call("maximum", {at, n(0)}), last}), inside, places, last};
}

// The weights of a region's samples are those along H times those along W, which a matrix for each region holds: of
// cell p and place h the mean over the samples of max(0, 1 - |sample - h|). Regions have no gradient.
ir::Expr gradient_of_mean(const ROIAlignAttrs& a, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &rois = of.inputs[1];
  auto n = [&](double value) { return grad::number(value, rois); };
  auto einsum = [](const char* equation, const ir::Expr& x, const ir::Expr& y) {
    return grad::call("einsum", {ir::tuple({x, y})}, {{"equation", equation}});
  };
  auto weights = [&](int64_t low, int64_t cells, int64_t axis) {  // (R, cells, extent of the axis)
    const Samples s = samples_along(a, of, low, cells, axis);
    const ir::Expr distance = grad::call("abs", {grad::minus(with_axis(s.held, 3), s.places)});
    const ir::Expr near = grad::call("maximum", {grad::minus(n(1), distance), n(0)});
    const ir::Expr inside = cast_to(with_axis(s.inside, 3), grad::tensor(rois).dtype);
    return grad::converted_as(grad::call("mean", {grad::times(near, inside)}, {{"axis", Ints{2}}}), rois, data);
  };
  const ir::Expr is_of =
      cast_to(grad::call("equal", {image_of(of), grad::places(data, 0)}), grad::tensor(data).dtype);  // (R, N)
  const ir::Expr rows = einsum("rcpq,rph->rchq", of.gradient, weights(2, a.pooled_size[0], 2));
  const ir::Expr columns = einsum("rqw,rn->rqnw", weights(1, a.pooled_size[1], 3), is_of);
  return einsum("rchq,rqnw->nchw", rows, columns);
}

// Each element of the result is one weighted pixel, the greatest of those around the samples of its cell: all are
// weighed once more, and the gradient goes where the greatest lies.
ir::Expr gradient_of_max(const ROIAlignAttrs& a, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &rois = of.inputs[1];
  const DType index = DType::int64();
  const int64_t h = a.pooled_size[0], w = a.pooled_size[1], around = 2 * a.sample_ratio;
  auto extent = [&](int64_t axis) { return grad::extent(data, axis); };
  struct Pixels {
    ir::Expr places, weights;  // (R, cells, around)
  };
  auto pixels = [&](int64_t low, int64_t cells, int64_t axis) {
    const Samples s = samples_along(a, of, low, cells, axis);
    const ir::Expr first = grad::call("floor", {s.held}), part = grad::minus(s.held, first);
    const ir::Expr second = grad::call("minimum", {grad::plus(first, grad::number(1, rois)), s.last});
    const ir::Expr inside = cast_to(s.inside, grad::tensor(rois).dtype);
    auto both = [&](const ir::Expr& x, const ir::Expr& y) {
      return shaped(grad::call("stack", {ir::tuple({x, y})}, {{"axis", int64_t{3}}}), {0, cells, around});
    };
    return Pixels{cast_to(both(first, second), index),
                  both(grad::times(grad::minus(grad::number(1, rois), part), inside), grad::times(part, inside))};
  };
  const Pixels y = pixels(2, h, 2), x = pixels(1, w, 3);
  // Of (R, 1, h, w, around, around), then with the last two as one.
  auto down = [&](const ir::Expr& t) { return shaped(t, {-1, 1, h, 1, around, 1}); };
  auto across = [&](const ir::Expr& t) { return shaped(t, {-1, 1, 1, w, 1, around}); };
  auto joined = [&](const ir::Expr& t) { return shaped(t, {-1, 1, h, w, around * around}); };
  const ir::Expr places = joined(grad::plus(grad::times(down(y.places), extent(3)), across(x.places)));
  const ir::Expr weights = grad::converted_as(joined(grad::times(down(y.weights), across(x.weights))), rois, data);
  const ir::Expr channel = shaped(grad::places(data, 1), {-1, 1, 1, 1}), image = shaped(image_of(of), {-1, 1, 1, 1, 1});
  const ir::Expr plane = grad::plus(grad::times(image, extent(1)), channel);
  const ir::Expr element = grad::plus(grad::times(plane, grad::times(extent(2), extent(3))), places);
  const ir::Expr values = grad::times(grad::call("take", {data, element}), weights);
  const ir::Expr greatest = grad::call("argmax", {values}, {{"axis", Ints{4}}, {"keepdims", true}});
  auto chosen = [&](const ir::Expr& t) {
    const ir::Expr whole = grad::call("broadcast_to_like", {t, values});
    return grad::call("squeeze", {grad::call("gather", {whole, greatest}, {{"axis", int64_t{4}}})},
                      {{"axis", Ints{4}}});
  };
  return grad::scattered(grad::times(of.gradient, chosen(weights)), grad::plus(chosen(element), ir::constant(1, index)),
                         data);
}

ir::Exprs gradient(const ROIAlignAttrs& a, const Adjoint& of) {
  return {a.mode == "avg" ? gradient_of_mean(a, of) : gradient_of_max(a, of), nullptr};
}

}  // namespace

OpDef vision_roi_align() {
  return define<ROIAlignAttrs>(
      {.name = "vision.roi_align",
       .doc = "Regions of images, interpolated to one size.",
       .inputs = {{"data", "(N, C, H, W)"}, {"rois", "(regions, 5): batch, x1, y1, x2, y2"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, mode, aligned)",
       // The place of a sample, up to 8, is rounded in another order in kernels, and its weights with it.
       .examples = {{.inputs = {"(2, 3, 6, 7)", "(4, 5)"},
                     .attrs = "pooled_size=[3, 2], spatial_scale=0.5f, sample_ratio=2",
                     .symbolic = {"(2, c, h, 7)", "(n, 5)"},
                     .low = 0,
                     .high = 1.5,
                     .ulps = 16},
                    {.inputs = {"(1, 2, 6, 7)", "(4, 5)"},
                     .attrs = "pooled_size=[2, 2], spatial_scale=2f, sample_ratio=3, aligned=True",
                     .low = 0,
                     .high = 3,
                     .ulps = 16},
                    {.inputs = {"(1, 2, 6, 7)", "(4, 5)"},
                     .attrs = "pooled_size=[2, 3], spatial_scale=1f, sample_ratio=2, mode=\"max\"",
                     .low = 0,
                     .high = 4,
                     .ulps = 16}},
       .rejects = {{{"(1, 2, 0, 7)", "(4, 5)"}, "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2", "C1"},
                   {{"(1, 2, 6)", "(4, 5)"}, "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2", "C1"},
                   {{"(1, 2, 6, 7)", "(4, 4)"}, "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2", "C2"},
                   {{"(1, 2, 6, 7)", "(4, 5)"}, "pooled_size=[2, 2], spatial_scale=1f", "C3"},
                   {{"(1, 2, 6, 7)", "(4, 5)"},
                    "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2, mode=\"sum\"",
                    "C4"}}},
      "ROIAlignAttrs");
}

}  // namespace relay::ops
