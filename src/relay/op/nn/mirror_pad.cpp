// nn.mirror_pad: out[i] = data[i - before] inside of data, and outside of it data mirrored: with "REFLECT" at its first
// and last element, with "SYMMETRIC" at its borders, so that these elements occur twice
#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace mirror_pad_cpp {
namespace {

struct MirrorPadAttrs {
  std::string mode = "SYMMETRIC";
  IntLists pad_width;
  static constexpr auto fields =
      std::tuple{field("mode", &MirrorPadAttrs::mode, "\"SYMMETRIC\" or \"REFLECT\"."),
                 required_field("pad_width", &MirrorPadAttrs::pad_width, "Elements added before and after each axis.")};
};

Result<Type> infer(const MirrorPadAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The mode is one of two.
  if (a.mode != "SYMMETRIC" && a.mode != "REFLECT")
    return constraint("C1", "mode must be \"SYMMETRIC\" or \"REFLECT\", but is \"{}\"", a.mode);
  // (C2) pad_width is a pair for each axis, not negative.
  constexpr int64_t most = int64_t{1} << 40;
  bool pairs = std::all_of(a.pad_width.begin(), a.pad_width.end(), [](const Ints& p) {
    return p.size() == 2 && std::min(p[0], p[1]) >= 0 && std::max(p[0], p[1]) <= most;
  });
  if (!pairs || static_cast<int64_t>(a.pad_width.size()) != rank(data))
    return constraint("C2", "pad_width must be {} pairs of numbers from 0 to 2^40, one for each axis of data {}",
                      rank(data), text(data->shape));
  Dims out;
  for (size_t d = 0; d < data->shape.size(); ++d) {
    // (C3) Data has enough elements to mirror.
    int64_t least = std::max(a.pad_width[d][0], a.pad_width[d][1]);
    if (least > 0 && !at_least(data->shape[d], dim(least + (a.mode == "REFLECT" ? 1 : 0))))
      return constraint("C3", "axis {} of data {} is too short to mirror {} elements", d, text(data->shape), least);
    out.push_back(data->shape[d] + a.pad_width[d][0] + a.pad_width[d][1]);
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute(const MirrorPadAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const int64_t twice = a.mode == "SYMMETRIC" ? 1 : 0;
  return {te::compute("mirror_pad", shape_of(out), [&](Exprs i) {
    for (size_t d = 0; d < i.size(); ++d) {
      if (a.pad_width[d][0] == 0 && a.pad_width[d][1] == 0) continue;
      Expr at = i[d] - a.pad_width[d][0], last = data->shape[d] - 1;
      at = select(lt(at, dim(0)), dim(-twice) - at, at);
      at = select(lt(last, at), last * 2 + twice - at, at);
      i[d] = min(max(at, dim(0)), last);
    }
    return (*data)(i);
  })};
}

ir::Exprs gradient(const MirrorPadAttrs& a, const Adjoint& of) {
  const ir::Expr& data = of.inputs[0];
  const ir::Expr sources =
      grad::call("nn.mirror_pad", {grad::element_numbers(data)}, {{"mode", a.mode}, {"pad_width", a.pad_width}});
  return {grad::scattered(of.gradient, sources, data)};
}

}  // namespace
}  // namespace mirror_pad_cpp

OpDef nn_mirror_pad() {
  using namespace mirror_pad_cpp;
  return define<MirrorPadAttrs>(
      {.name = "nn.mirror_pad",
       .doc = "Pads a tensor with its mirrored elements.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "torch.as_tensor(np.pad(data.numpy(), pad_width, mode.lower()))",
       .examples = {{.inputs = {"(3, 4)"}, .attrs = "pad_width=[[3, 2], [0, 3]]", .symbolic = {"(n, m)"}},
                    {.inputs = {"(2, 5, 4)"},
                     .attrs = "pad_width=[[0, 0], [2, 1], [1, 3]], mode=\"REFLECT\"",
                     .symbolic = {"(n, h, 4)"}},
                    {.inputs = {"(3,) int32"}, .attrs = "pad_width=[[0, 0]]", .low = -9, .high = 9, .ulps = 0}},
       .rejects = {{{"(3, 4)"}, "pad_width=[[1, 1], [1, 1]], mode=\"EDGE\"", "C1"},
                   {{"(3, 4)"}, "pad_width=[[1, 1]]", "C2"},
                   {{"(3, 4)"}, "pad_width=[[-1, 1], [0, 0]]", "C2"},
                   {{"(3, 4)"}, "pad_width=[[3, 0], [0, 0]], mode=\"REFLECT\"", "C3"},
                   {{"(3, 4)"}, "pad_width=[[4, 0], [0, 0]]", "C3"}}},
      "MirrorPadAttrs");
}

}  // namespace relay::ops
