// strided_slice: out[i] = data[begin + i * stride] along each sliced axis, as in Python: negative begin and end count
// from the end, out-of-range ones are clipped to the data. An end of 2147483647 is that of the data, however large
// they are, and -2147483648 is before their first element. With slice_mode "size", end holds extents (-1: to the end)
// and strides are 1.
#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace strided_slice_cpp {
namespace {

struct StridedSliceAttrs {
  Ints begin;
  Ints end;
  Ints strides;
  std::string slice_mode = "end";
  OptInts axes;
  static constexpr auto fields = std::tuple{
      required_field("begin", &StridedSliceAttrs::begin, "The first index along each sliced axis."),
      required_field("end", &StridedSliceAttrs::end,
                     "The exclusive end along each sliced axis, or its extent with slice_mode \"size\"."),
      field("strides", &StridedSliceAttrs::strides, "The step along each sliced axis, or one for all; empty: 1."),
      field("slice_mode", &StridedSliceAttrs::slice_mode, "\"end\" or \"size\"."),
      field("axes", &StridedSliceAttrs::axes, "The sliced axes; None: the leading axes.")};
};

struct Slice {
  Expr begin;
  int64_t stride = 1;
  Expr extent;
};

constexpr int64_t far = int64_t{1} << 50;  // beyond every axis, as are all strides above

// The slice of an axis of extent n. Constant begins and ends of a constant axis yield constants.
Slice slice_of(const StridedSliceAttrs& a, size_t k, const Expr& n) {
  bool size_mode = a.slice_mode == "size";
  int64_t b = a.begin[k], e = k < a.end.size() ? a.end[k] : INT64_MAX;
  int64_t given = size_mode || a.strides.empty() ? 1 : a.strides.size() == 1 ? a.strides[0] : a.strides[k];
  int64_t stride = std::clamp(given, -far, far);
  // Clipped to [low, n + high]: a backward slice begins on an element and may end before the first.
  Expr least = dim(stride > 0 ? 0 : -1), greatest = n + (stride > 0 ? 0 : -1);
  auto cut = [&](int64_t v, bool is_mark) {
    if (v >= far || (v == INT32_MAX && is_mark)) return greatest;
    if (v <= -far || (v == INT32_MIN && is_mark)) return least;
    Expr index = v < 0 ? n + v : dim(v);
    return v < 0 ? max(index, least) : v == 0 && stride > 0 ? index : min(index, greatest);
  };
  Expr begin = scalar::simplify(cut(b, stride < 0)), end;
  if (size_mode)
    end = e < 0 ? n : min(begin + std::min(e, far), n);
  else
    end = cut(e, true);
  Expr count =
      stride > 0 ? floordiv(end - begin + (stride - 1), stride) : floordiv(begin - end + (-stride - 1), -stride);
  return {begin, stride, scalar::simplify(max(count, dim(0)))};
}

Result<Ints> sliced_axes(const StridedSliceAttrs& a, int64_t rank) {
  Ints axes;
  for (size_t k = 0; k < a.begin.size(); ++k) axes.push_back(static_cast<int64_t>(k));
  if (a.axes) {
    RELAY_RETURN_IF_ERROR(normal_axes("C2", *a.axes, rank));
    axes = *a.axes;
    for (int64_t& axis : axes) axis = positive_axis(axis, rank);
  }
  return axes;
}

Result<Type> infer(const StridedSliceAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) slice_mode is one of two.
  if (a.slice_mode != "end" && a.slice_mode != "size")
    return constraint("C1", "slice_mode must be \"end\" or \"size\", but is \"{}\"", a.slice_mode);
  // (C2) The axes exist, each named once, and begin has a value for each.
  RELAY_ASSIGN(Ints axes, sliced_axes(a, rank(data)));
  if (axes.size() != a.begin.size() || static_cast<int64_t>(axes.size()) > rank(data))
    return constraint("C2", "begin {} does not fit {} axes of data {}", text(a.begin), axes.size(), text(data->shape));
  // (C3) end and strides have as many values; strides are not zero.
  if (a.end.size() > a.begin.size() || (a.strides.size() > 1 && a.strides.size() != a.begin.size()))
    return constraint("C3", "begin {}, end {} and strides {} differ in length", text(a.begin), text(a.end),
                      text(a.strides));
  if (std::count(a.strides.begin(), a.strides.end(), 0))
    return constraint("C3", "strides {} has a zero", text(a.strides));
  Dims out = data->shape;
  for (size_t k = 0; k < axes.size(); ++k) {
    Dim& extent = out[static_cast<size_t>(axes[k])];
    extent = slice_of(a, k, extent).extent;
  }
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute(const StridedSliceAttrs& a, const te::Tensors& in, const Type& out) {
  Ints axes = *sliced_axes(a, static_cast<int64_t>(in[0]->shape.size()));
  return {te::compute("strided_slice", shape_of(out), [&](Exprs i) {
    for (size_t k = 0; k < axes.size(); ++k) {
      size_t axis = static_cast<size_t>(axes[k]);
      Slice s = slice_of(a, k, in[0]->shape[axis]);
      i[axis] = i[axis] * s.stride + s.begin;
    }
    return (*in[0])(i);
  })};
}

// dy with zeros around it if the sizes are known and the step is 1, else dy set into zeros.
ir::Exprs gradient(const StridedSliceAttrs& a, const Adjoint& of) {
  const Dims& shape = grad::tensor(of.inputs[0]).shape;
  const Ints axes = *sliced_axes(a, static_cast<int64_t>(shape.size()));
  IntLists widths(shape.size(), {0, 0});
  Ints begin(shape.size(), 0), end(shape.size(), far), strides(shape.size(), 1);
  bool pads = true;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Dim& extent = shape[static_cast<size_t>(axes[k])];
    const Slice s = slice_of(a, k, extent);
    const Dim behind = scalar::simplify(extent - s.begin - s.extent);
    pads = pads && s.stride == 1 && scalar::is_int(s.begin) && scalar::is_int(behind);
    if (pads) widths[static_cast<size_t>(axes[k])] = {s.begin->ivalue, behind->ivalue};
    const size_t at = static_cast<size_t>(axes[k]);
    begin[at] = a.begin[k], strides[at] = s.stride;
    if (k < a.end.size()) end[at] = a.end[k] == INT32_MAX ? far : a.end[k] == INT32_MIN ? -far : a.end[k];
  }
  if (pads) return {grad::call("nn.pad", {of.gradient, grad::number(0, of.inputs[0])}, {{"pad_width", widths}})};
  if (a.slice_mode == "size") return {};
  return {grad::call("strided_set", {grad::zeros_like(of.inputs[0]), of.gradient, grad::integers(begin),
                                     grad::integers(end), grad::integers(strides)})};
}

}  // namespace
}  // namespace strided_slice_cpp

