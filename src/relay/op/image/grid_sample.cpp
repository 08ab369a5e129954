// image.grid_sample: out[n, c, y, x] = data[n, c] at (grid[n, 1, y, x], grid[n, 0, y, x]), interpolated; the same with
// three coordinates (x, y, z) for volumes. A coordinate runs from -1 at one end of data to 1 at the other; the ends are
// the centres of the first and the last element with align_corners, and their outer edges without.
//
// Outside of data, by padding_mode: zeros; or the nearest element of the border; or data reflected at its ends.
#include "relay/op/nn/conv/conv.h"

namespace relay::ops {
namespace grid_sample_cpp {
namespace {

struct GridSampleAttrs {
  std::string method = "bilinear";
  std::string layout = "NCHW";
  std::string padding_mode = "zeros";
  bool align_corners = true;
  static constexpr auto fields = std::tuple{
      field("method", &GridSampleAttrs::method,
            "\"nearest\", \"bilinear\" (trilinear for three coordinates) or, for images, \"bicubic\"."),
      field("layout", &GridSampleAttrs::layout, "Order of the axes of data: a permutation of NCHW or NCDHW."),
      field("padding_mode", &GridSampleAttrs::padding_mode, "\"zeros\", \"border\" or \"reflection\"."),
      field("align_corners", &GridSampleAttrs::align_corners,
            "True if -1 and 1 are the centres of the outermost elements; false if they are their outer edges.")};
};

// The letters of the sampled axes, in the order of the grid's axes after its second.
std::string sampled_axes(const GridSampleAttrs& a) { return a.layout.size() == 5 ? "DHW" : "HW"; }

Result<Type> infer(const GridSampleAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* grid, tensor_input(in, 1, "grid"));
  // (C1) The layout is an order of NCHW or of NCDHW, and both have that many axes.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, a.layout.size() == 5 ? "NCDHW" : "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, a.layout.size(), "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", grid, a.layout.size(), "grid"));
  // (C2) The method and the padding are known ones.
  if (a.method != "nearest" && a.method != "bilinear" && !(a.method == "bicubic" && rank(data) == 4))
    return constraint("C2",
                      "method must be \"nearest\", \"bilinear\" or, for images, \"bicubic\", but is \"{}\" for data {}",
                      a.method, text(data->shape));
  if (a.padding_mode != "zeros" && a.padding_mode != "border" && a.padding_mode != "reflection")
    return constraint("C2", "padding_mode must be \"zeros\", \"border\" or \"reflection\", but is \"{}\"",
                      a.padding_mode);
  // (C3) Both are floats.
  if (!data->dtype.is_float() || !grid->dtype.is_float())
    return constraint("C3", "data and grid must be floats, but are {} and {}", data->dtype.str(), grid->dtype.str());
  // (C4) The grid has a coordinate for each sampled axis, and as many samples as data.
  std::string axes = sampled_axes(a);
  if (!agree(grid->shape[1], dim(static_cast<int64_t>(axes.size()))))
    return constraint("C4", "grid has {} coordinates, but data {} is sampled along {} axes",
                      scalar::str(grid->shape[1]), text(data->shape), axes.size());
  Dims out = data->shape;
  Dim& samples = out[a.layout.find('N')];
  if (!agree(samples, grid->shape[0]))
    return constraint("C4", "data {} has {} samples, but grid {} has {}", text(data->shape), scalar::str(samples),
                      text(grid->shape), scalar::str(grid->shape[0]));
  samples = meet(samples, grid->shape[0]);
  for (size_t d = 0; d < axes.size(); ++d) out[a.layout.find(axes[d])] = grid->shape[2 + d];
  return ir::tensor_type(std::move(out), data->dtype);
}

// The position at which data is read instead of a position outside of it. Positions are floats; element k of data is at
// position k.
Expr inside(const GridSampleAttrs& a, const Expr& place, const Expr& extent) {
  DType dtype = place->dtype;
  if (a.padding_mode == "zeros") return place;
  Expr reflected = place, last = cast(dtype, extent - 1);
  if (a.padding_mode == "reflection") {
    // A triangle wave: rises over `span` from `low`, then falls over `span`.
    Expr low = number(a.align_corners ? 0 : -0.5, dtype), span = cast(dtype, a.align_corners ? extent - 1 : extent);
    Expr period = max(span + span, number(1, dtype));
    Expr phase = floormod(place - low, period);
    reflected = low + span - unary(UnaryOp::Abs, phase - span);
  }
  return max(min(reflected, last), number(0, dtype));
}

// A read along one axis: the element at an integral position, and its weight (null for 1).
struct Tap {
  Expr place, weight;
};

std::vector<Tap> taps(const GridSampleAttrs& a, Expr place, const Expr& extent) {
  auto value = [&](double v) { return number(v, place->dtype); };
  if (a.method == "bicubic") {
    // The cubic convolution kernel with parameter -3/4 at distances 1 + t, t, 1 - t, 2 - t.
    Expr first = unary(UnaryOp::Floor, place), t = place - first, s = value(1) - t;
    auto near = [&](const Expr& d) { return (value(1.25) * d - value(2.25)) * d * d + value(1); };
    auto far = [&](const Expr& d) { return ((value(-0.75) * d + value(3.75)) * d - value(6)) * d + value(3); };
    std::vector<Tap> out = {{first - value(1), far(t + value(1))},
                            {first, near(t)},
                            {first + value(1), near(s)},
                            {first + value(2), far(s + value(1))}};
    for (Tap& tap : out) tap.place = inside(a, tap.place, extent);
    return out;
  }
  place = inside(a, place, extent);
  if (a.method == "nearest") return {{unary(UnaryOp::Round, place), {}}};
  Expr first = unary(UnaryOp::Floor, place), t = place - first;
  return {{first, value(1) - t}, {first + value(1), t}};
}

// The position along an axis of data for element `coordinate` of the grid.
Expr place_of(const GridSampleAttrs& a, const Expr& coordinate, const Expr& extent) {
  DType dtype = coordinate->dtype;
  Expr from_start = (coordinate + number(1, dtype)) * number(0.5, dtype);
  return a.align_corners ? from_start * cast(dtype, extent - 1) : from_start * cast(dtype, extent) - number(0.5, dtype);
}

te::Tensors compute(const GridSampleAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &grid = in[1];
  DType wide = accumulator(data->dtype);
  std::string axes = sampled_axes(a);
  te::Tensors places;  // one per sampled axis: (N, H', W')
  Exprs places_shape = grid->shape;
  places_shape.erase(places_shape.begin() + 1);
  for (size_t d = 0; d < axes.size(); ++d)
    places.push_back(te::compute(format("place_{}", axes[d]).c_str(), places_shape, [&](Exprs i) {
      i.insert(i.begin() + 1, dim(static_cast<int64_t>(axes.size() - 1 - d)));
      return place_of(a, cast(accumulator(grid->dtype), (*grid)(i)), data->shape[a.layout.find(axes[d])]);
    }));
  return {te::compute("grid_sample", shape_of(out), [&](const Exprs& i) {
    // The product of all axes' taps: the index in data, and the weight (null for 1).
    struct Read {
      Exprs at;
      Expr within, weight;
    };
    std::vector<Read> reads = {{i, imm(1, DType::boolean()), {}}};
    for (size_t d = 0; d < axes.size(); ++d) {
      size_t axis = a.layout.find(axes[d]);
      Exprs point = {i[a.layout.find('N')]};
      for (char letter : axes) point.push_back(i[a.layout.find(letter)]);
      const Expr& extent = data->shape[axis];
      std::vector<Read> longer;
      for (const Tap& tap : taps(a, (*places[d])(point), extent)) {
        Expr index = cast(DType::int64(), tap.place), weight = tap.weight ? cast(wide, tap.weight) : Expr();
        for (Read read : reads) {
          read.at[axis] = index;
          read.within = logical_and(read.within, logical_and(le(dim(0), index), lt(index, extent)));
          read.weight = read.weight && weight ? read.weight * weight : weight;
          longer.push_back(std::move(read));
        }
      }
      reads = std::move(longer);
    }
    Expr sum;
    for (const Read& read : reads) {
      Expr value = cast(wide, select(read.within, (*data)(read.at), number(0, data->dtype)));
      if (read.weight) value = value * read.weight;
      sum = sum ? sum + value : value;
    }
    return cast(data->dtype, sum);
  })};
}

std::vector<Example> examples() {
  std::vector<Example> out = {{.inputs = {"(2, 5, 6, 3)", "(2, 2, 3, 4)"},
                               .attrs = "layout=\"NHWC\"",
                               .symbolic = {"(n, h, w, 3)", "(n, 2, y, x)"}},
                              {.inputs = {"(1, 2, 3, 4, 5)", "(1, 3, 2, 3, 4)"}, .attrs = "layout=\"NCDHW\""},
                              {.inputs = {"(1, 1, 1, 1)", "(1, 2, 3, 3)"}, .attrs = "padding_mode=\"reflection\""},
                              {.inputs = {"(1, 64, 56, 56)", "(1, 2, 56, 56)"}, .bench = true}};
  for (const char* method : {"nearest", "bilinear", "bicubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (bool corners : {true, false}) {
        Example e = {.inputs = {"(2, 2, 4, 5)", "(2, 2, 3, 6)"},
                     .attrs = format("method=\"{}\", padding_mode=\"{}\", align_corners={}", method, padding,
                                     corners ? "True" : "False"),
                     .low = -3,
                     .high = 3};
        if (!corners) e.symbolic = {"(n, 2, h, 5)", "(n, 2, y, 6)"};
        // Cubic weights are polynomials in the position's fraction, which has the rounding errors of the position.
        if (std::string_view(method) == "bicubic") e.ulps = 32;
        out.push_back(std::move(e));
      }
  return out;
}

// In the definition: clamps positions of element type `like` to the first and last element of an axis of `extent`.
ir::Expr defined_held(const ir::Expr& place, const ir::Expr& extent, const ir::Expr& like) {
  const ir::Expr last = grad::minus(extent, grad::number(1, like));
  return grad::call("maximum", {grad::call("minimum", {place, last}), grad::number(0, like)});
}

// The same as inside().
ir::Expr defined_inside(const GridSampleAttrs& a, const ir::Expr& place, const ir::Expr& extent, const ir::Expr& like) {
  auto n = [&](double value) { return grad::number(value, like); };
  if (a.padding_mode == "zeros") return place;
  if (a.padding_mode == "border") return defined_held(place, extent, like);
  const ir::Expr low = n(a.align_corners ? 0 : -0.5), span = a.align_corners ? grad::minus(extent, n(1)) : extent;
  const ir::Expr period = grad::call("maximum", {grad::times(span, n(2)), n(1)});
  const ir::Expr phase = grad::call("floor_mod", {grad::minus(place, low), period});
  const ir::Expr distance = grad::call("abs", {grad::minus(phase, span)});
  return defined_held(grad::minus(grad::plus(span, low), distance), extent, like);
}

// The same as taps(): integral positions and their weights.
std::vector<std::pair<ir::Expr, ir::Expr>> defined_taps(const GridSampleAttrs& a, const ir::Expr& given,
                                                        const ir::Expr& extent, const ir::Expr& like) {
  auto n = [&](double value) { return grad::number(value, like); };
  if (a.method == "bicubic") {
    const ir::Expr first = grad::call("floor", {given}), t = grad::minus(given, first), s = grad::minus(n(1), t);
    // c0 + d * (c1 + d * (c2 + d * c3))
    auto cubic = [&](const ir::Expr& d, double c0, double c1, double c2, double c3) {
      ir::Expr sum = n(c3);
      for (double c : {c2, c1, c0}) sum = grad::plus(grad::times(sum, d), n(c));
      return sum;
    };
    auto near = [&](const ir::Expr& d) { return cubic(d, 1, 0, -2.25, 1.25); };
    auto far = [&](const ir::Expr& d) { return cubic(grad::plus(d, n(1)), 3, -6, 3.75, -0.75); };
    std::vector<std::pair<ir::Expr, ir::Expr>> out = {{grad::minus(first, n(1)), far(t)},
                                                      {first, near(t)},
                                                      {grad::plus(first, n(1)), near(s)},
                                                      {grad::plus(first, n(2)), far(s)}};
    for (auto& [place, weight] : out) place = defined_inside(a, place, extent, like);
    return out;
  }
  const ir::Expr place = defined_inside(a, given, extent, like);
  if (a.method == "nearest") return {{grad::call("round", {place}), n(1)}};
  const ir::Expr first = grad::call("floor", {place}), t = grad::minus(place, first);
  return {{first, grad::minus(n(1), t)}, {grad::plus(first, n(1)), t}};
}

// Elements gathered from the flattened data, (N, places, C), at the corners around each position, times their weights.
ir::Expr definition(const GridSampleAttrs& a, const ir::Exprs& in) {
  const ir::Expr &data = in[0], &grid = in[1];
  const std::string axes = sampled_axes(a), channels_last = "N" + axes + "C";
  auto n = [&](double value) { return grad::number(value, grid); };
  struct Corner {
    ir::Expr index, weight;  // (N, H', W'): index in the flattened data, int64, and floats of the grid's type
  };
  std::vector<Corner> corners(1);
  ir::Expr flat = nn::in_order(data, a.layout, channels_last);
  for (size_t d = 0; d < axes.size(); ++d) {
    const int64_t coordinate = static_cast<int64_t>(axes.size() - 1 - d);
    const ir::Expr count = grad::extent(data, static_cast<int64_t>(a.layout.find(axes[d])));
    const ir::Expr extent = grad::call("cast", {count}, {{"dtype", grad::tensor(grid).dtype}});
    const ir::Expr column = grad::call("strided_slice", {grid},
                                       {{"begin", Ints{coordinate}}, {"end", Ints{coordinate + 1}}, {"axes", Ints{1}}});
    const ir::Expr from_start = grad::plus(grad::call("squeeze", {column}, {{"axis", Ints{1}}}), n(1));
    const ir::Expr scale = grad::times(a.align_corners ? grad::minus(extent, n(1)) : extent, n(0.5));
    const ir::Expr place = grad::minus(grad::times(from_start, scale), n(a.align_corners ? 0 : 0.5));
    std::vector<Corner> longer;
    for (const auto& [at, weight] : defined_taps(a, place, extent, grid)) {
      const ir::Expr held = defined_held(at, extent, grid);
      const ir::Expr within =
          grad::call("cast", {grad::call("equal", {held, at})}, {{"dtype", grad::tensor(grid).dtype}});
      const ir::Expr index = grad::call("cast", {held}, {{"dtype", DType::int64()}}),
                     counted = grad::times(weight, within);
      for (const Corner& c : corners)
        longer.push_back(c.index
                             ? Corner{grad::plus(grad::times(c.index, count), index), grad::times(c.weight, counted)}
                             : Corner{index, counted});
    }
    corners = std::move(longer);
    if (d > 0) {
      Ints merged = {0, -3};
      merged.insert(merged.end(), axes.size() - d, 0);
      flat = grad::call("reshape", {flat}, {{"newshape", merged}});
    }
  }
  ir::Expr sum;
  for (const Corner& c : corners) {
    const ir::Expr values = grad::call("take", {flat, c.index}, {{"axis", int64_t{1}}, {"batch_dims", int64_t{1}}});
    const ir::Expr weight =
        grad::call("expand_dims", {grad::converted_as(c.weight, grid, data)}, {{"axis", int64_t{-1}}});
    const ir::Expr part = grad::times(values, weight);
    sum = sum ? grad::plus(sum, part) : part;
  }
  return nn::in_order(sum, channels_last, a.layout);
}

}  // namespace
}  // namespace grid_sample_cpp

OpDef image_grid_sample() {
  using namespace grid_sample_cpp;
  return define<GridSampleAttrs>(
      {.name = "image.grid_sample",
       .doc = "Samples images or volumes at the points of a grid, with interpolation.",
       .inputs = {{"data", "floats, (N, C, H, W) or (N, C, D, H, W), in the order of layout"},
                  {"grid", "coordinates (x, y) or (x, y, z): (N, 2, H', W') or (N, 3, D', H', W')"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .oracle = "order(F.grid_sample(order(data, layout, 'NCDHW' if data.ndim == 5 else 'NCHW'), grid.movedim(1, -1), "
                 "method, padding_mode, align_corners), 'NCDHW' if data.ndim == 5 else 'NCHW', layout)",
       .examples = examples(),
       .rejects = {{{"(1, 2, 4)", "(1, 2, 4)"}, "", "C1"},
                   {{"(1, 2, 4, 4)", "(1, 2, 4, 4)"}, "layout=\"NCXY\"", "C1"},
                   {{"(1, 2, 4, 4)", "(1, 3, 4, 4, 4)"}, "", "C1"},
                   {{"(1, 2, 4, 4)", "(1, 2, 4, 4)"}, "method=\"linear\"", "C2"},
                   {{"(1, 2, 3, 4, 4)", "(1, 3, 4, 4, 4)"}, "layout=\"NCDHW\", method=\"bicubic\"", "C2"},
                   {{"(1, 2, 4, 4)", "(1, 2, 4, 4)"}, "padding_mode=\"wrap\"", "C2"},
                   {{"(1, 2, 4, 4) int32", "(1, 2, 4, 4)"}, "", "C3"},
                   {{"(1, 2, 4, 4)", "(1, 3, 4, 4)"}, "", "C4"},
                   {{"(3, 2, 4, 4)", "(2, 2, 4, 4)"}, "", "C4"}}},
      "GridSampleAttrs");
}

}  // namespace relay::ops
