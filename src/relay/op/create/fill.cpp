// zeros, ones: out[i] = 0 (1).  full: out[i] = fill_value.  zeros_like, ones_like, full_like: the shape and type of
// data.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace fill_cpp {
namespace {

struct InitOpAttrs {
  Dims shape;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{required_field("shape", &InitOpAttrs::shape, "The shape of the result."),
                 field("dtype", &InitOpAttrs::dtype,
                       "The element type of the result; None: float32, for full that of fill_value.")};
};

// (C1) Extents are not negative.
Status check_shape(const Dims& shape) {
  for (const Dim& d : shape)
    if (!at_least(d, dim(0))) return constraint("C1", "shape {} has a negative extent", text(shape));
  return ok();
}

OpDef filled(const char* name, const char* doc, int64_t value, const char* oracle) {
  return define<InitOpAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {},
       .fusion = Fusion::Elementwise,
       .infer = [](const InitOpAttrs& a, const Types&) -> Result<Type> {
         RELAY_RETURN_IF_ERROR(check_shape(a.shape));
         return ir::tensor_type(a.shape, a.dtype.value_or(DType::float32()));
       },
       .compute = [name, value](const InitOpAttrs&, const te::Tensors&, const Type& out) -> te::Tensors {
         return {te::compute(name, shape_of(out), [&](const Exprs&) { return imm(value, dtype_of(out)); })};
       },
       .oracle = oracle,
       .examples = {{.inputs = {}, .attrs = "shape=[2, 3], dtype=\"float32\""},
                    {.inputs = {}, .attrs = "shape=[], dtype=\"int64\"", .ulps = 0}},
       .rejects = {{{}, "shape=[-1]", "C1"}}},
      "InitOpAttrs");
}

OpDef filled_like(const char* name, const char* doc, int64_t value, const char* oracle) {
  return define<NoAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = [](const NoAttrs&, const Types& in) -> Result<Type> {
         RELAY_RETURN_IF_ERROR(tensor_input(in, 0, "data"));
         return in[0];
       },
       .compute = [name, value](const NoAttrs&, const te::Tensors& in, const Type&) -> te::Tensors {
         return {elementwise(name, in[0], [&](const Exprs&) { return imm(value, in[0]->dtype); })};
       },
       .gradient = [](const NoAttrs&, const Adjoint&) -> ir::Exprs { return {nullptr}; },
       .oracle = oracle,
       .examples = {{.inputs = {"(2, 3)"}, .symbolic = {"(n, m)"}}, {.inputs = {"(2, 3) int32"}, .ulps = 0}}});
}

Result<Type> infer_full(const InitOpAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* value, tensor_input(in, 0, "fill_value"));
  RELAY_RETURN_IF_ERROR(check_shape(a.shape));
  // (C2) fill_value is one value.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", value, 0, "fill_value"));
  return ir::tensor_type(a.shape, a.dtype.value_or(value->dtype));
}

Result<Type> infer_full_like(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* value, tensor_input(in, 1, "fill_value"));
  // (C1) fill_value is one value.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", value, 0, "fill_value"));
  return ir::tensor_type(data->shape, data->dtype);
}

te::Tensors spread(const te::Tensor& value, const Type& out) {
  return {te::compute("full", shape_of(out), [&](const Exprs&) { return cast(dtype_of(out), (*value)({})); })};
}

}  // namespace
}  // namespace fill_cpp

OpDef zeros() {
  using namespace fill_cpp;
  return filled("zeros", "Zeros.", 0, "torch.zeros(output_shape)");
}
OpDef ones() {
  using namespace fill_cpp;
  return filled("ones", "Ones.", 1, "torch.ones(output_shape)");
}
OpDef zeros_like() {
  using namespace fill_cpp;
  return filled_like("zeros_like", "A tensor of zeros with the shape and type of data.", 0, "torch.zeros_like(data)");
}
OpDef ones_like() {
  using namespace fill_cpp;
  return filled_like("ones_like", "A tensor of ones with the shape and type of data.", 1, "torch.ones_like(data)");
}

OpDef full() {
  using namespace fill_cpp;
  return define<InitOpAttrs>(
      {.name = "full",
       .doc = "A tensor filled with one value.",
       .inputs = {{"fill_value", "one value"}},
       .fusion = Fusion::Elementwise,
       .infer = infer_full,
       .compute = [](const InitOpAttrs&, const te::Tensors& in, const Type& out) { return spread(in[0], out); },
       .gradient = [](const InitOpAttrs&, const Adjoint& of) -> ir::Exprs {
         return {grad::converted_as(grad::call("sum", {of.gradient}), of.output, of.inputs[0])};
       },
       .oracle = "fill_value.expand(output_shape)",
       .examples = {{.inputs = {"()"}, .attrs = "shape=[2, 3]"},
                    {.inputs = {"() int32"}, .attrs = "shape=[4], dtype=\"int64\"", .low = -9, .high = 9}},
       .rejects = {{{"()"}, "shape=[-2]", "C1"}, {{"(1,)"}, "shape=[2]", "C2"}}},
      "InitOpAttrs");
}

OpDef full_like() {
  using namespace fill_cpp;
  return define<NoAttrs>(
      {.name = "full_like",
       .doc = "A tensor filled with one value, with the shape and type of data.",
       .inputs = {{"data", "any shape"}, {"fill_value", "one value"}},
       .fusion = Fusion::Elementwise,
       .infer = infer_full_like,
       .compute = [](const NoAttrs&, const te::Tensors& in, const Type& out) { return spread(in[1], out); },
       .gradient = [](const NoAttrs&, const Adjoint& of) -> ir::Exprs {
         return {nullptr, grad::converted_as(grad::call("sum", {of.gradient}), of.output, of.inputs[1])};
       },
       .oracle = "fill_value.expand(data.shape).to(data.dtype)",
       .examples = {{.inputs = {"(2, 3)", "()"}, .symbolic = {"(n, m)", "()"}}},
       .rejects = {{{"(2, 3)", "(1,)"}, "", "C1"}}});
}

}  // namespace relay::ops
