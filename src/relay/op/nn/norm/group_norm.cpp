// nn.group_norm: out = (data - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and variance over the
// channels of a group and all axes but the first
#include "relay/op/composite.h"
#include "relay/op/nn/norm/normalize.h"

namespace relay::ops {
namespace group_norm_cpp {
namespace {

struct GroupNormAttrs : nn::NormAttrs {
  int64_t num_groups = 0;
  static constexpr auto fields = std::tuple_cat(
      std::tuple{required_field("num_groups", &GroupNormAttrs::num_groups, "Number of groups of channels.")},
      nn::norm_fields("The axis of the channels."));
};

Result<Type> infer(const GroupNormAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(nn::check_normalization(in, a.axis));  // (C1) (C2) (C3)
  const TensorType* data = as<TensorType>(in[0]);
  const int64_t axis = positive_axis(a.axis, rank(data));
  // (C4) The channels are not the batch.
  if (axis == 0) return constraint("C4", "axis 0 is the batch; the channels must be another axis");
  // (C5) The groups divide the channels.
  const Dim& channels = data->shape[static_cast<size_t>(axis)];
  if (a.num_groups < 1 || !divides(dim(a.num_groups), channels))
    return constraint("C5", "num_groups {} must be positive and divide the {} channels of data {}", a.num_groups,
                      scalar::str(channels), text(data->shape));
  return in[0];
}

te::Tensors compute(const GroupNormAttrs& a, const te::Tensors& in, const Type& out) {
  // Data with the axis of channels split into groups and channels per group.
  Exprs split = in[0]->shape;
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(split.size())));
  const Expr size = scalar::simplify(floordiv(split[axis], a.num_groups));
  split[axis] = dim(a.num_groups);
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, size);
  Ints axes;
  for (size_t d = 1; d < split.size(); ++d)
    if (d != axis) axes.push_back(static_cast<int64_t>(d));
  te::Tensor grouped = te::compute("grouped", split, [&](Exprs i) {
    i[axis] = i[axis] * size + i[axis + 1];
    i.erase(i.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    return (*in[0])(i);
  });
  auto scale_at = [&](const Exprs& i) { return Exprs{i[axis] * size + i[axis + 1]}; };
  te::Tensor t = nn::normalized("normalized", grouped, axes, a.epsilon, a.scale ? in[1] : te::Tensor(),
                                a.center ? in[2] : te::Tensor(), scale_at);
  return {te::compute("group_norm", shape_of(out), [&](Exprs i) {
    const Expr c = i[axis];
    i[axis] = floordiv(c, size);
    i.insert(i.begin() + static_cast<std::ptrdiff_t>(axis) + 1, floormod(c, size));
    return (*t)(i);
  })};
}

// Normalised with the channels split into groups, then scaled and shifted.
ir::Expr definition(const GroupNormAttrs& a, const ir::Exprs& in) {
  const int64_t rank = grad::rank(in[0]), axis = positive_axis(a.axis, rank);
  Ints axes, split;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis)
      split.insert(split.end(), {-4, a.num_groups, -1});
    else
      split.push_back(0);
  }
  for (int64_t d = 1; d <= rank; ++d)
    if (d != axis) axes.push_back(d);
  const ir::Expr grouped = grad::call("reshape", {in[0]}, {{"newshape", split}}),
                 normal = nn::normalization(grouped, axes, grad::number(a.epsilon, in[0]), nullptr, nullptr);
  ir::Expr out = grad::shaped_as(normal, in[0]);
  if (a.scale) out = grad::times(std::move(out), grad::along(in[1], axis, rank));
  return a.center ? grad::plus(std::move(out), grad::along(in[2], axis, rank)) : out;
}

}  // namespace
}  // namespace group_norm_cpp

OpDef nn_group_norm() {
  using namespace group_norm_cpp;
  return define<GroupNormAttrs>(
      {.name = "nn.group_norm",
       .doc = "Normalises each group of channels of each batch element, then scales and shifts each channel.",
       .inputs = {{"data", "(N, .., C, ..)"}, {"gamma", "(C,)"}, {"beta", "(C,)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete = [](const GroupNormAttrs& a, Types in) { return with_vectors(std::move(in), a.axis); },
       .compute = compute,
       .definition = exactly<GroupNormAttrs>(definition),
       .oracle = "F.group_norm(data.movedim(axis, 1), num_groups, gamma if scale else None, beta if center else None, "
                 "epsilon).movedim(1, axis)",
       .examples = {{.inputs = {"(2, 6, 4, 5)", "(6,)", "(6,)"},
                     .attrs = "num_groups=3",
                     .symbolic = {"(n, 6, h, w)", "(6,)", "(6,)"}},
                    {.inputs = {"(2, 4, 5, 6)", "(6,)", "(6,)"}, .attrs = "num_groups=2, axis=-1"},
                    {.inputs = {"(3, 8)", "(8,)", "(8,)"}, .attrs = "num_groups=1, scale=False, center=False"},
                    {.inputs = {"(1, 320, 64, 64)", "(320,)", "(320,)"}, .attrs = "num_groups=32", .bench = true}},
       .rejects = {{{"(2, 3)", "(3,)", "(3,)"}, "num_groups=1, axis=2", "C1"},
                   {{"(2, 3) int32", "(3,) int32", "(3,) int32"}, "num_groups=1", "C2"},
                   {{"(2, 3, 4)", "(2,)", "(3,)"}, "num_groups=1", "C3"},
                   {{"(2, 3, 4)", "(2,)", "(2,)"}, "num_groups=1, axis=0", "C4"},
                   {{"(2, 3, 4)", "(3,)", "(3,)"}, "num_groups=2", "C5"},
                   {{"(2, 3, 4)", "(3,)", "(3,)"}, "num_groups=0", "C5"}}},
      "GroupNormAttrs");
}

}  // namespace relay::ops
