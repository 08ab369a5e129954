// annotation.bounded: out = data, whose extent along an axis is in a range. For varying sizes it is an entry check, so
// that an importer can state the sizes for which a program was made.
#include "relay/op/common.h"

namespace relay::ops {
namespace bounded_cpp {
namespace {

struct BoundedAttrs {
  int64_t axis = 0, least = 0;
  OptInt most;
  static constexpr auto fields = std::tuple{required_field("axis", &BoundedAttrs::axis, "The axis."),
                                            field("least", &BoundedAttrs::least, "Minimum extent."),
                                            field("most", &BoundedAttrs::most, "Maximum extent; None: no limit.")};
};

Result<Type> infer(const BoundedAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) Its extent is in the range.
  const Dim& extent = data->shape[static_cast<size_t>(axis)];
  if (!at_least(extent, dim(a.least)) || (a.most && !at_least(dim(*a.most), extent)))
    return constraint("C2", "the extent {} of axis {} must be {}", scalar::str(extent), axis,
                      a.most ? format("from {} to {}", a.least, *a.most) : format("at least {}", a.least));
  return in[0];
}

te::Tensors compute(const BoundedAttrs&, const te::Tensors& in, const Type&) {
  return {elementwise("bounded", in[0], [&](const Exprs& i) { return (*in[0])(i); })};
}

}  // namespace
}  // namespace bounded_cpp

OpDef annotation_bounded() {
  using namespace bounded_cpp;
  return define<BoundedAttrs>(
      {.name = "annotation.bounded",
       .doc = "The same values. The extent along an axis must be in a range.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = [](const BoundedAttrs&, const Adjoint& of) -> ir::Exprs { return {of.gradient}; },
       .is_extension = true,
       .oracle = "data",
       .examples = {{.inputs = {"(3, 5)"}, .attrs = "axis=0, least=2, most=8", .symbolic = {"(n, 5)"}, .ulps = 0},
                    {.inputs = {"(3, 5) int32"}, .attrs = "axis=-1", .ulps = 0}},
       .rejects = {
           {{"(2, 3)"}, "axis=2", "C1"}, {{"(2, 3)"}, "axis=0, least=3", "C2"}, {{"(2, 3)"}, "axis=1, most=2", "C2"}}});
}

}  // namespace relay::ops
