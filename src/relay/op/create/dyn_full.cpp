// dyn.full: out[i] = fill_value, in the shape given by the values of `shape`.  dyn.zeros, dyn.ones: 0, 1
#include "relay/op/gradient.h"

namespace relay::ops {
namespace dyn_full_cpp {
namespace {

struct DynInitOpAttrs {
  OptDType dtype;
  static constexpr auto fields = std::tuple{
      field("dtype", &DynInitOpAttrs::dtype, "The element type of the result; None: that of fill_value, or float32.")};
};

Result<Type> infer(const DynInitOpAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* value, tensor_input(in, 0, "fill_value"));
  // (C1) fill_value is one value.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", value, 0, "fill_value"));
  // (C2) The shape is a list of integers of known length.
  RELAY_ASSIGN(size_t rank, shape_input("C2", in, 1, "shape"));
  return ir::tensor_type(Dims(rank, scalar::any_dim()), a.dtype.value_or(value->dtype));
}

Result<Type> infer_filled(const DynInitOpAttrs& a, const Types& in) {
  // (C1) The shape is a list of integers of known length.
  RELAY_ASSIGN(size_t rank, shape_input("C1", in, 0, "shape"));
  return ir::tensor_type(Dims(rank, scalar::any_dim()), a.dtype.value_or(DType::float32()));
}

OpDef filled(const char* name, const char* doc, int64_t value, const char* oracle) {
  return define<DynInitOpAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"shape", "(rank,) non-negative sizes: the shape of the result"}},
       // Fusion of dyn.ones, dyn.zeros: elementwise in the reference; no input has an element for each of the
       // result's.
       .fusion = Fusion::Injective,
       .infer = infer_filled,
       .compute =
           [value](const DynInitOpAttrs&, const te::Tensors&, const Type& out) {
             return te::Tensors{
                 te::compute("full", shape_of(out), [&](const Exprs&) { return imm(value, dtype_of(out)); })};
           },
       .shape =
           [](const DynInitOpAttrs&, const te::Tensors& in) {
             return te::compute("shape", in[0]->shape,
                                [&](const Exprs& i) { return cast(DType::int64(), (*in[0])(i)); });
           },
       .oracle = oracle,
       .examples = {{.inputs = {"(2,) int32"}, .low = 0, .high = 4, .ulps = 0},
                    {.inputs = {"(3,) int32"}, .attrs = "dtype=\"int64\"", .low = 0, .high = 3, .ulps = 0}},
       .rejects = {{{"(2,)"}, "", "C1"}}},
      "DynInitOpAttrs");
}

}  // namespace
}  // namespace dyn_full_cpp

OpDef dyn_full() {
  using namespace dyn_full_cpp;
  return define<DynInitOpAttrs>(
      {.name = "dyn.full",
       .doc = "A tensor filled with one value, whose shape is computed at run time.",
       .inputs = {{"fill_value", "()"}, {"shape", "(rank,) non-negative sizes: the shape of the result"}},
       // Fusion of dyn.full: elementwise in the reference; no input has an element for each
       // of the result's.
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute =
           [](const DynInitOpAttrs&, const te::Tensors& in, const Type& out) {
             return te::Tensors{
                 te::compute("full", shape_of(out), [&](const Exprs&) { return cast(dtype_of(out), (*in[0])({})); })};
           },
       .shape =
           [](const DynInitOpAttrs&, const te::Tensors& in) {
             return te::compute("shape", in[1]->shape,
                                [&](const Exprs& i) { return cast(DType::int64(), (*in[1])(i)); });
           },
       .gradient = [](const DynInitOpAttrs&, const Adjoint& of) -> ir::Exprs {
         if (!grad::tensor(of.output).dtype.is_float()) return {nullptr, nullptr};
         const ir::Expr sum = grad::call("sum", {of.gradient});
         return {grad::converted_as(sum, of.output, of.inputs[0]), nullptr};
       },
       .oracle = "torch.full([int(n) for n in shape], float(fill_value))",
       .examples = {{.inputs = {"()", "(2,) int64"}, .low = 0, .high = 4, .ulps = 0},
                    {.inputs = {"()", "(3,) int32"}, .low = 0, .high = 3, .ulps = 0}},
       .rejects = {{{"(1,)", "(2,) int64"}, "", "C1"}, {{"()", "(2,)"}, "", "C2"}}},
      "DynInitOpAttrs");
}

OpDef dyn_zeros() {
  using namespace dyn_full_cpp;
  return filled("dyn.zeros", "A tensor of zeros, whose shape is computed at run time.", 0,
                "torch.zeros([int(n) for n in shape])");
}
OpDef dyn_ones() {
  using namespace dyn_full_cpp;
  return filled("dyn.ones", "A tensor of ones, whose shape is computed at run time.", 1,
                "torch.ones([int(n) for n in shape])");
}

}  // namespace relay::ops
