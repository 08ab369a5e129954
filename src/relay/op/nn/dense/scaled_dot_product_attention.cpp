// nn.scaled_dot_product_attention: softmax(query key' * scale + mask) value, for each head
//
// The input is a tuple: query (B, H, L, E), key (B, G, S, E), value (B, G, S, F), or all without the axis of heads;
// with `masked` followed by a mask, with `cached` by past_key (B, G, P, E) and past_value (B, G, P, F) at the end. Each
// head of keys and values is shared by H / G consecutive heads of queries. Keys and values of earlier calls precede the
// new ones; the result then is a tuple: (out, key, value), the latter two with the earlier ones.
//
// A mask broadcasts to (B, H, L, P + S): bools are true for keys that a query sees, floats are added to the scores.
// With is_causal query i sees the first P + i + 1 keys. The result of a query that sees no key is zero.
//
// Compiled as its definition, whose products and softmax are blocked by lowering (lower/algorithms/attention).
#include <cmath>
#include <limits>

#include "relay/op/composite.h"

namespace relay::ops {
namespace scaled_dot_product_attention_cpp {
namespace {

struct AttentionAttrs {
  bool masked = false, cached = false, is_causal = false;
  OptFloat scale;
  static constexpr auto fields = std::tuple{
      field("masked", &AttentionAttrs::masked, "True if a mask follows query, key and value."),
      field("cached", &AttentionAttrs::cached, "True if past_key and past_value follow."),
      field("is_causal", &AttentionAttrs::is_causal, "True if queries ignore keys after their own position."),
      field("scale", &AttentionAttrs::scale, "Factor of the scores; None: 1 / sqrt(E).")};
};

using Tensors = std::vector<const TensorType*>;

// (C3) Key and value have as many keys, query and key rows of one width; caches differ from them in length only.
Status expect_rows(const AttentionAttrs& a, const Tensors& in) {
  const size_t last = in[0]->shape.size() - 1, row = last - 1;
  auto differ = [](const char* first, const TensorType* x, const char* second, const TensorType* y) {
    return constraint("C3", "{} {} and {} {} do not belong together", first, text(x->shape), second, text(y->shape));
  };
  if (!agree(in[0]->shape[last], in[1]->shape[last])) return differ("query", in[0], "key", in[1]);
  if (!agree(in[1]->shape[row], in[2]->shape[row])) return differ("key", in[1], "value", in[2]);
  if (!a.cached) return ok();
  const TensorType *past_key = in[in.size() - 2], *past_value = in.back();
  auto alike = [row](const TensorType* x, const TensorType* y) {
    for (size_t d = 0; d < x->shape.size(); ++d)
      if (d != row && !agree(x->shape[d], y->shape[d])) return false;
    return true;
  };
  if (!alike(past_key, in[1])) return differ("past_key", past_key, "key", in[1]);
  if (!alike(past_value, in[2])) return differ("past_value", past_value, "value", in[2]);
  if (!agree(past_key->shape[row], past_value->shape[row]))
    return differ("past_key", past_key, "past_value", past_value);
  return ok();
}

Dim keys_of(const AttentionAttrs& a, const Tensors& in) {
  const size_t row = in[0]->shape.size() - 2;
  return a.cached ? scalar::simplify(in.back()->shape[row] + in[1]->shape[row]) : in[1]->shape[row];
}

Result<Type> infer(const AttentionAttrs& a, const Types& types) {
  RELAY_ASSIGN(Tensors in, tuple_input(types, 0, "inputs"));
  // (C1) There are as many tensors as the attributes require, of one float type; a mask may be bool.
  const size_t wanted = 3 + (a.masked ? 1 : 0) + (a.cached ? 2 : 0);
  if (in.size() != wanted)
    return constraint("C1", "with masked={} and cached={} there are {} inputs, not {}", a.masked, a.cached, wanted,
                      in.size());
  for (size_t k = 0; k < in.size(); ++k)
    if (in[k]->dtype != in[0]->dtype && !(a.masked && k == 3 && in[k]->dtype.is_bool()))
      return constraint("C1", "input {} is {}, but query is {}", k, in[k]->dtype.str(), in[0]->dtype.str());
  if (!in[0]->dtype.is_float()) return constraint("C1", "query must be floats, but is {}", in[0]->dtype.str());
  // (C2) All except the mask have three axes, or four; batches are equal, and heads of keys divide those of queries.
  const size_t axes = in[0]->shape.size();
  for (size_t k = 0; k < in.size(); ++k) {
    if (a.masked && k == 3) continue;
    const Dims& shape = in[k]->shape;
    if ((axes != 3 && axes != 4) || shape.size() != axes || !agree(shape[0], in[0]->shape[0]))
      return constraint("C2", "input {} is {}, but query is {}", k, text(shape), text(in[0]->shape));
    if (axes == 3 || k == 0) continue;  // agree() records a condition: queries need not be as many as keys
    const bool divide =
        agree(shape[1], in[0]->shape[1]) ||
        (scalar::is_int(shape[1]) && scalar::is_int(in[0]->shape[1]) && divides(shape[1], in[0]->shape[1]));
    if (!divide || !agree(shape[1], in[1]->shape[1]))
      return constraint("C2", "the heads of input {}, {}, do not divide those of query {}", k, text(shape),
                        text(in[0]->shape));
  }
  if (!a.scale && !scalar::is_int(in[0]->shape.back()))
    return constraint("C2", "the width of query {} is not a number: give scale", text(in[0]->shape));
  RELAY_RETURN_IF_ERROR(expect_rows(a, in));
  // (C4) The mask broadcasts to the scores.
  Dims scores = in[0]->shape;
  scores.back() = keys_of(a, in);
  if (a.masked) {
    RELAY_ASSIGN(Dims all, broadcast_shape("C4", scores, in[3]->shape));
    if (!agree(all, scores))
      return constraint("C4", "mask {} does not broadcast to scores {}", text(in[3]->shape), text(scores));
  }
  Dims out = in[0]->shape;
  out.back() = in[2]->shape.back();
  const Type result = ir::tensor_type(std::move(out), in[0]->dtype);
  if (!a.cached) return result;
  Types all = {result};
  for (size_t k : {1, 2}) {
    Dims longer = in[k]->shape;
    longer[axes - 2] = keys_of(a, in);
    all.push_back(ir::tensor_type(std::move(longer), in[k]->dtype));
  }
  return ir::tuple_type(std::move(all));
}

// The number of earlier keys, a scalar.
ir::Expr length_of(const ir::Expr& past) {
  const size_t row = grad::tensor(past).shape.size() - 2;
  const Dim& extent = grad::tensor(past).shape[row];
  if (scalar::is_int(extent)) return ir::constant(Tensor::scalar(static_cast<double>(extent->ivalue), DType::int32()));
  const ir::Expr shape = grad::call("shape_of", {past}, {{"dtype", DType::int32()}});
  const ir::Expr place = ir::constant(Tensor::scalar(static_cast<double>(row), DType::int32()));
  return grad::call("take", {shape, place}, {{"axis", int64_t{0}}});
}

ir::Expr definition(const AttentionAttrs& a, const ir::Exprs& in) {
  const ir::Expr& all = in[0];
  ir::Expr query = field_of(all, 0), key = field_of(all, 1), value = field_of(all, 2);
  const int64_t axes = grad::rank(query);
  const size_t past = a.masked ? 4 : 3;
  auto behind = [&](size_t earlier, const ir::Expr& now) {
    const ir::Expr before = field_of(all, earlier), both = ir::tuple({before, now});
    both->type = ir::tuple_type({before->type, now->type});
    return typed(grad::call("concatenate", {both}, {{"axis", axes - 2}}));
  };
  if (a.cached) key = behind(past, key), value = behind(past + 1, value);
  // Scores of halves may be far larger than halves: they, and the sums, are float32.
  const DType given = grad::tensor(query).dtype, wide = accumulator(given);
  auto widened = [wide](const ir::Expr& e) {
    const DType dtype = grad::tensor(e).dtype;
    return dtype == wide || dtype.is_bool() ? e : typed(grad::call("cast", {e}, {{"dtype", wide}}));
  };
  const ir::Expr all_keys = key, all_values = value;
  query = widened(query), key = widened(key), value = widened(value);
  const Dims &queries = grad::tensor(query).shape, &keys = grad::tensor(key).shape;
  auto for_all_heads = [&](const ir::Expr& e) {
    if (axes == 3 || !scalar::is_int(keys[1]) || !scalar::is_int(queries[1])) return e;
    const int64_t times = queries[1]->ivalue / std::max<int64_t>(keys[1]->ivalue, 1);
    return times <= 1 ? e : grad::call("repeat", {e}, {{"repeats", times}, {"axis", int64_t{1}}});
  };
  auto product = [&](const char* flat, const char* by_heads, const ir::Expr& x, const ir::Expr& y) {
    return grad::call("einsum", {ir::tuple({x, y})}, {{"equation", std::string(axes == 3 ? flat : by_heads)}});
  };
  const Dim& width = queries.back();
  const double usual =
      scalar::is_int(width) && width->ivalue > 0 ? 1 / std::sqrt(static_cast<double>(width->ivalue)) : 1;
  const ir::Expr scaled = grad::times(query, grad::number(a.scale.value_or(usual), query));
  ir::Expr scores = product("ble,bse->bls", "bhle,bhse->bhls", scaled, for_all_heads(key));
  Dims shape = queries;
  shape.back() = keys[keys.size() - 2];
  const ir::Expr never = grad::number(-std::numeric_limits<double>::infinity(), query);

  ir::Expr seen;  // bools that broadcast to the scores; null for all keys
  if (a.masked) {
    const ir::Expr mask = widened(field_of(all, 3));
    const bool logical = grad::tensor(mask).dtype.is_bool();
    seen = logical ? mask : grad::call("greater", {mask, never});
    scores = logical ? grad::call("where", {mask, scores, never}) : grad::plus(scores, mask);
  }
  if (a.is_causal) {
    ir::Expr place = ir::constant(Tensor::scalar(0, DType::int32()));
    if (a.cached) place = length_of(field_of(all, past));
    const Dims square(shape.end() - 2, shape.end());
    const ir::Expr ones = grad::call("ones", {}, {{"shape", square}, {"dtype", DType::int32()}});
    const ir::Expr lower = grad::call("trilu", {ones, place}, {{"upper", false}});
    const ir::Expr before = grad::call("cast", {lower}, {{"dtype", DType::boolean()}});
    scores = grad::call("where", {before, scores, never});
    if (seen) seen = grad::call("logical_and", {seen, before});
  }
  ir::Expr out = product("bls,bsf->blf", "bhls,bhsf->bhlf", grad::call("nn.softmax", {scores}, {{"axis", int64_t{-1}}}),
                         for_all_heads(value));
  if (seen) {
    const ir::Expr any = grad::call("any", {seen}, {{"axis", Ints{-1}}, {"keepdims", true}});
    out = grad::call("where", {any, out, grad::number(0, query)});
  }
  if (wide != given) out = grad::call("cast", {out}, {{"dtype", given}});
  return a.cached ? ir::tuple({out, all_keys, all_values}) : out;
}

std::vector<Example> examples() {
  const char *q = "(2, 4, 5, 8)", *k = "(2, 4, 7, 8)", *v = "(2, 4, 7, 6)";
  auto tuple = [](std::vector<std::string> parts) {
    return std::vector<std::string>{format("[{}]", join(parts, ", "))};
  };
  return {
      {.inputs = tuple({q, k, v}), .symbolic = tuple({"(b, 4, n, 8)", "(b, 4, m, 8)", "(b, 4, m, 6)"}), .ulps = 16},
      {.inputs = tuple({"(3, 5, 8)", "(3, 7, 8)", "(3, 7, 8)"}),
       .attrs = "is_causal=True, scale=0.5f",
       .symbolic = tuple({"(b, n, 8)", "(b, m, 8)", "(b, m, 8)"}),
       .ulps = 16},
      {.inputs = tuple({q, "(2, 2, 7, 8)", "(2, 2, 7, 6)", "(5, 7) bool"}),
       .attrs = "masked=True",
       .symbolic = tuple({"(b, 4, n, 8)", "(b, 2, m, 8)", "(b, 2, m, 6)", "(n, m) bool"}),
       .ranges = {{-1, 1}, {-1, 1}, {-1, 1}, {0, 1}},
       .ulps = 16},
      {.inputs = tuple({q, k, v, "(2, 1, 1, 7)"}), .attrs = "masked=True, is_causal=True", .ulps = 16},
      {.inputs = tuple({"(2, 4, 3, 8)", "(2, 1, 3, 8)", "(2, 1, 3, 8)", "(2, 1, 4, 8)", "(2, 1, 4, 8)"}),
       .attrs = "cached=True, is_causal=True",
       .symbolic = tuple({"(b, 4, n, 8)", "(b, 1, n, 8)", "(b, 1, n, 8)", "(b, 1, p, 8)", "(b, 1, p, 8)"}),
       .ulps = 16},
      {.inputs = tuple({"(1, 8, 128, 64)", "(1, 8, 128, 64)", "(1, 8, 128, 64)"}), .bench = true},
  };
}

}  // namespace
}  // namespace scaled_dot_product_attention_cpp

OpDef nn_scaled_dot_product_attention() {
  using namespace scaled_dot_product_attention_cpp;
  return define<AttentionAttrs>(
      {.name = "nn.scaled_dot_product_attention",
       .doc = "Attention: sums of values, weighted by a softmax of the products of queries and keys.",
       .inputs = {{.name = "inputs",
                   .doc = "query (B, H, L, E), key (B, G, S, E), value (B, G, S, F), then mask, past_key, past_value",
                   .is_tuple = true}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = by_definition<AttentionAttrs>(definition, true),
       .definition = definition,
       .composite = true,
       .is_extension = true,
       .oracle = "attention(inputs, masked, cached, is_causal, scale)",
       // Kernels round exponentials, and sums over width and keys, in another order.
       .examples = examples(),
       .rejects = {{{"[(2, 5, 8), (2, 7, 8)]"}, "", "C1"},
                   {{"[(2, 5, 8), (2, 7, 8), (2, 7, 8) float64]"}, "", "C1"},
                   {{"[(5, 8), (7, 8), (7, 8)]"}, "", "C2"},
                   {{"[(2, 4, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8)]"}, "", "C2"},
                   {{"[(2, 5, 8), (2, 7, 6), (2, 7, 8)]"}, "", "C3"},
                   {{"[(2, 5, 8), (2, 7, 8), (2, 6, 8)]"}, "", "C3"},
                   {{"[(2, 5, 8), (2, 7, 8), (2, 7, 8), (6, 7)]"}, "masked=True", "C4"}}},
      "ScaledDotProductAttentionAttrs");
}

}  // namespace relay::ops
