// tensor_of_shape: out[i] = False, in the shape given by the values of `shape`
//
// Introduces value-dependent sizes into a program: the result's sizes are ordinary sizes. The executors make it without
// a kernel.
#include "relay/op/common.h"

namespace relay::ops {
namespace tensor_of_shape_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* shape, tensor_input(in, 0, "shape"));
  // (C1) One size for each axis, as int64.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", shape, 1, "shape"));
  if (shape->dtype != DType::int64()) return constraint("C1", "shape must be int64, but is {}", shape->dtype.str());
  // (C2) The number of axes is known.
  RELAY_ASSIGN(size_t rank, shape_input("C2", in, 0, "shape"));
  return ir::tensor_type(Dims(rank, scalar::any_dim()), DType::boolean());
}

}  // namespace
}  // namespace tensor_of_shape_cpp

OpDef tensor_of_shape() {
  using namespace tensor_of_shape_cpp;
  return define<NoAttrs>({.name = "tensor_of_shape",
                          .doc = "A bool tensor filled with False, whose shape is computed at run time.",
                          .inputs = {{"shape", "(rank,) int64: the sizes"}},
                          .fusion = Fusion::Opaque,
                          .infer = infer,
                          .compute =
                              [](const NoAttrs&, const te::Tensors&, const Type& out) {
                                return te::Tensors{te::compute("tensor_of_shape", shape_of(out),
                                                               [](const Exprs&) { return imm(0, DType::boolean()); })};
                              },
                          .shape = [](const NoAttrs&, const te::Tensors& in) { return in[0]; },
                          .by_executor = true,
                          .is_extension = true,
                          .oracle = "np.zeros([int(n) for n in shape], bool)",
                          .examples = {{.inputs = {"(2,) int64"}, .low = 0, .high = 4, .ulps = 0}},
                          .rejects = {{{"(2, 2) int64"}, "", "C1"}, {{"(2,)"}, "", "C1"}, {{"(n,) int64"}, "", "C2"}}});
}

}  // namespace relay::ops
