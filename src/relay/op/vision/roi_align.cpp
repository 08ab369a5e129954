// vision.roi_align: a grid of pooled_size in each region of an image, of samples that are interpolated between pixels
//
//   out[r, c, i, j] = mean over sample_ratio^2 points of the cell (i, j) of region r, bilinear in data[batch of r, c]
//
// A region is (batch, x1, y1, x2, y2) in units of its source image; spatial_scale converts it to data. A point more
// than one pixel outside counts as zero. With `aligned`, Relay's extension, pixels have their centres at 0.5, and
// regions may be smaller than a pixel. A sample_ratio below 1 is adaptive: ceil(side of a cell in pixels) samples along
// each side, in proportion to the region's size. mode "max": the greatest of the samples' four weighted pixels.
#include "relay/op/gradient.h"
#include "relay/op/loops.h"
#include "relay/op/vision/regions.h"

namespace relay::ops {
namespace roi_align_cpp {
namespace {

struct ROIAlignAttrs {
  Ints pooled_size;
  double spatial_scale = 1;
  int64_t sample_ratio = -1;
  std::string layout = "NCHW";
  std::string mode = "avg";
  bool aligned = false;
  bool is_adaptive() const { return sample_ratio < 1; }
  double cells(size_t axis) const { return static_cast<double>(pooled_size[axis]); }
  static constexpr auto fields =
      std::tuple{required_field("pooled_size", &ROIAlignAttrs::pooled_size, "Height and width of the result."),
                 required_field("spatial_scale", &ROIAlignAttrs::spatial_scale, "Pixels of data per unit of regions."),
                 field("sample_ratio", &ROIAlignAttrs::sample_ratio,
                       "Samples along each side of a cell; if below 1, one per pixel of the cell, rounded up."),
                 field("layout", &ROIAlignAttrs::layout, "\"NCHW\"."),
                 field("mode", &ROIAlignAttrs::mode, "\"avg\" or \"max\"."),
                 field("aligned", &ROIAlignAttrs::aligned, "True if pixels have their centres at 0.5.")};
};

Result<Type> infer(const ROIAlignAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(vision::check_regions(in, a.layout));  // (C1) (C2)
  const TensorType *data = as<TensorType>(in[0]), *rois = as<TensorType>(in[1]);
  // (C3) The grid has two sizes, and not too many samples.
  constexpr int64_t max_samples = 1024;
  if (a.pooled_size.size() != 2 || a.pooled_size[0] < 1 || a.pooled_size[1] < 1 || a.sample_ratio > max_samples)
    return constraint("C3", "pooled_size {} should be two positive numbers, and sample_ratio {} at most {}",
                      text(a.pooled_size), a.sample_ratio, max_samples);
  // (C4) The mode is one of two.
  if (a.mode != "avg" && a.mode != "max")
    return constraint("C4", "mode must be \"avg\" or \"max\", but is \"{}\"", a.mode);
  return ir::tensor_type({rois->shape[0], data->shape[1], dim(a.pooled_size[0]), dim(a.pooled_size[1])}, data->dtype);
}

using Axis = size_t;  // 0: rows of the grid and of data, 1: columns

// Reads regions and images.
struct Sampler {
  const ROIAlignAttrs& attrs;
  const te::Tensor &data, &rois;
  DType wide = accumulator(data->dtype);
  bool is_max = attrs.mode == "max";

  // The beginning of a region along an axis, in pixels, and the length of a cell.
  struct Side {
    Expr begin, cell;
  };
  // The two pixels around a sample and the weight of the second; true if the sample is near enough.
  struct Between {
    Expr first, second, weight, inside;
  };

  Expr n(double value) const { return number(value, wide); }
  const Expr& extent(Axis axis) const { return data->shape[2 + axis]; }

  Side side(const Expr& r, Axis axis) const {
    auto corner = [&](int64_t k) {
      return cast(wide, (*rois)({r, dim(k)})) * n(attrs.spatial_scale) - n(attrs.aligned ? 0.5 : 0);
    };
    const int64_t low = axis == 0 ? 2 : 1;
    const Expr length = corner(low + 2) - corner(low);
    return {corner(low), divide(attrs.aligned ? length : max(length, n(1)), n(attrs.cells(axis)))};
  }

