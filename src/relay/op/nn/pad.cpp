// nn.pad: out[i] = data[i - before] inside of data, and outside
//   constant: pad_val    edge: the nearest element    reflect: data mirrored at its first and last element
// A negative width removes elements.
// dyn.nn.pad: the same with pad_width as a tensor.
#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace pad_cpp {
namespace {

struct PadAttrs {
  IntLists pad_width;
  std::string pad_mode = "constant";
  static constexpr auto fields =
      std::tuple{required_field("pad_width", &PadAttrs::pad_width,
                                "Elements added before and after each axis; negative values cut elements off."),
                 field("pad_mode", &PadAttrs::pad_mode, "\"constant\", \"edge\" or \"reflect\".")};
};

Result<Type> infer(const PadAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* value, tensor_input(in, 1, "pad_val"));
  // (C1) pad_width is a pair for each axis; the number of removed elements is limited.
  constexpr int64_t least = -(int64_t{1} << 40);
  bool pairs = std::all_of(a.pad_width.begin(), a.pad_width.end(),
                           [](const Ints& p) { return p.size() == 2 && std::min(p[0], p[1]) >= least; });
  if (!pairs || static_cast<int64_t>(a.pad_width.size()) != rank(data))
    return constraint("C1", "pad_width must be {} of numbers from -2^40 on, one for each axis of data {}",
                      plural(rank(data), "pair", "pairs"), text(data->shape));
  // (C2) pad_val is one value of data's type.
  if (!scalar::is_int(product(value->shape), 1))
    return constraint("C2", "pad_val must be a scalar, but has shape {}", text(value->shape));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", value, "pad_val"));
  // (C3) The mode is one of three; data has enough elements to mirror or repeat.
  if (a.pad_mode != "constant" && a.pad_mode != "edge" && a.pad_mode != "reflect")
    return constraint("C3", "pad_mode must be \"constant\", \"edge\" or \"reflect\", but is \"{}\"", a.pad_mode);
  Dims out;
  for (size_t d = 0; d < data->shape.size(); ++d) {
    int64_t longest = std::max(a.pad_width[d][0], a.pad_width[d][1]);
    if (a.pad_mode == "reflect" && longest > 0 && (longest == INT64_MAX || !at_least(data->shape[d], dim(longest + 1))))
      return constraint("C3", "axis {} of data {} is too short to mirror {} elements", d, text(data->shape), longest);
    if (a.pad_mode == "edge" && longest > 0 && !at_least(data->shape[d], dim(1)))
      return constraint("C3", "axis {} of data {} has no element to repeat", d, text(data->shape));
    out.push_back(data->shape[d] + a.pad_width[d][0] + a.pad_width[d][1]);
    // (C4) Not more is removed than there is.
    if (std::min(a.pad_width[d][0], a.pad_width[d][1]) < 0 && !at_least(scalar::simplify(out.back()), dim(0)))
      return constraint("C4", "pad_width {} cuts more off axis {} than data {} has", text(a.pad_width[d]), d,
                        text(data->shape));
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute(const PadAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  Ints before, after;
  for (const Ints& pair : a.pad_width) before.push_back(pair[0]), after.push_back(pair[1]);
  if (a.pad_mode == "constant") {
    te::Tensor t = padded(data, before, after, (*in[1])(Exprs(in[1]->shape.size(), dim(0))));
    return {t == data ? elementwise("padded", data, [&](const Exprs& i) { return (*data)(i); }) : t};
  }
  return {te::compute("padded", shape_of(out), [&](Exprs i) {
    for (size_t d = 0; d < i.size(); ++d) {
      if (before[d] == 0 && after[d] == 0) continue;
      Expr at = i[d] - before[d], last = data->shape[d] - 1;
      if (a.pad_mode == "reflect") at = last - unary(UnaryOp::Abs, last - unary(UnaryOp::Abs, at));
      i[d] = min(max(at, dim(0)), last);
    }
    return (*data)(i);
  })};
}

struct DynPadAttrs {
  std::string pad_mode = "constant";
  static constexpr auto fields =
      std::tuple{field("pad_mode", &DynPadAttrs::pad_mode, "\"constant\", \"edge\" or \"reflect\".")};
};

Result<Type> infer_dynamic(const DynPadAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* width, tensor_input(in, 1, "pad_width"));
  RELAY_ASSIGN(const TensorType* value, tensor_input(in, 2, "pad_val"));
  // (C1) pad_width is a pair of integers for each axis.
  if (!width->dtype.is_int() || !agree(width->shape, Dims{dim(rank(data)), dim(2)}))
    return constraint("C1", "pad_width must be integers ({}, 2), but is {}", rank(data), ir::str(in[1]));
  // (C2) pad_val is one value of data's type.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", value, 0, "pad_val"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", value, "pad_val"));
  // (C3) The mode is one of three.
  if (a.pad_mode != "constant" && a.pad_mode != "edge" && a.pad_mode != "reflect")
    return constraint("C3", "pad_mode must be \"constant\", \"edge\" or \"reflect\", but is \"{}\"", a.pad_mode);
  // (C4) There are elements to repeat.
  if (a.pad_mode != "constant")
    for (const Dim& d : data->shape)
      if (scalar::is_int(d, 0)) return constraint("C4", "data {} has no element to repeat", text(data->shape));
  return ir::tensor_type(Dims(data->shape.size(), scalar::any_dim()), data->dtype);
}

Expr width_at(const te::Tensor& width, const Expr& d, int64_t side) {
  return cast(DType::int64(), (*width)({d, dim(side)}));
}

te::Tensor dynamic_shape(const DynPadAttrs&, const te::Tensors& in) {
  const Exprs& data = in[0]->shape;
  return te::compute("shape", {dim(static_cast<int64_t>(data.size()))}, [&](const Exprs& i) {
    Expr own = data.empty() ? dim(0) : data.back();
    for (size_t d = data.size(); d-- > 1;) own = select(eq(i[0], dim(static_cast<int64_t>(d - 1))), data[d - 1], own);
    return own + width_at(in[1], i[0], 0) + width_at(in[1], i[0], 1);
  });
}

te::Tensors compute_dynamic(const DynPadAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  return {te::compute("padded", shape_of(out), [&](Exprs i) {
    Expr inside = imm(1, DType::boolean());
    for (size_t d = 0; d < i.size(); ++d) {
      Expr at = i[d] - width_at(in[1], dim(static_cast<int64_t>(d)), 0), last = data->shape[d] - 1;
      inside = logical_and(inside, logical_and(le(dim(0), at), le(at, last)));
      if (a.pad_mode == "reflect") at = last - unary(UnaryOp::Abs, last - unary(UnaryOp::Abs, at));
      i[d] = max(min(at, last), dim(0));
    }
    return a.pad_mode == "constant" ? select(inside, (*data)(i), (*in[2])({})) : (*data)(i);
  })};
}

// The inner part; the value gets the sum of the rest. Gradients of repeated elements flow to their sources.
ir::Exprs gradient(const PadAttrs& a, const Adjoint& of) {
  if (a.pad_mode != "constant") {
    const ir::Expr& data = of.inputs[0];
    const ir::Expr sources = grad::call("nn.pad", {grad::element_numbers(data), ir::constant(0, DType::int64())},
                                        {{"pad_width", a.pad_width}, {"pad_mode", a.pad_mode}});
    return {grad::scattered(of.gradient, sources, data), nullptr};
  }
  IntLists inside;
  for (const Ints& width : a.pad_width) inside.push_back({-width[0], -width[1]});
  const ir::Expr &dy = of.gradient, &value = of.inputs[1];
  const ir::Expr dx = grad::call("nn.pad", {dy, grad::number(0, of.inputs[0])}, {{"pad_width", inside}});
  const ir::Expr around = grad::minus(grad::call("sum", {dy}), grad::call("sum", {dx}));
  return {dx, grad::rank(value) == 0 ? around : grad::shaped_as(around, value)};
}

ir::Exprs dynamic_gradient(const DynPadAttrs& a, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &dy = of.gradient;
  const ir::Expr sources =
      grad::call("dyn.nn.pad", {grad::element_numbers(data), of.inputs[1], ir::constant(0, DType::int64())},
                 {{"pad_mode", a.pad_mode}});
  const ir::Expr dx = grad::scattered(dy, sources, data);
  if (a.pad_mode != "constant") return {dx, nullptr, nullptr};
  return {dx, nullptr, grad::minus(grad::call("sum", {dy}), grad::call("sum", {dx}))};
}

}  // namespace
}  // namespace pad_cpp

