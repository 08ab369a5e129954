// one_hot: out[.., k, ..] = indices[..] == k ? on_value : off_value, k along a new axis of extent depth
// dyn.one_hot: the same with the depth as a tensor
#include "relay/op/gradient.h"

namespace relay::ops {
namespace one_hot_cpp {
namespace {

struct OneHotAttrs {
  int64_t depth = 1;
  int64_t axis = -1;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{field("depth", &OneHotAttrs::depth, "The extent of the new axis."),
                 field("axis", &OneHotAttrs::axis, "Position of the new axis; -1: at the end."),
                 field("dtype", &OneHotAttrs::dtype, "The element type of the result; None: that of on_value.")};
};

Result<Type> infer(const OneHotAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 0, "indices"));
  RELAY_ASSIGN(const TensorType* on, tensor_input(in, 1, "on_value"));
  RELAY_ASSIGN(const TensorType* off, tensor_input(in, 2, "off_value"));
  // (C1) The indices are integers.
  if (!indices->dtype.is_int()) return constraint("C1", "indices must be integers, but are {}", indices->dtype.str());
  // (C2) The two values are scalars.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", on, 0, "on_value"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", off, 0, "off_value"));
  // (C3) The new axis has a valid position and extent.
  RELAY_ASSIGN(int64_t axis, normal_axis("C3", a.axis, rank(indices) + 1));
  if (a.depth < 0) return constraint("C3", "depth is {}, but must not be negative", a.depth);
  Dims out = indices->shape;
  out.insert(out.begin() + axis, dim(a.depth));
  return ir::tensor_type(std::move(out), a.dtype.value_or(on->dtype));
}

te::Tensors compute(const OneHotAttrs& a, const te::Tensors& in, const Type& out) {
  int64_t axis = positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size()) + 1);
  DType dtype = dtype_of(out);
  return {te::compute("one_hot", shape_of(out), [&](const Exprs& i) {
    Exprs rest = i;
    rest.erase(rest.begin() + axis);
    Expr hit = eq(cast(DType::int64(), (*in[0])(rest)), i[static_cast<size_t>(axis)]);
    return select(hit, cast(dtype, (*in[1])({})), cast(dtype, (*in[2])({})));
  })};
}

struct DynOneHotAttrs {
  int64_t axis = -1;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{field("axis", &DynOneHotAttrs::axis, "Position of the new axis; -1: at the end."),
                 field("dtype", &DynOneHotAttrs::dtype, "The element type of the result; None: that of on_value.")};
};

Result<Type> infer_dynamic(const DynOneHotAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* depth, tensor_input(in, 3, "depth"));
  // (C4) The depth is one integer.
  if (!depth->shape.empty() || !depth->dtype.is_int())
    return constraint("C4", "depth must be one integer, but is {}", ir::str(in[3]));
  OneHotAttrs fixed;
  fixed.axis = a.axis, fixed.dtype = a.dtype;
  RELAY_ASSIGN(Type type, infer(fixed, in));
  Dims out = shape_of(type);
  out[static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(out.size())))] = scalar::any_dim();
  return ir::tensor_type(std::move(out), dtype_of(type));
}

te::Tensor dynamic_shape(const DynOneHotAttrs& a, const te::Tensors& in) {
  Exprs sizes = in[0]->shape;
  const int64_t axis = positive_axis(a.axis, static_cast<int64_t>(sizes.size()) + 1);
  sizes.insert(sizes.begin() + axis, cast(DType::int64(), (*in[3])({})));
  return shape_tensor(sizes);
}

// `marks`: the same call with 1 and 0 as the values.
ir::Exprs gradient(const Adjoint& of, const std::function<ir::Expr(const ir::Expr& on, const ir::Expr& off)>& marks) {
  ir::Exprs gradients(of.inputs.size());
  if (!grad::tensor(of.output).dtype.is_float() || !grad::tensor(of.inputs[1]).dtype.is_float()) return gradients;
  const ir::Expr on = grad::call(
      "sum", {grad::times(of.gradient, marks(grad::number(1, of.inputs[1]), grad::number(0, of.inputs[1])))});
  const ir::Expr off = grad::minus(grad::call("sum", {of.gradient}), on);
  gradients[1] = grad::converted_as(on, of.output, of.inputs[1]);
  gradients[2] = grad::converted_as(off, of.output, of.inputs[2]);
  return gradients;
}