OpDef strided_slice() {
  using namespace strided_slice_cpp;
  return define<StridedSliceAttrs>(
      {.name = "strided_slice",
       .doc = "A strided slice along each axis.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "sliced(data, begin, end, strides, slice_mode, axes)",
       .examples = {{.inputs = {"(6, 8)"}, .attrs = "begin=[1, 2], end=[5, 8], strides=[2, 3]", .symbolic = {}},
                    {.inputs = {"(6, 8)"}, .attrs = "begin=[1], end=[2147483647]", .symbolic = {"(n, 8)"}},
                    {.inputs = {"(6, 8)"}, .attrs = "begin=[-3, 0], end=[-1, 100]", .symbolic = {"(n, m)"}},
                    {.inputs = {"(6, 8)"},
                     .attrs = "begin=[-1, 6], end=[-2147483648, 1], strides=[-1, -2]",
                     .symbolic = {"(n, 8)"}},
                    {.inputs = {"(6, 8, 3)"},
                     .attrs = "begin=[0, 1], end=[-1, 2], axes=[2, 0], strides=[2, 1]",
                     .symbolic = {}},
                    {.inputs = {"(6, 8)"}, .attrs = "begin=[2, 1], end=[3, -1], slice_mode=\"size\""},
                    {.inputs = {"(6, 8)"}, .attrs = "begin=[4], end=[2]"},
                    {.inputs = {"(6, 8)"},
                     .attrs = "begin=[3000000000, 3], end=[9, 9223372036854775807], slice_mode=\"size\"",
                     .symbolic = {"(n, m)"}},
                    {.inputs = {"(6, 8)"},
                     .attrs = "begin=[-3000000000, 3000000000], end=[2147483648, -3000000000], strides=[1, -1]",
                     .symbolic = {"(n, m)"}},
                    {.inputs = {"(6, 8)"},
                     .attrs = "begin=[-1, 1], end=[0, 8], strides=[-9223372036854775808, 9223372036854775807]",
                     .symbolic = {}}},
       .rejects = {{{"(2, 3)"}, "begin=[0], end=[1], slice_mode=\"last\"", "C1"},
                   {{"(2, 3)"}, "begin=[0, 0, 0], end=[1, 1, 1]", "C2"},
                   {{"(2, 3)"}, "begin=[0], end=[1], axes=[2]", "C2"},
                   {{"(2, 3)"}, "begin=[0], end=[1], strides=[0]", "C3"},
                   {{"(2, 3)"}, "begin=[0, 0], end=[1, 1], strides=[1, 1, 1]", "C3"}}},
      "StridedSliceAttrs");
}

}  // namespace relay::ops
