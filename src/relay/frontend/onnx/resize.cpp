// Enlarging and shrinking images: Resize and its predecessor Upsample; sampling at the places of a grid; channels to
// space and back.
#include <cmath>

#include "relay/frontend/common/ops/interpolate.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::convert {

using ir::Dims;
using ir::Expr;
using ir::Ints;

namespace {

// The nearest_mode before opset 11: up along axes that shrink, down along the others.
const char* const inwards = "inwards";

struct Resizing {
  std::string mode = "nearest", transformation = "asymmetric", nearest = "floor";
  double cubic_alpha = -0.75;
  bool exclude_outside = false;
  std::vector<double> roi;  // of tf_crop_and_resize, for the axes that change: all starts, then all ends
  double extrapolation = 0;
};

// x resized to `size` (all axes). Two or three consecutive axes may change: those after (N, C), or those between N and
// C.
Expr resized(Convert& c, const Expr& x, const Dims& size, const Resizing& r) {
  int64_t rank = c.rank(x);
  auto changes = [&](int64_t axis) { return scalar::prove_equal(c.shape(x)[axis], size[axis]) != true; };
  bool any = !r.roi.empty();
  for (int64_t i = 0; i < rank; ++i) any = any || changes(i);
  if (!any) return x;
  if (rank == 2) {
    // An image without batch and channels.
    Dims wide{scalar::imm(1), scalar::imm(1), size[0], size[1]};
    Expr image = c.reshape(x, {scalar::imm(1), scalar::imm(1), c.shape(x)[0], c.shape(x)[1]});
    return c.reshape(image ? resized(c, image, wide, r) : image, size);
  }
  if (rank == 3) {
    // A single axis: an image of one line.
    Dims from{c.shape(x)[0], c.shape(x)[1], scalar::imm(1), c.shape(x)[2]},
        to{size[0], size[1], scalar::imm(1), size[2]};
    Resizing line = r;
    if (!line.roi.empty()) line.roi = {0, r.roi[0], 1, r.roi[1]};
    Expr picture = c.reshape(x, from);
    return c.reshape(picture ? resized(c, picture, to, line) : picture, size);
  }
  if (!c.expect_rank(x, 4, 5, "the data")) return {};
  bool last = changes(1) && !changes(rank - 1) && r.roi.empty();  // channels are last
  if (changes(0) || (changes(1) && changes(rank - 1)))
    return c.unsupported("it resizes batch or channels: {} to the shape [{}]", ir::str(x->type), [&] {
      std::string text;
      for (const ir::Dim& d : size) text += (text.empty() ? "" : ", ") + scalar::str(d);
      return text;
    }());
  const char* const names[] = {"image.resize2d", "image.resize3d"};
  const char* const layouts[2][2] = {{"NCHW", "NCDHW"}, {"NHWC", "NDHWC"}};
  Dims extents(size.begin() + (last ? 1 : 2), size.end() - (last ? 1 : 0));
  std::string method = r.mode == "nearest" ? "nearest_neighbor" : r.mode;
  EmitAttrs attrs{{"size", extents},
                  {"layout", layouts[last][rank - 4]},
                  {"method", method},
                  {"coordinate_transformation_mode", r.transformation},
                  {"rounding_method", r.nearest}};
  Ints numbers;
  for (const ir::Dim& d : extents)
    if (is_int(d)) numbers.push_back(d->ivalue);
  if (numbers.size() == extents.size()) attrs[0].second = numbers;
  if (!r.roi.empty()) {
    attrs.push_back({"roi", ir::Floats(r.roi)});
    attrs.push_back({"extrapolation_value", r.extrapolation});
  }
  if (method == "cubic") {
    attrs.push_back({"cubic_alpha", r.cubic_alpha});
    attrs.push_back({"cubic_exclude", int64_t{r.exclude_outside}});
  }
  return c.emit(names[rank - 4], {x}, attrs);
}

// The size of a resized axis. The product is rounded to float32 first, as in ONNX Runtime: 10 elements at 0.7f are 7.
double scaled_extent(int64_t extent, double scale) {
  return std::floor(static_cast<float>(static_cast<double>(extent) * scale));
}

// The sizes at these scales. Positions are computed from the sizes, so a scale must be the ratio of two sizes: unset
// otherwise, since the result would not be ONNX's.
std::optional<Dims> scaled(Convert& c, const Expr& x, const std::vector<double>& scales) {
  if (static_cast<int64_t>(scales.size()) != c.rank(x))
    return c.bad("there are {} scales for the data {}", scales.size(), ir::str(x->type));
  Dims size;
  for (size_t i = 0; i < scales.size(); ++i) {
    const ir::Dim& extent = c.shape(x)[i];
    double scale = scales[i];
    if (!(scale > 0 && scale < 1e6)) return c.bad("scale {} is {}", i, scale);
    if (is_int(extent)) {
      const double exact = static_cast<double>(extent->ivalue) * scale, whole = scaled_extent(extent->ivalue, scale);
      if (std::abs(exact - whole) > 1e-3)
        return c.unsupported("scale {} of axis {} with {} elements gives {} elements, which is not whole", scale, i,
                             extent->ivalue, exact);
      size.push_back(scalar::imm(static_cast<int64_t>(whole)));
    } else if (scale == std::floor(scale)) {
      size.push_back(scalar::simplify(extent * static_cast<int64_t>(scale)));
    } else {
      return c.unsized("scale {} of an axis of size {} needs a fixed size", scale, scalar::str(extent));
    }
  }
  return size;
}

std::optional<std::vector<double>> numbers(Convert& c, size_t input, const char* what) {
  KnownRef known = c.known(input);
  std::optional<Tensor> tensor = known ? as_tensor(*known) : std::nullopt;
  if (!tensor) return c.unsized("{} must be known at import", what);
  return tensor->to_doubles();
}

bool is_given(Convert& c, size_t input) {
  if (!c.has(input)) return false;
  KnownRef known = c.known(input);
  return !known || !known->values.empty();
}

// The inputs and attributes of Resize, before an implementation is chosen.
struct ResizeForm {
  Interpolation how;
  Ints axes;              // resized axes
  bool by_sizes = false;  // false: by scales
  Expr list;              // the sizes or scales, one for each axis
  KnownRef known;         // the same, if known at import
  std::string policy = "stretch";