OpDef nn_pad() {
  using namespace pad_cpp;
  return define<PadAttrs>(
      {.name = "nn.pad",
       .doc = "Pads a tensor.",
       .inputs = {{"data", "any shape"}, {"pad_val", "one value"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "pad(data, pad_width, pad_mode, pad_val)",
       .examples = {{.inputs = {"(3, 4)", "()"}, .attrs = "pad_width=[[1, 2], [0, 3]]", .symbolic = {"(n, m)", "()"}},
                    {.inputs = {"(2, 5, 4)", "()"},
                     .attrs = "pad_width=[[0, 0], [2, 1], [1, 3]], pad_mode=\"edge\"",
                     .symbolic = {"(n, h, w)", "()"}},
                    {.inputs = {"(2, 5, 4)", "()"},
                     .attrs = "pad_width=[[0, 0], [2, 1], [1, 3]], pad_mode=\"reflect\"",
                     .symbolic = {"(n, h, 4)", "()"}},
                    {.inputs = {"(3, 4)", "()"}, .attrs = "pad_width=[[0, 0], [0, 0]]"},
                    {.inputs = {"(5, 6)", "()"},
                     .attrs = "pad_width=[[-1, 2], [-2, -1]]",
                     .symbolic = {"(n, m)", "()"}},
                    {.inputs = {"(5, 6)", "()"}, .attrs = "pad_width=[[-1, 2], [1, -2]], pad_mode=\"edge\""}},
       .rejects = {{{"(3, 4)", "()"}, "pad_width=[[1, 1]]", "C1"},
                   {{"(3, 4)", "(2,)"}, "pad_width=[[1, 1], [1, 1]]", "C2"},
                   {{"(3, 4)", "() int32"}, "pad_width=[[1, 1], [1, 1]]", "C2"},
                   {{"(3, 4)", "()"}, "pad_width=[[1, 1], [1, 1]], pad_mode=\"wrap\"", "C3"},
                   {{"(3, 4)", "()"}, "pad_width=[[3, 0], [0, 0]], pad_mode=\"reflect\"", "C3"},
                   {{"(3, 4)", "()"}, "pad_width=[[9223372036854775807, 0], [0, 0]], pad_mode=\"reflect\"", "C3"},
                   {{"(3, 4)", "()"}, "pad_width=[[-2, -2], [0, 0]]", "C4"}}},
      "PadAttrs");
}

OpDef dyn_nn_pad() {
  using namespace pad_cpp;
  return define<DynPadAttrs>(
      {.name = "dyn.nn.pad",
       .doc = "Pads a tensor by widths that are computed at run time.",
       .inputs = {{"data", "any shape"},
                  {"pad_width",
                   "(rank, 2) integers: elements added before and after each axis; negative values cut elements off"},
                  {"pad_val", "one value"}},
       // Fusion of dyn.nn.pad: injective in the reference; its size is computed before it, so that it could share a
       // kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer_dynamic,
       .compute = compute_dynamic,
       .shape = dynamic_shape,
       .gradient = dynamic_gradient,
       .oracle = "pad(data, pad_width.tolist(), pad_mode, pad_val)",
       .examples = {{.inputs = {"(3, 4)", "(2, 2) int64", "()"}, .low = 0, .high = 3},
                    {.inputs = {"(4, 5)", "(2, 2) int32", "()"}, .low = -1, .high = 2},
                    {.inputs = {"(4, 5)", "(2, 2) int32", "()"}, .attrs = "pad_mode=\"edge\"", .low = 0, .high = 3},
                    {.inputs = {"(4, 5)", "(2, 2) int32", "()"}, .attrs = "pad_mode=\"reflect\"", .low = 0, .high = 3}},
       .rejects = {{{"(3, 4)", "(2,) int32", "()"}, "", "C1"},
                   {{"(3, 4)", "(2, 2)", "()"}, "", "C1"},
                   {{"(3, 4)", "(2, 2) int32", "() int32"}, "", "C2"},
                   {{"(3, 4)", "(2, 2) int32", "()"}, "pad_mode=\"wrap\"", "C3"},
                   {{"(0, 4)", "(2, 2) int32", "()"}, "pad_mode=\"edge\"", "C4"}}},
      "DynPadAttrs");
}

}  // namespace relay::ops
