// reinterpret: the bits of each element as another type of the same width
#include "relay/op/common.h"

namespace relay::ops {
namespace reinterpret_cpp {
namespace {

struct ReinterpretAttrs {
  DType dtype;
  static constexpr auto fields = std::tuple{required_field("dtype", &ReinterpretAttrs::dtype, "The new element type.")};
};

Result<Type> infer(const ReinterpretAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Both types have one width, and neither is bool.
  if (data->dtype.width() != a.dtype.width() || data->dtype.bits != a.dtype.bits || data->dtype.is_bool() ||
      a.dtype.is_bool())
    return constraint("C1", "the bits of {} cannot be read as {}", data->dtype.str(), a.dtype.str());
  return ir::tensor_type(data->shape, a.dtype);
}

te::Tensors compute(const ReinterpretAttrs& a, const te::Tensors& in, const Type&) {
  return {elementwise("reinterpret", in[0], [&](const Exprs& i) {
    Expr x = (*in[0])(i);
    if (x->dtype == a.dtype) return x;
    if (x->dtype.is_storage() || a.dtype.is_storage()) return scalar::reinterpret(a.dtype, x);
    return x->dtype.is_float() == a.dtype.is_float() ? cast(a.dtype, x) : scalar::reinterpret(a.dtype, x);
  })};
}

}  // namespace
}  // namespace reinterpret_cpp

OpDef reinterpret() {
  using namespace reinterpret_cpp;
  return define<ReinterpretAttrs>(
      {.name = "reinterpret",
       .doc = "Reinterprets the bits of each element as another type of the same width.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .accepts_storage_types = true,
       .oracle = "data.view(getattr(torch, dtype))",
       .examples = {{.inputs = {"(3, 5) int32"},
                     .attrs = "dtype=\"float32\"",
                     .symbolic = {"(n, 5) int32"},
                     .low = 1e9,
                     .high = 1.1e9},
                    {.inputs = {"(4,) int32"}, .attrs = "dtype=\"uint32\"", .low = -9, .high = 9}},
       .rejects = {{{"(3,) int32"}, "dtype=\"float64\"", "C1"},
                   {{"(3,) bool"}, "dtype=\"uint8\"", "C1"},
                   {{"(3,) int4"}, "dtype=\"int8\"", "C1"}}},
      "ReinterpretAttrs");
}

}  // namespace relay::ops