  std::optional<Tensor> numbers() const { return known ? as_tensor(*known) : std::nullopt; }
};

std::optional<ResizeForm> read_resize(Convert& c, const Expr& x) {
  ResizeForm f;
  f.how.mode = c.text("mode", "nearest");
  if (f.how.mode != "nearest" && f.how.mode != "linear" && f.how.mode != "cubic")
    return c.bad("mode is '{}', not nearest, linear or cubic", f.how.mode);
  if (c.opset < 11) {
    f.how.transformation = "asymmetric", f.how.nearest = inwards;
  } else {
    f.how.transformation = c.text("coordinate_transformation_mode", "half_pixel");
    f.how.nearest = c.text("nearest_mode", "round_prefer_floor");
    f.how.cubic_alpha = c.real("cubic_coeff_a", -0.75);
    f.how.exclude_outside = c.integer("exclude_outside", 0) != 0;
    f.how.antialias = c.integer("antialias", 0) != 0;
    f.how.extrapolation = c.real("extrapolation_value", 0);
    f.policy = c.text("keep_aspect_ratio_policy", "stretch");
    if (f.policy != "stretch" && f.policy != "not_larger" && f.policy != "not_smaller")
      return c.bad("keep_aspect_ratio_policy is '{}'", f.policy);
    f.by_sizes = is_given(c, 3);
  }
  const size_t at = f.by_sizes ? 3 : c.opset < 11 ? 1 : 2;
  if (!is_given(c, at)) return c.bad("it has neither scales nor sizes");
  f.list = c.input(at), f.known = c.known(at);
  Ints all;
  for (int64_t i = 0; i < c.rank(x); ++i) all.push_back(i);
  std::optional<Ints> axes = c.axes(c.ints("axes", all), c.rank(x));
  if (!axes) return std::nullopt;
  f.axes = *axes;
  std::optional<int64_t> count = c.extent(f.list, 0);
  if (count && *count != static_cast<int64_t>(f.axes.size()))
    return c.bad("there are {} {} for {} axes of {}", *count, f.by_sizes ? "sizes" : "scales", f.axes.size(),
                 ir::str(x->type));
  return f;
}

// All forms of ONNX, axis by axis.
Expr resized_by_axis(Convert& c, const Expr& x, const ResizeForm& f) {
  Expr list = c.cast(f.list, f.by_sizes ? DType::int64() : DType::float64());
  const Expr roi = f.how.transformation == "tf_crop_and_resize" ? c.cast(c.input(1), DType::float64()) : Expr();
  if (f.how.transformation == "tf_crop_and_resize" && !roi) return c.bad("tf_crop_and_resize needs a roi");
  const std::optional<Tensor> known = f.numbers();
  const int64_t n = static_cast<int64_t>(f.axes.size());
  if (roi && c.extent(roi, 0).value_or(2 * n) != 2 * n)
    return c.bad("roi has {} numbers for {} axes", *c.extent(roi, 0), n);
  for (int64_t i = 0; known && !f.by_sizes && i < n; ++i)
    if (const double scale = known->at(i); !(scale > 0 && scale < 1e6)) return c.bad("scale {} is {}", i, scale);
  if (!known && f.by_sizes) {
    const Tensor places = Tensor::from_ints({n}, DType::int64(), f.axes);
    const Expr sizes = c.emit("shape_of", {x}, {{"dtype", DType::int64()}});
    const Expr old = c.emit("take", {sizes, c.constant(places)}, {{"axis", int64_t{0}}});
    const Expr none = c.emit("less", {list, c.integer_scalar(1)}), changes = c.emit("not_equal", {list, old});
    list = refused_where(c, list, c.emit("logical_and", {none, changes}), "a value in sizes is below 1",
                         "give new sizes of at least 1; an empty axis stays empty");
  }
  if (!known && !f.by_sizes) {
    const Expr positive = c.emit("greater", {list, c.scalar(0, DType::float64())});  // false for NaN
    list = refused_where(c, list, c.emit("logical_not", {positive}), "a value in scales is not positive",
                         "give the ratio of the new size to the old one for each axis");
  }
  auto real = [&](const Expr& e) { return c.cast(e, DType::float64()); };
  auto extent = [&](int64_t i) { return c.size_of(x, f.axes[static_cast<size_t>(i)]); };
  Expr common;  // a single scale for all axes
  for (int64_t i = 0; f.policy != "stretch" && f.by_sizes && i < n; ++i) {
    Expr scale = c.divide(real(element(c, list, i)), real(extent(i)));
    common = !common ? scale : c.emit(f.policy == "not_larger" ? "minimum" : "maximum", {common, scale});
  }
  std::vector<ResizedAxis> axes;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t axis = f.axes[static_cast<size_t>(i)];
    std::optional<int64_t> before = c.extent(x, axis);
    if (known && !roi && !common && (f.by_sizes ? before && before == known->int_at(i) : known->at(i) == 1.0)) continue;
    ResizedAxis to{axis, {}, {}, {}, {}, {}};
    if (common) {
      to.scale = common;
      to.size = c.cast(c.emit("floor", {c.add(c.multiply(common, real(extent(i))), 0.5)}), DType::int64());
    } else if (f.by_sizes) {
      to.size = element(c, list, i), to.scale = c.divide(real(to.size), real(extent(i)));
      if (known && before) to.known_scale = static_cast<double>(known->int_at(i)) / static_cast<double>(*before);
    } else {
      to.scale = element(c, list, i);
      const Expr product = c.cast(c.multiply(to.scale, real(extent(i))), DType::float32());
      to.size = c.cast(c.emit("floor", {product}), DType::int64());
      if (known) to.known_scale = known->at(i);
    }
    if (known && before && !common) {  // the result's size is known if the list is
      const double scaled = f.by_sizes ? 0 : scaled_extent(*before, known->at(i));
      if (scaled > 0x1p53) return c.bad("scale {} of {} elements is {}", i, *before, known->at(i));
      to.size = c.integer_scalar(f.by_sizes ? known->int_at(i) : static_cast<int64_t>(scaled));
    }
    if (roi) to.start = element(c, roi, i), to.end = element(c, roi, n + i);
    axes.push_back(to);
  }
  return interpolated(c, x, f.how, axes);
}