ir::Exprs gradient_of_static(const OneHotAttrs& a, const Adjoint& of) {
  return gradient(of, [&](const ir::Expr& on, const ir::Expr& off) {
    AttrValues attrs = {{"depth", a.depth}, {"axis", a.axis}};
    if (a.dtype) attrs.push_back({"dtype", *a.dtype});
    return grad::call("one_hot", {of.inputs[0], on, off}, attrs);
  });
}

ir::Exprs gradient_of_dynamic(const DynOneHotAttrs& a, const Adjoint& of) {
  return gradient(of, [&](const ir::Expr& on, const ir::Expr& off) {
    AttrValues attrs = {{"axis", a.axis}};
    if (a.dtype) attrs.push_back({"dtype", *a.dtype});
    return grad::call("dyn.one_hot", {of.inputs[0], on, off, of.inputs[3]}, attrs);
  });
}

}  // namespace
}  // namespace one_hot_cpp

OpDef one_hot() {
  using namespace one_hot_cpp;
  return define<OneHotAttrs>(
      {.name = "one_hot",
       .doc = "One-hot encoding: adds an axis with on_value at each index and off_value elsewhere.",
       .inputs = {{"indices", "integers, any shape"},
                  {"on_value", "the value at the index"},
                  {"off_value", "the value elsewhere"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .gradient = gradient_of_static,
       .oracle = "one_hot(indices, on_value, off_value, depth, axis)",
       .examples = {{.inputs = {"(5,) int64", "()", "()"},
                     .attrs = "depth=4, dtype=\"float32\"",
                     .symbolic = {"(n,) int64", "()", "()"},
                     .low = 0,
                     .high = 5},
                    {.inputs = {"(2, 3) int32", "() int32", "() int32"},
                     .attrs = "depth=4, axis=1",
                     .low = 0,
                     .high = 3,
                     .ulps = 0}},
       .rejects = {{{"(2,)", "()", "()"}, "depth=2", "C1"},
                   {{"(2,) int32", "(1,)", "()"}, "depth=2", "C2"},
                   {{"(2,) int32", "()", "()"}, "depth=2, axis=2", "C3"}}},
      "OneHotAttrs");
}

OpDef dyn_one_hot() {
  using namespace one_hot_cpp;
  return define<DynOneHotAttrs>(
      {.name = "dyn.one_hot",
       .doc = "One-hot encoding whose new axis has an extent that is computed at run time.",
       .inputs = {{"indices", "integers, any shape"},
                  {"on_value", "the value at the index"},
                  {"off_value", "the value elsewhere"},
                  {"depth", "one non-negative integer: the extent of the new axis"}},
       // Fusion of dyn.one_hot: output fusable in the reference; its size is computed before it, so that it could
       // share a kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer_dynamic,
       .compute =
           [](const DynOneHotAttrs& a, const te::Tensors& in, const Type& out) {
             OneHotAttrs fixed;
             fixed.axis = a.axis;
             return compute(fixed, in, out);
           },
       .shape = dynamic_shape,
       .gradient = gradient_of_dynamic,
       .oracle = "one_hot(indices, on_value, off_value, int(depth), axis)",
       .examples = {{.inputs = {"(5,) int64", "()", "()", "() int32"}, .low = 0, .high = 5},
                    {.inputs = {"(2, 3) int32", "() int32", "() int32", "() int64"},
                     .attrs = "axis=1",
                     .low = 0,
                     .high = 3,
                     .ulps = 0}},
       .rejects = {{{"(2,)", "()", "()", "() int32"}, "", "C1"},
                   {{"(2,) int32", "(1,)", "()", "() int32"}, "", "C2"},
                   {{"(2,) int32", "()", "()", "() int32"}, "axis=2", "C3"},
                   {{"(2,) int32", "()", "()", "(1,) int32"}, "", "C4"}}},
      "DynOneHotAttrs");
}

}  // namespace relay::ops