  // Sample k of `samples` along a cell, rounded as other frameworks do: samples at the limit count there too.
  Between between(const Side& side, const Expr& cell, const Expr& k, const Expr& samples, Axis axis) const {
    const Expr at =
        side.begin + cast(wide, cell) * side.cell + divide((cast(wide, k) + n(0.5)) * side.cell, cast(wide, samples));
    const Expr size = cast(wide, extent(axis)), inside = logical_and(le(n(-1), at), le(at, size));
    const Expr held = min(max(at, n(0)), size - n(1)), whole = unary(UnaryOp::Floor, held);
    const Expr first = max(min(cast(DType::int64(), whole), extent(axis) - 1), dim(0));
    return {first, min(first + 1, extent(axis) - 1), held - whole, inside};
  }

  Expr value(const Expr& region, const Expr& channel, const Between& y, const Between& x) const {
    const Expr image = max(min(cast(DType::int64(), (*rois)({region, dim(0)})), data->shape[0] - 1), dim(0));
    auto pixel = [&](const Expr& at_y, const Expr& at_x, const Expr& weight) {
      return cast(wide, (*data)({image, channel, at_y, at_x})) * weight;
    };
    const Expr left = n(1) - x.weight, top = n(1) - y.weight;
    const Expr a0 = pixel(y.first, x.first, top * left), a1 = pixel(y.first, x.second, top * x.weight);
    const Expr b0 = pixel(y.second, x.first, y.weight * left), b1 = pixel(y.second, x.second, y.weight * x.weight);
    const Expr value = is_max ? max(max(a0, a1), max(b0, b1)) : a0 + a1 + b0 + b1;
    return select(logical_and(y.inside, x.inside), value, n(0));
  }
};

te::Tensor of_fixed_samples(const Sampler& s, const Dims& shape) {
  const int64_t samples = s.attrs.sample_ratio;
  const Expr each = dim(samples);
  const te::Tensor found = te::reduce("roi_align", shape, {each, each}, s.is_max ? Combiner::Max : Combiner::Sum,
                                      [&](const Exprs& i, const Exprs& r) {
                                        return s.value(i[0], i[1], s.between(s.side(i[0], 0), i[2], r[0], each, 0),
                                                       s.between(s.side(i[0], 1), i[3], r[1], each, 1));
                                      });
  if (s.is_max) return found;
  const double count = static_cast<double>(samples * samples);
  return elementwise("mean", found, [&](const Exprs& i) { return divide((*found)(i), s.n(count)); });
}

// The samples of a cell along an axis, as values of loops: `count` of them from `first`, of `all`, may be near data.
struct Run {
  Sampler::Side side;
  Expr all, first, count;
};

// body(run). A cell has a sample for each pixel begun, so samples are more than half a pixel apart, or there is only
// one. So at most two for each pixel and a few at the ends are near data, however large a region is.
template <class Body>
Stmt with_run(const Sampler& s, const Expr& region, const Expr& cell, Axis axis, Body&& body) {
  constexpr int64_t most = int64_t{1} << 40;  // positions of samples do not overflow
  const DType i64 = DType::int64();
  const Sampler::Side given = s.side(region, axis);
  return let("begin", given.begin, [&](const Expr& begin) {
    return let("length", given.cell, [&](const Expr& length) {
      const Expr samples = max(min(cast(i64, unary(UnaryOp::Ceil, length)), dim(most)), dim(0));
      return let("all", samples, [&](const Expr& all) {
        const Expr start = begin + cast(s.wide, cell) * length, step = divide(length, cast(s.wide, max(all, dim(1))));
        auto sample_before = [&](const Expr& at) {
          return cast(i64, unary(UnaryOp::Floor, divide(at - start, step) - s.n(0.5)));
        };
        const Expr size = s.extent(axis), from = max(min(sample_before(s.n(-1)), all), dim(0));
        return let("first", from, [&](const Expr& first) {
          const Expr end = min(min(sample_before(cast(s.wide, size)), dim(most)) + 2, all);
          return let("count", max(min(end - first, size * 2 + 6), dim(0)),
                     [&](const Expr& count) { return body(Run{{begin, length}, all, first, count}); });
        });
      });
    });
  });
}

te::Tensor of_adaptive_samples(const Sampler& s, const Dims& shape) {
  const Combiner combiner = s.is_max ? Combiner::Max : Combiner::Sum;
  auto loops = [&](const Exprs& i, const BufferRef& result, const Run& y, const Run& x) {
    // A sample that no loop reaches is far from data, and counts as zero.
    const Expr reached = logical_and(logical_and(eq(y.count, y.all), eq(x.count, x.all)),
                                     logical_and(lt(dim(0), y.all), lt(dim(0), x.all)));
    const Expr none = s.is_max ? select(reached, te::identity(combiner, s.wide), s.n(0)) : s.n(0);
    return with_cell("found", none, [&](const Cell& found) {
      const Stmt over = each("row", y.count, [&](const Expr& row) {
        const Sampler::Between at_y = s.between(y.side, i[2], y.first + row, y.all, 0);
        return each("column", x.count, [&](const Expr& column) {
          const Sampler::Between at_x = s.between(x.side, i[3], x.first + column, x.all, 1);
          return found.set(te::combine(combiner, found.get(), s.value(i[0], i[1], at_y, at_x)));
        });
      });
      const Expr number = cast(s.wide, max(y.all, dim(1))) * cast(s.wide, max(x.all, dim(1)));
      return loop::block({over, loop::store(result, i, s.is_max ? found.get() : divide(found.get(), number))});
    });
  };
  return te::program("roi_align", shape, s.wide, axes_but(4, {}), [&](const Exprs& i, const BufferRef& result) {
    return with_run(s, i[0], i[2], 0, [&](const Run& y) {
      return with_run(s, i[0], i[3], 1, [&](const Run& x) { return loops(i, result, y, x); });
    });
  });
}

te::Tensors compute(const ROIAlignAttrs& a, const te::Tensors& in, const Type& out) {
  const Sampler s{a, in[0], in[1]};
  return {converted(a.is_adaptive() ? of_adaptive_samples(s, shape_of(out)) : of_fixed_samples(s, shape_of(out)),
                    in[0]->dtype)};
}

ir::Expr cast_to(const ir::Expr& t, DType to) { return grad::call("cast", {t}, {{"dtype", to}}); }
ir::Expr with_axis(const ir::Expr& t, int64_t axis) { return grad::call("expand_dims", {t}, {{"axis", axis}}); }
ir::Expr shaped(const ir::Expr& t, const Ints& shape) { return grad::call("reshape", {t}, {{"newshape", shape}}); }

ir::Expr column(const ir::Expr& rois, int64_t k) {  // (R, 1)
  return grad::call("strided_slice", {rois}, {{"begin", Ints{k}}, {"end", Ints{k + 1}}, {"axes", Ints{1}}});
}

// The image of each region, (R, 1), int64.
ir::Expr image_of(const Adjoint& of) {
  const ir::Expr given = cast_to(column(of.inputs[1], 0), DType::int64()),
                 last = grad::call("max", {grad::places(of.inputs[0], 0)});
  return grad::call("minimum", {grad::call("maximum", {given, ir::constant(0, DType::int64())}), last});
}

// The samples of all regions along an axis of data, (R, cells, samples): their positions, clipped to the first and last
// pixel, and whether they are near enough.
struct Samples {
  ir::Expr held, inside, places, last;
};

// The beginnings of the regions along an axis of data and the lengths of their cells, (R, 1), and the axis' last index.
struct Sides {
  ir::Expr begin, cell, places, last;
};

Sides sides_along(const ROIAlignAttrs& a, const Adjoint& of, Axis axis) {
  const ir::Expr& rois = of.inputs[1];
  auto n = [&](double value) { return grad::number(value, rois); };
  auto corner = [&](int64_t k) {
    return grad::minus(grad::times(column(rois, k), n(a.spatial_scale)), n(a.aligned ? 0.5 : 0));
  };
  const int64_t low = axis == 0 ? 2 : 1;
  const ir::Expr begin = corner(low), given = grad::minus(corner(low + 2), begin);
  const ir::Expr length = a.aligned ? given : grad::call("maximum", {given, n(1)});
  const ir::Expr places = cast_to(grad::places(of.inputs[0], 2 + static_cast<int64_t>(axis)), grad::tensor(rois).dtype);
  return {begin, grad::over(length, n(a.cells(axis))), places, grad::call("max", {places})};
}

// True for positions that are near enough to pixels 0 to last.
ir::Expr inside(const ir::Expr& at, const ir::Expr& last, const ir::Expr& rois) {
  const ir::Expr before = grad::call("less_equal", {grad::number(-1, rois), at});
  return grad::call("logical_and", {before, grad::call("less_equal", {at, grad::plus(last, grad::number(1, rois))})});
}
ir::Expr held(const ir::Expr& at, const ir::Expr& last, const ir::Expr& rois) {
  return grad::call("minimum", {grad::call("maximum", {at, grad::number(0, rois)}), last});
}

Samples samples_along(const ROIAlignAttrs& a, const Adjoint& of, Axis axis) {
  const ir::Expr& rois = of.inputs[1];
  const Sides s = sides_along(a, of, axis);
  Tensor offsets = Tensor::full({a.pooled_size[axis], a.sample_ratio}, grad::tensor(rois).dtype, 0);  // in cells
  for (int64_t k = 0; k < offsets.elements(); ++k)
    offsets.set(k, (static_cast<double>(k) + 0.5) / static_cast<double>(a.sample_ratio));
  const ir::Expr at = grad::plus(with_axis(s.begin, 2), grad::times(ir::constant(offsets), with_axis(s.cell, 2)));
  return {held(at, s.last, rois), inside(at, s.last, rois), s.places, s.last};
}

// The weight of a sample for a pixel, by the distance between them.
ir::Expr nearness(const ir::Expr& sample, const ir::Expr& place, const ir::Expr& rois) {
  const ir::Expr distance = grad::call("abs", {grad::minus(sample, place)});
  return grad::call("maximum", {grad::minus(grad::number(1, rois), distance), grad::number(0, rois)});
}

// (R, cells, extent of the axis): the mean over a cell's samples of their weights for a pixel.
ir::Expr fixed_weights(const ROIAlignAttrs& a, const Adjoint& of, Axis axis) {
  const ir::Expr& rois = of.inputs[1];
  const Samples s = samples_along(a, of, axis);
  const ir::Expr near = nearness(with_axis(s.held, 3), s.places, rois);
  return grad::call("mean", {grad::times(near, cast_to(with_axis(s.inside, 3), grad::tensor(rois).dtype))},
                    {{"axis", Ints{2}}});
}

// The same for adaptive samples, which are more than half a pixel apart or single: a pixel has few within one pixel.
// They are searched for from one that is more than a pixel before it.
ir::Expr adaptive_weights(const ROIAlignAttrs& a, const Adjoint& of, Axis axis) {
  constexpr int64_t nearby = 6;
  const ir::Expr& rois = of.inputs[1];
  const DType dtype = grad::tensor(rois).dtype;
  auto n = [&](double value) { return grad::number(value, rois); };
  auto count = [&](Shape shape) {
    Tensor t = Tensor::full(std::move(shape), dtype, 0);
    for (int64_t k = 0; k < t.elements(); ++k) t.set(k, static_cast<double>(k));
    return ir::constant(t);
  };
  auto both = [](const ir::Expr& x, const ir::Expr& y) { return grad::call("logical_and", {x, y}); };
  const Sides s = sides_along(a, of, axis);
  const ir::Expr begin = with_axis(with_axis(s.begin, 2), 3), cell = with_axis(with_axis(s.cell, 2), 3);
  const ir::Expr all = grad::call("ceil", {cell}), many = grad::call("maximum", {all, n(1)});
  const ir::Expr start = grad::plus(begin, grad::times(count({a.pooled_size[axis], 1, 1}), cell)),
                 step = grad::over(cell, many), place = with_axis(s.places, 1);  // (extent, 1)
  auto sample_before = [&](const ir::Expr& at) {
    return grad::call("floor", {grad::minus(grad::over(grad::minus(at, start), step), n(0.5))});
  };
  const ir::Expr first = grad::call("maximum", {sample_before(grad::minus(place, n(1))), n(0)});
  const ir::Expr k = grad::plus(first, count({nearby}));  // (R, cells, extent, nearby)
  const ir::Expr at = grad::plus(start, grad::over(grad::times(grad::plus(k, n(0.5)), cell), many));
  const ir::Expr near = nearness(held(at, s.last, rois), place, rois);
  const ir::Expr counts = both(grad::call("less", {k, all}), inside(at, s.last, rois));
  const ir::Expr sum =
      grad::call("sum", {grad::call("where", {counts, near, grad::zeros_like(near)})}, {{"axis", Ints{3}}});
  return grad::over(sum, grad::call("squeeze", {many}, {{"axis", Ints{3}}}));
}

// The weights of a region's samples are those along H times those along W, as a matrix for each region. Regions have no
// gradient.
ir::Expr gradient_of_mean(const ROIAlignAttrs& a, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &rois = of.inputs[1];
  auto einsum = [](const char* equation, const ir::Expr& x, const ir::Expr& y) {
    return grad::call("einsum", {ir::tuple({x, y})}, {{"equation", equation}});
  };
  auto weights = [&](Axis axis) {
    const ir::Expr found = a.is_adaptive() ? adaptive_weights(a, of, axis) : fixed_weights(a, of, axis);
    return grad::converted_as(found, rois, data);
  };
  const ir::Expr is_of =
      cast_to(grad::call("equal", {image_of(of), grad::places(data, 0)}), grad::tensor(data).dtype);  // (R, N)
  const ir::Expr rows = einsum("rcpq,rph->rchq", of.gradient, weights(0));
  const ir::Expr columns = einsum("rqw,rn->rqnw", weights(1), is_of);
  return einsum("rchq,rqnw->nchw", rows, columns);
}

// Each element of the result is one weighted pixel, the greatest of those around the samples of its cell. All are
// weighted anew, and the gradient goes to the greatest.
ir::Expr gradient_of_max(const ROIAlignAttrs& a, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &rois = of.inputs[1];
  const DType index = DType::int64();
  const int64_t h = a.pooled_size[0], w = a.pooled_size[1], around = 2 * a.sample_ratio;
  auto extent = [&](int64_t axis) { return grad::extent(data, axis); };
  struct Pixels {
    ir::Expr places, weights;  // (R, cells, around)
  };
  auto pixels = [&](Axis axis) {
    const Samples s = samples_along(a, of, axis);
    const ir::Expr first = grad::call("floor", {s.held}), part = grad::minus(s.held, first);
    const ir::Expr second = grad::call("minimum", {grad::plus(first, grad::number(1, rois)), s.last});
    const ir::Expr inside = cast_to(s.inside, grad::tensor(rois).dtype);
    auto both = [&](const ir::Expr& x, const ir::Expr& y) {
      return shaped(grad::call("stack", {ir::tuple({x, y})}, {{"axis", int64_t{3}}}), {0, a.pooled_size[axis], around});
    };
    return Pixels{cast_to(both(first, second), index),
                  both(grad::times(grad::minus(grad::number(1, rois), part), inside), grad::times(part, inside))};
  };
  const Pixels y = pixels(0), x = pixels(1);
  // (R, 1, h, w, around, around), then with the last two merged.
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

// There is no gradient for the maximum over an unknown number of samples.
ir::Exprs gradient(const ROIAlignAttrs& a, const Adjoint& of) {
  if (a.mode == "max" && a.is_adaptive()) return {};
  return {a.mode == "avg" ? gradient_of_mean(a, of) : gradient_of_max(a, of), nullptr};
}

// Kernels round the position of a sample, up to 16, and so its weights, in another order.
std::vector<Example> examples() {
  const std::vector<std::string> inputs = {"(5, 1, 6, 7)", "(4, 5)"};
  auto example = [&](const char* attrs, double high) {
    return Example{.inputs = inputs, .attrs = attrs, .low = 0, .high = high, .ulps = 16};
  };
  std::vector<Example> out = {example("pooled_size=[2, 2], spatial_scale=2f, sample_ratio=3, aligned=True", 3),
                              example("pooled_size=[2, 3], spatial_scale=1f, sample_ratio=2, mode=\"max\"", 4),
                              example("pooled_size=[2, 1], spatial_scale=4f", 4),
                              example("pooled_size=[1, 2], spatial_scale=3f, sample_ratio=0, aligned=True", 4),
                              example("pooled_size=[2, 1], spatial_scale=2.5f, mode=\"max\"", 4)};
  for (const char* samples : {"2", "-1"})
    out.push_back({.inputs = {"(2, 3, 6, 7)", "(4, 5)"},
                   .attrs = format("pooled_size=[3, 2], spatial_scale=0.5f, sample_ratio={}", samples),
                   .symbolic = {"(2, c, h, 7)", "(n, 5)"},
                   .low = 0,
                   .high = 1.5,
                   .ulps = 16});
  return out;
}

}  // namespace
}  // namespace roi_align_cpp

OpDef vision_roi_align() {
  using namespace roi_align_cpp;
  return define<ROIAlignAttrs>(
      {.name = "vision.roi_align",
       .doc = "Resizes regions of images to one size, with interpolation.",
       .inputs = {{"data", "(N, C, H, W)"}, {"rois", "(regions, 5): batch, x1, y1, x2, y2"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .checked = [](const ROIAlignAttrs&, const Types& in) { return vision::checked_images(in); },
       .gradient = gradient,
       .oracle = "roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, mode, aligned)",
       .examples = examples(),
       .rejects = {{{"(1, 2, 0, 7)", "(4, 5)"}, "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2", "C1"},
                   {{"(1, 2, 6)", "(4, 5)"}, "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2", "C1"},
                   {{"(1, 2, 6, 7)", "(4, 4)"}, "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2", "C2"},
                   {{"(1, 2, 6, 7)", "(4, 5)"}, "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=1025", "C3"},
                   {{"(1, 2, 6, 7)", "(4, 5)"},
                    "pooled_size=[2, 2], spatial_scale=1f, sample_ratio=2, mode=\"sum\"",
                    "C4"}}},
      "ROIAlignAttrs");
}

}  // namespace relay::ops