// True if tf_crop_and_resize reads a known part of each image, and whole batches and channels.
bool crops_images(Convert& c, const Expr& x) {
  const KnownRef roi = c.known(1);
  const std::optional<Tensor> numbers = roi ? as_tensor(*roi) : std::nullopt;
  const int64_t rank = c.rank(x);
  if (c.has_attribute("axes") || !numbers || numbers->elements() != 2 * rank) return false;
  return numbers->at(0) == 0 && numbers->at(1) == 0 && numbers->at(rank) == 1 && numbers->at(rank + 1) == 1;
}

// True if Relay's operators for images apply: known sizes, and scales that yield whole ones.
bool suits_images(Convert& c, const Expr& x, const ResizeForm& f) {
  const int64_t rank = c.rank(x);
  const std::string& how = f.how.transformation;
  if (rank < 3 || rank > 5 || f.how.antialias || f.policy != "stretch") return false;
  if (!f.known) return false;
  if (how == "tf_crop_and_resize" && !crops_images(c, x)) return false;
  const std::optional<Tensor> numbers = f.numbers();
  if (!numbers) return f.by_sizes;
  bool channels_last = false, shrinks = false, grows = false;
  for (size_t i = 0; i < f.axes.size(); ++i) {
    std::optional<int64_t> extent = c.extent(x, f.axes[i]);
    const double to = numbers->at(static_cast<int64_t>(i));
    bool changes = true;
    if (f.by_sizes) {
      changes = !extent || static_cast<double>(*extent) != to;
    } else {
      const int64_t of = extent.value_or(1);
      if (std::abs(static_cast<double>(of) * to - scaled_extent(of, to)) > 1e-3) return false;
      changes = to != 1, shrinks = shrinks || to < 1, grows = grows || to > 1;
      if (changes && is_any(c.shape(x)[static_cast<size_t>(f.axes[i])])) return false;
    }
    if (f.axes[i] == 0 && changes) return false;
    channels_last = channels_last || (f.axes[i] == 1 && changes);
    if (channels_last && changes && (rank == 3 || f.axes[i] == rank - 1)) return false;
  }
  return f.how.nearest != inwards || !shrinks || !grows;
}

}  // namespace

