// shape_of: out[d] = the extent of data's axis d.  ndarray_size: out = their product.
#include "relay/op/common.h"

namespace relay::ops {
namespace shape_of_cpp {
namespace {

struct ShapeOfAttrs {
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{field("dtype", &ShapeOfAttrs::dtype, "The element type of the result; None: int32.")};
};

Status expect_fits(const Dim& size, DType dtype) {
  const int digits = dtype.is_int() ? dtype.bits - (dtype.code == DType::Code::Int) : 63;
  if (!scalar::is_int(size) || digits > 62 || size->ivalue >> digits == 0) return ok();
  return constraint("C1", "{} does not fit in {}: set dtype=\"int64\"", size->ivalue, dtype.str());
}

Result<Type> infer(const ShapeOfAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  const DType dtype = a.dtype.value_or(DType::int32());
  // (C1) Known sizes are numbers of the type.
  for (const Dim& d : data->shape) RELAY_RETURN_IF_ERROR(expect_fits(d, dtype));
  return ir::tensor_type({dim(rank(data))}, dtype);
}

te::Tensors compute(const ShapeOfAttrs&, const te::Tensors& in, const Type& out) {
  return {te::compute("shape_of", shape_of(out),
                      [&](const Exprs& i) { return cast(dtype_of(out), one_of(i[0], in[0]->shape)); })};
}

Result<Type> infer_size(const ShapeOfAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  const DType dtype = a.dtype.value_or(DType::int32());
  // (C1) The number is one of the type, if it is known.
  RELAY_RETURN_IF_ERROR(expect_fits(product(data->shape), dtype));
  return ir::scalar_type(dtype);
}

te::Tensors compute_size(const ShapeOfAttrs&, const te::Tensors& in, const Type& out) {
  return {te::compute("ndarray_size", {}, [&](const Exprs&) { return cast(dtype_of(out), product(in[0]->shape)); })};
}

}  // namespace
}  // namespace shape_of_cpp

OpDef shape_of() {
  using namespace shape_of_cpp;
  return define<ShapeOfAttrs>(
      {.name = "shape_of",
       .doc = "The shape of a tensor, as a tensor.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .accepts_storage_types = true,
       .oracle = "torch.tensor(data.shape)",
       .examples = {{.inputs = {"(2, 3, 4)"}, .symbolic = {"(n, 3, m)"}, .ulps = 0},
                    {.inputs = {"(5,)"}, .attrs = "dtype=\"int64\"", .symbolic = {"(n,)"}, .ulps = 0}}},
      "ShapeOfAttrs");
}

OpDef ndarray_size() {
  using namespace shape_of_cpp;
  return define<ShapeOfAttrs>({.name = "ndarray_size",
                               .doc = "The number of elements of a tensor.",
                               .inputs = {{"data", "any shape"}},
                               .fusion = Fusion::Injective,
                               .infer = infer_size,
                               .compute = compute_size,
                               .accepts_storage_types = true,
                               .oracle = "torch.tensor(data.numel())",
                               .examples = {{.inputs = {"(2, 3, 4)"}, .symbolic = {"(n, 3, m)"}, .ulps = 0}}},
                              "NdarraySizeAttrs");
}

}  // namespace relay::ops
