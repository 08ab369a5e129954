#include "relay/op/image/resize.h"

#include <algorithm>

namespace relay::op::image {

namespace {

bool one_of(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A position in data along one axis: whole + part / parts with 0 <= part < parts, or for tf_crop_and_resize a float.
struct Place {
  Expr part, parts;  // numerator and denominator of the whole position
  Expr real;         // float; set for tf_crop_and_resize instead
  DType weights = DType::float32();

  Expr floor() const {
    return real ? scalar::cast(DType::int64(), unary(UnaryOp::Floor, real)) : floordiv(part, parts);
  }
  Expr fraction() const {
    if (real) return real - unary(UnaryOp::Floor, real);
    if (scalar::is_int(parts, 1)) return number(0, weights);
    return divide(scalar::cast(weights, floormod(part, parts)), scalar::cast(weights, parts));
  }
  // The nearest index by the rounding method; halves go up with "round".
  Expr rounded(const std::string& rounding) const {
    if (real) {
      Expr half = number(0.5, real->dtype);
      Expr r = rounding == "floor"                ? unary(UnaryOp::Floor, real)
               : rounding == "ceil"               ? unary(UnaryOp::Ceil, real)
               : rounding == "round_prefer_floor" ? unary(UnaryOp::Ceil, real - half)
                                                  : unary(UnaryOp::Floor, real + half);
      return scalar::cast(DType::int64(), r);
    }
    if (rounding == "floor") return floordiv(part, parts);
    if (rounding == "ceil") return floordiv(part + parts - 1, parts);
    if (rounding == "round_prefer_floor") return floordiv(part * 2 + parts - 1, parts * 2);
    return floordiv(part * 2 + parts, parts * 2);
  }
};

bool divides(const Expr& a, const Expr& b) { return scalar::prove_equal(floormod(b, a), dim(0)) == true; }

// begin, end: the region of tf_crop_and_resize along this axis.
Place place_of(const std::string& mode, const Expr& x, const Expr& in, const Expr& out, double begin, double end,
               DType f) {
  if (mode != "tf_crop_and_resize" && scalar::prove_equal(in, out) == true) return {x, dim(1), {}};
  // Integral positions: if in / out is an integer, indices are affine.
  if (mode == "asymmetric") {
    if (divides(out, in)) return {x * scalar::simplify(floordiv(in, out)), dim(1), {}};
    if (divides(in, out)) return {x, scalar::simplify(floordiv(out, in)), {}};
    return {x * in, out, {}};
  }
  if (mode == "align_corners") return {x * (in - 1), max(out - 1, dim(1)), {}};
  if (mode == "tf_half_pixel_for_nn") return {(x * 2 + 1) * in, out * 2, {}};
  Place half_pixel{(x * 2 + 1) * in - out, out * 2, {}};
  // The same with an integral ratio of the two extents.
  Expr up = divides(in, out) ? scalar::simplify(floordiv(out, in)) : Expr();
  Expr down = divides(out, in) ? scalar::simplify(floordiv(in, out)) : Expr();
  if (up)
    half_pixel = {x * 2 + dim(1) - up, up * 2, {}};
  else if (down)
    half_pixel = {(x * 2 + 1) * down - 1, dim(2), {}};
  if (mode == "half_pixel") return half_pixel;
  if (mode == "pytorch_half_pixel")
    return {scalar::select(lt(dim(1), out), half_pixel.part, dim(0)), half_pixel.parts, {}};
  // tf_crop_and_resize
  Expr last = scalar::cast(f, in - 1);
  if (scalar::prove(le(out, dim(1))) == true) return {{}, {}, last * number(0.5 * (begin + end), f)};
  Expr step = divide(last * number(end - begin, f), scalar::cast(f, out - 1));
  return {{}, {}, last * number(begin, f) + scalar::cast(f, x) * step};
}

// The nearest index if one extent is an integral multiple of the other and the index has a plain form: x // 2, x * 2.
// Never outside of data. Null otherwise.
Expr plain_nearest(const Resize& r, const Expr& x, const Expr& in, const Expr& out) {
  bool floor = r.coordinates == "asymmetric" && r.rounding == "floor";
  bool low = r.coordinates == "half_pixel" && r.rounding == "round_prefer_floor";
  bool high = r.coordinates == "half_pixel" && one_of(r.rounding, {"round", "round_prefer_ceil"});
  if (!floor && !low && !high) return {};
  if (divides(in, out)) return floordiv(x, scalar::simplify(floordiv(out, in)));
  if (!divides(out, in)) return {};
  Expr step = scalar::simplify(floordiv(in, out));  // the middle of each run of `step` elements
  return floor ? x * step : x * step + scalar::simplify(floordiv(low ? step - 1 : step, 2));
}

Expr clamped(const Expr& index, const Expr& extent) { return max(min(index, extent - 1), dim(0)); }

// A neighbour along one axis: its index, and its weight (null for 1).
struct Tap {
  Expr index, weight;
};

std::vector<Tap> taps(const Resize& r, const Place& p, const Expr& extent) {
  if (r.method == "nearest_neighbor") return {{clamped(p.rounded(r.rounding), extent), {}}};
  Expr first = p.floor(), t = p.fraction(), one = number(1, t->dtype);
  if (r.method == "linear") return {{clamped(first, extent), one - t}, {clamped(first + 1, extent), t}};
  // The cubic convolution kernel with parameter a at distances 1 + t, t, 1 - t, 2 - t.
  Expr a = number(r.cubic_alpha, t->dtype);
  auto number_t = [&](double v) { return number(v, t->dtype); };
  auto near = [&](const Expr& d) { return ((a + number_t(2)) * d - (a + number_t(3))) * d * d + one; };
  auto far = [&](const Expr& d) { return ((a * d - number_t(5) * a) * d + number_t(8) * a) * d - number_t(4) * a; };
  std::vector<Tap> out = {
      {first - 1, far(one + t)}, {first, near(t)}, {first + 1, near(one - t)}, {first + 2, far(number_t(2) - t)}};
  if (r.cubic_exclude) {
    Expr sum;
    for (Tap& tap : out) {
      tap.weight = scalar::select(logical_and(le(dim(0), tap.index), lt(tap.index, extent)), tap.weight, number_t(0));
      sum = sum ? sum + tap.weight : tap.weight;
    }
    for (Tap& tap : out) tap.weight = divide(tap.weight, sum);
  }
  for (Tap& tap : out) tap.index = clamped(tap.index, extent);
  return out;
}

}  // namespace

Status check(const char* number, const Resize& r) {
  if (!one_of(r.method, {"nearest_neighbor", "linear", "cubic"}))
    return constraint(number, "method must be \"nearest_neighbor\", \"linear\" or \"cubic\", but is \"{}\"", r.method);
  if (!one_of(r.coordinates, {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn",
                              "tf_crop_and_resize"}))
    return constraint(
        number,
        "coordinate_transformation_mode \"{}\" is none of half_pixel, align_corners, asymmetric, pytorch_half_pixel, "
        "tf_half_pixel_for_nn, tf_crop_and_resize",
        r.coordinates);
  if (!one_of(r.rounding, {"", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}))
    return constraint(number,
                      "rounding_method \"{}\" is none of round, floor, ceil, round_prefer_floor, round_prefer_ceil",
                      r.rounding);
  const size_t corners = 2 * resized_axes(r.layout).size();
  if (r.coordinates == "tf_crop_and_resize" && r.roi.size() != corners)
    return constraint(number, "tf_crop_and_resize needs a roi of {} numbers, but it has {}", corners, r.roi.size());
  return ok();
}

Status check_pixels(const char* number, const std::string& layout, const TensorType* data) {
  for (size_t axis : resized_axes(layout))
    if (scalar::is_int(data->shape[axis], 0))
      return constraint(number, "data {} has no pixels to take values from", text(data->shape));
  return ok();
}

std::vector<size_t> resized_axes(const std::string& layout) {
  std::vector<size_t> axes;
  for (char letter : std::string("DHW"))
    if (layout.find(letter) != std::string::npos) axes.push_back(layout.find(letter));
  return axes;
}

te::Tensor resized(const char* name, const te::Tensor& data, const Type& out, const Resize& given) {
  Resize r = given;
  if (r.rounding.empty()) r.rounding = r.coordinates == "align_corners" ? "round" : "floor";
  const std::vector<size_t> axes = resized_axes(r.layout);
  const bool weighs = r.method != "nearest_neighbor";
  const bool is_wide = data->dtype == DType::float64() || (weighs && !data->dtype.is_float());
  const DType wide = is_wide ? DType::float64() : DType::float32();
  return te::compute(name, shape_of(out), [&](const Exprs& i) {
    // The product of all axes' taps: the index in data, and the weight (null for 1).
    struct Read {
      Exprs at;
      Expr weight;
    };
    std::vector<Read> reads = {{i, {}}};
    Expr inside = imm(1, DType::boolean());
    for (size_t d = 0; d < axes.size(); ++d) {
      const Expr& extent = data->shape[axes[d]];
      bool crop = r.coordinates == "tf_crop_and_resize";
      Place p = place_of(r.coordinates, i[axes[d]], extent, shape_of(out)[axes[d]], crop ? r.roi[d] : 0,
                         crop ? r.roi[d + axes.size()] : 1, wide);
      p.weights = wide;
      std::vector<Tap> along = taps(r, p, extent);
      if (r.method == "nearest_neighbor")
        if (Expr plain = plain_nearest(r, i[axes[d]], extent, shape_of(out)[axes[d]])) along = {{plain, {}}};
      if (crop)
        inside =
            logical_and(inside, logical_and(le(number(0, wide), p.real), le(p.real, scalar::cast(wide, extent - 1))));
      std::vector<Read> longer;
      for (const Read& read : reads)
        for (const Tap& tap : along) {
          Read next = read;
          next.at[axes[d]] = tap.index;
          next.weight = read.weight && tap.weight ? read.weight * tap.weight : tap.weight;
          longer.push_back(std::move(next));
        }
      reads = std::move(longer);
    }
    Expr value;
    for (const Read& read : reads) {
      Expr load = (*data)(read.at);
      Expr term = read.weight ? scalar::cast(wide, load) * read.weight : load;
      value = value ? value + term : term;
    }
    DType dtype = dtype_of(out);
    if (!dtype.is_float() && value->dtype.is_float()) value = unary(UnaryOp::Round, value);
    return scalar::select(inside, scalar::cast(dtype, value), number(r.extrapolation_value, dtype));
  });
}

// True if the matrix for resizing one axis fits in memory, as far as the extents are numbers.
static bool has_matrix(const Dim& from, const Dim& to) {
  constexpr double most_elements = 1 << 28;
  return !scalar::is_int(from) || !scalar::is_int(to) ||
         static_cast<double>(from->ivalue) * static_cast<double>(to->ivalue) <= most_elements;
}

ir::Exprs resize_gradient(const Resize& r, const Adjoint& of) {
  const ir::Expr& data = of.inputs[0];
  const Dims &in = grad::tensor(data).shape, &out = grad::tensor(of.output).shape;
  const std::vector<size_t> axes = resized_axes(r.layout);
  ir::Expr dx = grad::converted_as(of.gradient, of.output, data);
  for (size_t d = 0; d < axes.size(); ++d) {
    const int64_t axis = static_cast<int64_t>(axes[d]);
    const Dim& to = out[axes[d]];
    if (scalar::is_any(to) || !has_matrix(in[axes[d]], to)) return {};
    AttrValues attrs = {{"size", Dims{to}},
                        {"method", r.method},
                        {"coordinate_transformation_mode", r.coordinates},
                        {"rounding_method", r.rounding},
                        {"cubic_alpha", r.cubic_alpha},
                        {"cubic_exclude", int64_t{r.cubic_exclude}}};
    if (!r.roi.empty()) attrs.push_back({"roi", ir::Floats{r.roi[d], r.roi[d + axes.size()]}});
    const ir::Expr rows = grad::call("expand_dims", {grad::unit_matrix(data, axis)}, {{"axis", int64_t{0}}});
    const ir::Expr matrix = grad::call("squeeze", {grad::call("image.resize1d", {rows}, attrs)}, {{"axis", Ints{0}}});
    dx = grad::contracted(dx, grad::rank(data), axis, matrix);
  }
  return {dx};
}

ir::Exprs dynamic_resize_gradient(const std::string& layout, const Adjoint& of,
                                  const std::function<ir::Expr(const ir::Expr& image, char axis)>& resized) {
  const ir::Expr& data = of.inputs[0];
  const std::vector<size_t> axes = resized_axes(layout);
  ir::Expr dx = grad::converted_as(of.gradient, of.output, data);
  for (size_t d = 0; d < axes.size(); ++d) {
    const int64_t axis = static_cast<int64_t>(axes[d]);
    const Dim& extent = grad::tensor(data).shape[axes[d]];
    if (!has_matrix(extent, extent)) return {};
    // Row c of the identity matrix is the image of channel c: a line along the axis.
    ir::Expr line = grad::unit_matrix(data, axis);
    for (size_t k = 0; k < axes.size(); ++k)
      if (k != d) line = grad::call("expand_dims", {line}, {{"axis", static_cast<int64_t>(k < d ? 1 : -1)}});
    line = grad::call("expand_dims", {line}, {{"axis", int64_t{0}}});
    const ir::Expr matrix = grad::call("reshape", {resized(line, layout[axes[d]])}, {{"newshape", Ints{-3, -1}}});
    dx = grad::contracted(dx, grad::rank(data), axis, matrix);
  }
  ir::Exprs out(of.inputs.size());
  out[0] = dx;
  return out;
}

Result<Type> infer_resize(size_t axes, const ResizeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The layout is an order of NC and the axes that are resized, and data has an axis for each letter.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NC" + std::string("DHW").substr(3 - axes)));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, axes + 2, "data"));
  // (C2) The method and the modes are known ones.
  RELAY_RETURN_IF_ERROR(check("C2", options(a)));
  // (C3) The result has a size.
  if (a.size.size() != 1 && a.size.size() != axes)
    return constraint("C3", "size must be 1 or {} extents, but is {}", axes, text(a.size));
  for (const Dim& extent : a.size)
    if (!at_least(extent, dim(1))) return constraint("C3", "size must be positive, but is {}", text(a.size));
  Dims out = data->shape;
  const std::vector<size_t> resized = resized_axes(a.layout);
  // (C4) There are pixels.
  RELAY_RETURN_IF_ERROR(check_pixels("C4", a.layout, data));
  for (size_t d = 0; d < axes; ++d) out[resized[d]] = a.size[a.size.size() == 1 ? 0 : d];
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

Resize options(const ResizeAttrs& a) {
  return {a.layout,
          a.method,
          a.coordinate_transformation_mode,
          a.rounding_method,
          a.cubic_alpha,
          a.cubic_exclude != 0,
          a.roi,
          a.extrapolation_value};
}

std::string resize_oracle(size_t axes) {
  return format(
      "order(resize(order(data, layout, 'NC{0}'), size, method, coordinate_transformation_mode, rounding_method, "
      "cubic_alpha, cubic_exclude, roi, extrapolation_value), 'NC{0}', layout)",
      std::string("DHW").substr(3 - axes));
}

}  // namespace relay::op::image