static Expr resized_by(Convert& c, const Expr& x, const ResizeForm& f) {
  if (!suits_images(c, x, f)) return resized_by_axis(c, x, f);
  Resizing r{f.how.mode, f.how.transformation, f.how.nearest, f.how.cubic_alpha, f.how.exclude_outside, {}, 0};
  if (r.transformation == "half_pixel_symmetric") r.transformation = "half_pixel";  // equivalent if sizes are exact
  if (r.transformation == "tf_crop_and_resize") {
    std::optional<std::vector<double>> roi = numbers(c, 1, "roi");
    if (!roi) return {};
    for (size_t side = 0; side < 2; ++side)
      for (int64_t i = 2; i < c.rank(x); ++i) r.roi.push_back((*roi)[static_cast<size_t>(i) + side * roi->size() / 2]);
    r.extrapolation = f.how.extrapolation;
  }
  std::optional<Dims> size = c.shape(x);
  if (f.by_sizes) {
    std::optional<Dims> given = c.dims(3, "sizes");
    if (!given) return {};
    for (size_t i = 0; i < f.axes.size(); ++i) {
      ir::Dim& extent = (*size)[static_cast<size_t>(f.axes[i])];
      const ir::Dim& d = (*given)[i];
      if (is_int(d) && d->ivalue < 1 && scalar::prove_equal(d, extent) != true)  // a batch may be, and stay, 0
        return c.bad("a size is {}", d->ivalue);
      extent = d;
    }
  } else {
    const std::vector<double> given = f.numbers()->to_doubles();
    std::vector<double> scales(static_cast<size_t>(c.rank(x)), 1);
    for (size_t i = 0; i < f.axes.size(); ++i) scales[static_cast<size_t>(f.axes[i])] = given[i];
    if (r.nearest == inwards) r.nearest = *std::min_element(given.begin(), given.end()) < 1 ? "ceil" : "floor";
    size = scaled(c, x, scales);
  }
  return size ? resized(c, x, *size, r) : nullptr;
}

