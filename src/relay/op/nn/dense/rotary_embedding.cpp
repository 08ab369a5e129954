// nn.rotary_embedding: rotates pairs of elements along the last axis by angles given as cosine and sine
//   out[.., a] = data[.., a] * cos[.., j] - data[.., b] * sin[.., j]
//   out[.., b] = data[.., b] * cos[.., j] + data[.., a] * sin[.., j]
// with (a, b) = (j, j + R / 2), or (2 * j, 2 * j + 1) if interleaved, for j < R / 2; elements from R on are unchanged.
//
// Su et al., RoFormer, 2021. cos and sin have R / 2 as their last axis, and broadcast with data on the others.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace rotary_embedding_cpp {
namespace {

struct RotaryEmbeddingAttrs {
  bool interleaved = false;
  static constexpr auto fields = std::tuple{
      field("interleaved", &RotaryEmbeddingAttrs::interleaved, "True if the elements of a pair are adjacent.")};
};

Result<Type> infer(const RotaryEmbeddingAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* cos, tensor_input(in, 1, "cos"));
  RELAY_ASSIGN(const TensorType* sin, tensor_input(in, 2, "sin"));
  // (C1) All are floats of one type.
  if (!data->dtype.is_float())
    return constraint("C1", "nn.rotary_embedding needs floats, but data is {}", data->dtype.str());
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", data, "data", cos, "cos"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", data, "data", sin, "sin"));
  // (C2) cos and sin have one shape, whose last extent is a number.
  if (cos->shape.empty() || !agree(cos->shape, sin->shape) || !scalar::is_int(cos->shape.back()))
    return constraint("C2", "cos {} and sin {} should have one shape with a fixed last extent", text(cos->shape),
                      text(sin->shape));
  // (C3) Data has the pairs along its last axis.
  if (data->shape.empty() || !at_least(data->shape.back(), cos->shape.back() * 2))
    return constraint("C3", "the last axis of data {} should have two elements for each of cos {}", text(data->shape),
                      text(cos->shape));
  // (C4) Their other axes broadcast to those of data.
  const Dims own(data->shape.begin(), data->shape.end() - 1);
  RELAY_ASSIGN(Dims all, broadcast_shape("C4", own, Dims(cos->shape.begin(), cos->shape.end() - 1)));
  if (!agree(all, own))
    return constraint("C4", "cos {} does not broadcast to data {}", text(cos->shape), text(data->shape));
  return in[0];
}

te::Tensors compute(const RotaryEmbeddingAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &cosine = in[1], &sine = in[2];
  const DType wide = accumulator(data->dtype);
  const int64_t half = cosine->shape.back()->ivalue;
  return {elementwise("rotary_embedding", data, [&](const Exprs& i) {
    const Expr& k = i.back();
    auto read = [&](const te::Tensor& t, const Expr& last) {
      Exprs at(i.begin(), i.end() - 1);
      if (t.get() != data.get()) {
        at.erase(at.begin(), at.end() - static_cast<std::ptrdiff_t>(t->shape.size() - 1));
        for (size_t d = 0; d < at.size(); ++d)
          if (scalar::is_int(t->shape[d], 1)) at[d] = dim(0);
      }
      at.push_back(last);
      return cast(wide, (*t)(at));
    };
    // j: the index of the pair; the other element of it; true if this is the first.
    const Expr j = a.interleaved ? floordiv(k, 2) : floormod(k, std::max<int64_t>(half, 1));
    const Expr first = a.interleaved ? eq(floormod(k, 2), dim(0)) : lt(k, dim(half));
    const Expr other = a.interleaved ? select(first, k + 1, k - 1) : select(first, k + half, k - half);
    const Expr rotated = read(data, other) * read(sine, j), kept = read(data, k) * read(cosine, j);
    const Expr value = cast(data->dtype, select(first, kept - rotated, kept + rotated));
    return half == 0 ? (*data)(i) : select(lt(k, dim(2 * half)), value, (*data)(i));
  })};
}

ir::Expr definition(const RotaryEmbeddingAttrs& a, const ir::Exprs& in) {
  const int64_t half = grad::tensor(in[1]).shape.back()->ivalue, last = grad::rank(in[0]) - 1;
  if (half == 0) return grad::call("copy", {in[0]});
  auto part = [&](int64_t begin, int64_t end, int64_t step) {
    return grad::call("strided_slice", {in[0]},
                      {{"begin", Ints{begin}}, {"end", Ints{end}}, {"strides", Ints{step}}, {"axes", Ints{last}}});
  };
  const int64_t from = a.interleaved ? 1 : half, step = a.interleaved ? 2 : 1;
  const ir::Expr x = part(0, a.interleaved ? 2 * half : half, step), y = part(from, 2 * half, step);
  ir::Exprs parts = {grad::minus(grad::times(x, in[1]), grad::times(y, in[2])),
                     grad::plus(grad::times(y, in[1]), grad::times(x, in[2]))};
  if (a.interleaved) {  // one after the other, then the pairs of the last two axes merged
    const ir::Expr pairs = grad::call("stack", {ir::tuple(parts)}, {{"axis", last + 1}});
    Ints merged(static_cast<size_t>(last), 0);
    merged.push_back(-3);
    parts = {grad::call("reshape", {pairs}, {{"newshape", merged}})};
  }
  const Dim& width = grad::tensor(in[0]).shape.back();
  if (!scalar::is_int(width, 2 * half)) parts.push_back(part(2 * half, INT32_MAX, 1));
  return parts.size() == 1 ? parts[0] : grad::call("concatenate", {ir::tuple(parts)}, {{"axis", last}});
}

}  // namespace
}  // namespace rotary_embedding_cpp

OpDef nn_rotary_embedding() {
  using namespace rotary_embedding_cpp;
  return define<RotaryEmbeddingAttrs>(
      {.name = "nn.rotary_embedding",
       .doc = "Rotates pairs of elements along the last axis by given angles.",
       .inputs = {{"data", "(.., S), where S is at least R"},
                  {"cos", "(.., R / 2), broadcast with data"},
                  {"sin", "the shape of cos"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .is_extension = true,
       .oracle = "rotary_embedding(data, cos, sin, interleaved)",
       .examples = {{.inputs = {"(2, 3, 5, 8)", "(5, 4)", "(5, 4)"}, .symbolic = {"(b, 3, n, 8)", "(n, 4)", "(n, 4)"}},
                    {.inputs = {"(2, 3, 5, 8)", "(2, 1, 5, 3)", "(2, 1, 5, 3)"},
                     .attrs = "interleaved=True",
                     .symbolic = {"(b, h, n, 8)", "(b, 1, n, 3)", "(b, 1, n, 3)"}},
                    {.inputs = {"(1, 32, 128, 64)", "(128, 32)", "(128, 32)"}, .bench = true}},
       .rejects = {{{"(5, 8) int32", "(5, 4) int32", "(5, 4) int32"}, "", "C1"},
                   {{"(5, 8)", "(5, 4)", "(5, 4) float64"}, "", "C1"},
                   {{"(5, 8)", "(5, 4)", "(5, 3)"}, "", "C2"},
                   {{"(5, 8)", "(5, 5)", "(5, 5)"}, "", "C3"},
                   {{"(5, 8)", "(4, 4)", "(4, 4)"}, "", "C4"},
                   {{"(1, 8)", "(5, 4)", "(5, 4)"}, "", "C4"}}},
      "RotaryEmbeddingAttrs");
}

}  // namespace relay::ops