// Inputs: data, scales (opset 10); data, roi, scales, sizes (since 11), where roi is rarely used and one of the last
// two is empty or absent. Since opset 18 they may be those of some axes only.
Values Resize(Convert& c) {
  Expr x = c.input(0);
  std::optional<ResizeForm> f = read_resize(c, x);
  if (!f) return {};
  return {resized_by(c, x, *f)};
}

// Scales are an attribute before opset 9 and an input since then.
Values Upsample(Convert& c) {
  Expr x = c.input(0);
  ResizeForm f;
  f.how = {.mode = c.text("mode", "nearest"), .transformation = "asymmetric", .nearest = inwards};
  if (f.how.mode == "bilinear") f.how.mode = "linear";
  if (f.how.mode != "nearest" && f.how.mode != "linear") return c.unsupported("mode is '{}'", f.how.mode);
  for (int64_t i = 0; i < c.rank(x); ++i) f.axes.push_back(i);
  if (const Attribute* a = c.node.find("scales")) {
    const std::vector<float>* list = std::get_if<std::vector<float>>(&a->value);
    if (!list) return c.bad("attribute scales should be floats");
    const Tensor scales =
        Tensor::from_doubles({std::ssize(*list)}, DType::float32(), std::vector<double>(list->begin(), list->end()));
    f.list = c.constant(scales), f.known = known_of(scales);
  } else if (c.has(1)) {
    f.list = c.input(1), f.known = c.known(1);
  } else {
    return c.bad("scales are missing");
  }
  if (std::optional<int64_t> count = c.extent(f.list, 0); count && *count != c.rank(x))
    return c.bad("there are {} scales for the data {}", *count, ir::str(x->type));
  return {resized_by(c, x, f)};
}

// The coordinates of ONNX's grid are its last axis, those of Relay's its second one. Opset 20 renamed the modes.
Values GridSample(Convert& c) {
  Expr x = c.input(0), grid = c.input(1);
  if (!c.expect_rank(x, 4, 5, "the data") || !c.expect_rank(grid, c.rank(x), c.rank(x), "the grid")) return {};
  std::string mode = c.text("mode", "linear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  Ints axes{0, c.rank(x) - 1};
  for (int64_t i = 1; i < c.rank(x) - 1; ++i) axes.push_back(i);
  return {c.emit("image.grid_sample", {x, c.transpose(grid, axes)},
                 {{"method", mode},
                  {"layout", c.rank(x) == 4 ? "NCHW" : "NCDHW"},
                  {"padding_mode", c.text("padding_mode", "zeros")},
                  {"align_corners", c.integer("align_corners", 0) != 0}})};
}

// Relay's operators take blocks of channels in the order "DCR"; depth_to_space in "CRD" too.
Values DepthToSpace(Convert& c) {
  return {c.emit("nn.depth_to_space", {c.input(0)},
                 {{"block_size", c.integer("blocksize", 1)}, {"layout", "NCHW"}, {"mode", c.text("mode", "DCR")}})};
}

Values SpaceToDepth(Convert& c) {
  Expr x = c.input(0);
  int64_t block = c.integer("blocksize", 1);
  std::string mode = c.text("mode", "DCR");
  if (mode == "DCR") return {c.emit("nn.space_to_depth", {x}, {{"block_size", block}, {"layout", "NCHW"}})};
  if (mode != "CRD") return c.bad("mode is '{}'", mode);
  if (!c.expect_rank(x, 4, 4, "the data")) return {};
  if (block < 1 || block > INT32_MAX) return c.bad("blocksize is {}", block);
  const Dims& s = c.shape(x);
  ir::Dim b = scalar::imm(block), h = scalar::simplify(scalar::floordiv(s[2], block)),
          w = scalar::simplify(scalar::floordiv(s[3], block));
  Expr blocks = c.transpose(c.reshape(x, {s[0], s[1], h, b, w, b}), {0, 1, 3, 5, 2, 4});
  return {c.reshape(blocks, {s[0], scalar::simplify(s[1] * block * block), h, w})};
}

// The place that each element of an image of this size reads under the affine map theta: from -1 to 1 along each axis,
// x first; with align_corners, a single element is at -1.
// (N, 2, 3) yields (N, H, W, 2), (N, 3, 4) yields (N, D, H, W, 3).
Values AffineGrid(Convert& c) {
  Expr theta = c.input(0);
  if (!c.expect_rank(theta, 3, 3, "theta")) return {};
  if (!c.is_static(1)) return computed_affine_grid(c, theta, c.cast(c.input(1), DType::int64()));
  std::optional<Ints> size = c.ints(1, "size");
  if (!size) return {};
  const int64_t axes = static_cast<int64_t>(size->size()) - 2;
  if (axes != 2 && axes != 3) return c.bad("size is [{}], not N, C and two or three sizes", join(*size, ", "));
  theta = affine_map(c, theta, axes);
  if (!theta) return {};
  if (c.extent(theta, 0).value_or((*size)[0]) != (*size)[0])
    return c.bad("size is [{}], of another batch than theta {}", join(*size, ", "), ir::str(theta->type));
  Ints picture(size->begin() + 2, size->end());
  const std::optional<int64_t> elements = element_count(picture);
  if (!elements) return c.bad("size is [{}]", join(*size, ", "));
  if (!c.may_make(*elements * (axes + 1), c.dtype(theta))) return {};
  const bool corners = c.integer("align_corners", 0) != 0;
  Tensor places = Tensor::empty({*elements, axes + 1}, c.dtype(theta));
  for (int64_t i = 0; i < *elements; ++i) {
    int64_t left = i;
    for (int64_t k = 0; k < axes; ++k) {
      const int64_t extent = picture[static_cast<size_t>(axes - 1 - k)];
      const double at = static_cast<double>(left % extent), n = static_cast<double>(extent);
      places.set(i * (axes + 1) + k, (corners ? 2 * at / std::max(n - 1, 1.0) : (2 * at + 1) / n) - 1);
      left /= extent;
    }
    places.set(i * (axes + 1) + axes, 1);
  }
  const ir::Dim batch = c.shape(theta)[0];
  Expr rows = c.reshape(theta, {scalar::simplify(batch * axes), scalar::imm(axes + 1)});
  Expr grid = c.emit("nn.dense", {c.constant(std::move(places)), rows});
  ir::Dims shape{batch};
  for (int64_t extent : picture) shape.push_back(scalar::imm(extent));
  shape.push_back(scalar::imm(axes));
  return {
      c.reshape(c.transpose(c.reshape(grid, {scalar::imm(*elements), batch, scalar::imm(axes)}), {1, 0, 2}), shape)};
}

// Crops or pads with zeros on both sides, one more at the end if the difference is odd.
Values CenterCropPad(Convert& c) {
  Expr x = c.input(0);
  std::optional<Ints> axes = c.optional_ints("axes");
  if (!axes) {
    axes = Ints();
    for (int64_t i = 0; i < c.rank(x); ++i) axes->push_back(i);
  }
  axes = c.axes(*axes, c.rank(x));
  if (!axes) return {};
  if (std::optional<int64_t> count = c.extent(c.input(1), 0); count && *count != std::ssize(*axes))
    return c.bad("shape has {} elements for {} axes", *count, axes->size());
  const bool fixed =
      std::all_of(axes->begin(), axes->end(), [&](int64_t axis) { return c.extent(x, axis).has_value(); });
  if (!fixed || !c.is_static(1)) return computed_crop(c, x, c.cast(c.input(1), DType::int64()), *axes);
  std::optional<Ints> wanted = c.ints(1, "shape");
  if (!wanted) return {};
  ir::IntLists width(static_cast<size_t>(c.rank(x)), Ints{0, 0});
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i], to = (*wanted)[i];
    const std::optional<int64_t> extent = c.extent(x, axis);
    if (to < 0) return c.bad("shape is [{}]", join(*wanted, ", "));
    if (to < *extent) {
      const int64_t begin = (*extent - to) / 2;
      x = c.slice(x, axis, begin, begin + to);
    } else {
      width[static_cast<size_t>(axis)] = {(to - *extent) / 2, to - *extent - (to - *extent) / 2};
    }
  }
  return {c.pad(x, width, c.scalar(0, c.dtype(x)), "constant")};
}

}  // namespace relay::onnx::convert
