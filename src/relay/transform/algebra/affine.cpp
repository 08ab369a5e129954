// The rules, one per operator; the table is at the end. A rule returns nothing if it cannot compute the call, which is
// then left in floats.
#include "relay/transform/algebra/affine.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "relay/ir/rewrite.h"
#include "relay/transform/algebra/integer_sums.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

using namespace ir;

namespace {

using Maybe = std::optional<Quantized>;

int64_t rank_of(const Expr& e) {
  const TensorType* t = as<TensorType>(e->type);
  return t ? static_cast<int64_t>(t->shape.size()) : 0;
}
const TensorType& tensor_of(const Expr& e) { return *as<TensorType>(e->type); }

// Zero points, all 0, as many as there are scales.
Expr zeros_for(const Expr& scale) {
  const TensorType& type = *as<TensorType>(scale->type);
  if (type.shape.empty()) return typed_scalar(0, DType::int32());
  if (!scalar::is_int(type.shape[0]))
    return typed_call("cast", {typed_call("zeros_like", {scale}, {}, scale->span)}, {{"dtype", DType::int32()}},
                      scale->span);
  Expr zeros = constant(Tensor::full({type.shape[0]->ivalue}, DType::int32(), 0), scale->span);
  zeros->type = tensor_type(type.shape, DType::int32());
  return zeros;
}

Expr cast_to(const Expr& e, DType dtype) {
  return tensor_of(e).dtype == dtype ? e : typed_call("cast", {e}, {{"dtype", dtype}}, e->span);
}

op::AttrValues values_of(const Call& call) {
  op::AttrValues out;
  for (size_t i = 0; call.attrs && i < call.attrs->type.fields.size(); ++i)
    out.push_back({call.attrs->type.fields[i].name, call.attrs->get(i)});
  return out;
}

// A call of another operator with those of these attributes that it has; null if it does not accept them.
Expr try_named(std::string_view name, Exprs args, const op::AttrValues& attrs, const Span& span) {
  const op::OpDef& def = *op::find(name);
  op::AttrValues known;
  for (const auto& value : attrs)
    if (def.attrs_type && def.attrs_type->find(value.first) >= 0) known.push_back(value);
  Result<Attrs> made = op::attributes(def, known);
  return made ? try_call(op::node(def), std::move(args), known.empty() ? Attrs() : *made, span) : nullptr;
}

Maybe of(Expr value, Affine affine) {
  if (!value) return std::nullopt;
  affine.dtype = tensor_of(value).dtype;
  return Quantized{std::move(value), {std::move(affine)}};
}

bool is_quantised_once(const Quantized* q) { return q && q->affine.size() == 1 && q->affine[0]; }
bool is_single(const Quantized* q) { return is_quantised_once(q) && q->one().is_single(); }

// A constant of floats, quantised.
Expr quantised_constant(const Expr& e, const Affine& to, int64_t axis) {
  return typed_call("qnn.quantize", {e, to.scale, to.zero_point}, {{"out_dtype", to.dtype}, {"axis", axis}}, e->span);
}

// The value of a scalar constant.
std::optional<double> number_of(const Expr& e) {
  const Constant* c = as<Constant>(e);
  return c && c->value.elements() == 1 ? std::optional(c->value.at(0)) : std::nullopt;
}

std::pair<double, double> range_of(DType dtype) {
  const double whole = std::ldexp(1.0, dtype.bits), half = whole / 2;
  return dtype.code == DType::Code::UInt ? std::pair(0.0, whole - 1) : std::pair(-half, half - 1);
}

// --- operators that move values, or choose among them ----------------------------------------------------------------
Maybe same_values(const FloatCall& f) {
  if (!is_single(f.args[0])) return std::nullopt;
  Exprs args = f.call.args;
  args[0] = f.args[0]->value;
  return of(try_call(f.call.callee, std::move(args), f.call.attrs, f.call.span), f.args[0]->one());
}

// A weight may have a scale for each output, also if it is transposed.
Maybe transpose(const FloatCall& f) {
  if (!f.exact || !is_quantised_once(f.args[0]) || is_single(f.args[0])) return same_values(f);
  Affine a = f.args[0]->one();
  const Ints axes = attribute<OptInts>(f.call, "axes", std::nullopt).value_or(Ints());
  const int64_t rank = rank_of(f.args[0]->value);
  int64_t to = rank - 1 - a.axis;  // all axes are reversed by default
  for (size_t k = 0; k < axes.size(); ++k)
    if ((axes[k] + rank) % rank == a.axis) to = static_cast<int64_t>(k);
  a.axis = to;
  return of(try_call(f.call.callee, {f.args[0]->value}, f.call.attrs, f.call.span), a);
}

// The same for an operator whose result has the axes of its data: there may be a scale per channel.
Maybe same_axes(const FloatCall& f) {
  if (!is_quantised_once(f.args[0])) return std::nullopt;
  return of(try_call(f.call.callee, {f.args[0]->value}, f.call.attrs, f.call.span), f.args[0]->one());
}

Maybe nearest_only(const FloatCall& f) {
  const bool nearest = attribute<std::string>(f.call, "method", "linear") == "nearest_neighbor";
  return nearest ? same_values(f) : std::nullopt;
}

// For a tuple, whose tensors have the scale of the data; tensors that are not floats in the program have none.
Maybe parts(const FloatCall& f) {
  if (!is_single(f.args[0])) return std::nullopt;
  Exprs args = f.call.args;
  args[0] = f.args[0]->value;
  Expr made = try_call(f.call.callee, std::move(args), f.call.attrs, f.call.span);
  if (!made) return std::nullopt;
  const TupleType* before = as<TupleType>(f.call.type);
  if (!before) return as<TensorType>(f.call.type)->dtype.is_float() ? of(made, f.args[0]->one()) : std::nullopt;
  Quantized out{made, {}};
  for (const Type& field : before->fields) {
    const bool is_float = as<TensorType>(field)->dtype.is_float();
    out.affine.push_back(is_float ? std::optional(f.args[0]->one()) : std::nullopt);
  }
  return out;
}

// Sums divided by the number of terms, in int32.
Maybe mean(const FloatCall& f) {
  if (!is_single(f.args[0])) return std::nullopt;
  Expr wide = cast_to(f.args[0]->value, DType::int32());
  Expr made = try_call(f.call.callee, {wide}, f.call.attrs, f.call.span);
  return made ? of(cast_to(made, f.args[0]->one().dtype), f.args[0]->one()) : std::nullopt;
}

Maybe pad(const FloatCall& f) {
  if (!is_single(f.args[0]) || attribute<std::string>(f.call, "pad_mode", "constant") != "constant")
    return std::nullopt;
  const Affine& a = f.args[0]->one();
  if (f.args[1] || f.call.args[1]->kind != ExprKind::Constant) return std::nullopt;
  Expr around = quantised_constant(f.call.args[1], a, -1);
  return of(try_call(f.call.callee, {f.args[0]->value, around}, f.call.attrs, f.call.span), a);
}

// --- one function of each value --------------------------------------------------------------------------------------
Maybe relu(const FloatCall& f) {
  if (!is_quantised_once(f.args[0])) return std::nullopt;
  const Affine& a = f.args[0]->one();
  if (a.is_single())
    return of(typed_call("maximum", {f.args[0]->value, cast_to(a.zero_point, a.dtype)}, {}, f.call.span), a);
  const Constant* zeros = as<Constant>(a.zero_point);  // one for each channel: all are 0
  for (int64_t i = 0; i < (zeros ? zeros->value.elements() : 0); ++i)
    if (zeros->value.at(i) != 0) return std::nullopt;
  if (!zeros) return std::nullopt;
  return of(typed_call("maximum", {f.args[0]->value, typed_scalar(0, a.dtype)}, {}, f.call.span), a);
}

Maybe clip(const FloatCall& f) {
  if (!is_single(f.args[0])) return std::nullopt;
  const Affine& a = f.args[0]->one();
  const std::optional<double> scale = number_of(a.scale), zero_point = number_of(a.zero_point);
  if (!scale || !zero_point) return std::nullopt;
  // Bounds are multiples of the scale: for bytes, up to half a step off.
  if (f.exact && a.dtype != DType::int32()) return std::nullopt;
  const auto [lowest, highest] = range_of(a.dtype);
  auto bound = [&](const char* name) {
    const double q = std::nearbyint(attribute<double>(f.call, name, 0) / *scale) + *zero_point;
    return std::clamp(q, lowest, highest);
  };
  return of(typed_call("clip", {f.args[0]->value}, {{"a_min", bound("a_min")}, {"a_max", bound("a_max")}}, f.call.span),
            a);
}

// qnn.NAME(x, scale, zero_point, output_scale, output_zero_point), on integers of the output's type.
Maybe named(const FloatCall& f, std::string_view name) {
  if (!is_quantised_once(f.args[0]) || !f.output) return std::nullopt;
  Expr value = f.args[0]->value;
  const Affine* a = &f.args[0]->one();
  Affine moved = *f.output;
  if (a->dtype != f.output->dtype || !a->is_single()) {
    if (a->dtype != DType::int32()) return std::nullopt;  // a short type in another one would lose values
    value = requantized(value, *a, moved, f.call.span);
    a = &moved;
  }
  return of(try_named(name, {value, a->scale, a->zero_point, f.output->scale, f.output->zero_point}, values_of(f.call),
                      f.call.span),
            *f.output);
}

Maybe unary(const FloatCall& f) {
  // A sum of products is not requantised to the output's scale, which is that of the function's values.
  if (!is_single(f.args[0]) || f.args[0]->one().dtype == DType::int32()) return std::nullopt;
  return named(f, "qnn." + as<Op>(f.call.callee)->name);
}
Maybe leaky_relu(const FloatCall& f) { return named(f, "qnn.leaky_relu"); }
Maybe softmax(const FloatCall& f) {
  if (!is_single(f.args[0]) || f.args[0]->one().dtype != DType::int8()) return std::nullopt;
  return named(f, "qnn.softmax");
}

Maybe avg_pool2d(const FloatCall& f) {
  // the padding that is counted represents zp, not 0
  if (attribute<bool>(f.call, "count_include_pad", false)) return std::nullopt;
  return named(f, "qnn.avg_pool2d");
}

// --- sums and products -----------------------------------------------------------------------------------------------
// The axis of an operand of rank `rank` that broadcasts to axis `axis` of one of rank `other`; -1 if none.
int64_t broadcast_axis(int64_t axis, int64_t other, int64_t rank) {
  const int64_t at = axis - (other - rank);
  return at < 0 ? -1 : at;
}

// A constant added to sums of products: quantised with their scale.
Maybe add_constant(const FloatCall& f, size_t data, bool first_only) {
  const Quantized* q = f.args[data];
  const Expr& constant = f.call.args[1 - data];
  if (!is_quantised_once(q) || q->one().dtype != DType::int32() || constant->kind != ExprKind::Constant ||
      (first_only && data != 0))
    return std::nullopt;
  Affine a = q->one();
  a.zero_point = zeros_for(a.scale);
  int64_t axis = -1;
  if (!a.is_single()) {
    axis = broadcast_axis(a.axis, rank_of(q->value), rank_of(constant));
    if (axis < 0 || !equal(tensor_type({tensor_of(constant).shape[static_cast<size_t>(axis)]}, DType::int32()),
                           tensor_type(tensor_of(a.scale).shape, DType::int32())))
      return std::nullopt;
  }
  if (f.exact && !fits_beside_sums(constant, a.scale, axis)) return std::nullopt;
  Exprs args = {quantised_constant(constant, a, axis), q->value};
  if (data == 0) std::swap(args[0], args[1]);
  Expr made = try_call(f.call.callee, std::move(args), {}, f.call.span);
  if (!made || !equal(made->type, q->value->type)) return std::nullopt;
  return of(made, q->one());
}

// An operand with the output's scale and type; null if it has no scale and is not a constant.
Expr operand(const FloatCall& f, size_t k, bool as_output) {
  if (!f.args[k]) {
    const Expr& e = f.call.args[k];
    return e->kind == ExprKind::Constant ? quantised_constant(e, *f.output, -1) : nullptr;
  }
  if (!is_quantised_once(f.args[k])) return nullptr;
  return as_output ? requantized(f.args[k]->value, f.args[k]->one(), *f.output, f.call.span) : f.args[k]->value;
}

Maybe binary(const FloatCall& f, std::string_view name) {
  if (!f.output) return std::nullopt;
  Exprs args, parameters;
  for (size_t k = 0; k < 2; ++k) {
    const Quantized* q = f.args[k];
    const bool as_output = q && (q->one().dtype != f.output->dtype || !q->one().is_single());
    Expr value = operand(f, k, as_output);
    if (!value) return std::nullopt;
    const Affine& a = q && !as_output ? q->one() : *f.output;
    args.push_back(value);
    parameters.push_back(a.scale), parameters.push_back(a.zero_point);
  }
  args.insert(args.end(), parameters.begin(), parameters.end());
  args.push_back(f.output->scale), args.push_back(f.output->zero_point);
  return of(try_named(name, std::move(args), {}, f.call.span), *f.output);
}

Maybe add(const FloatCall& f) {
  for (size_t data : {0, 1})
    if (f.args[data] && !f.args[1 - data])
      if (Maybe sum = add_constant(f, data, false)) return sum;
  return f.exact ? std::nullopt : binary(f, "qnn.add");
}
Maybe subtract(const FloatCall& f) {
  if (f.args[0] && !f.args[1])
    if (Maybe sum = add_constant(f, 0, true)) return sum;
  return binary(f, "qnn.subtract");
}
// An operand of another type than the output's would be requantised to the output's scale, which may be far from its
// own.
Maybe multiply(const FloatCall& f) {
  for (const Quantized* q : f.args)
    if (!is_single(q) || !f.output || q->one().dtype != f.output->dtype) return std::nullopt;
  return binary(f, "qnn.mul");
}

Maybe smaller_or_larger(const FloatCall& f) {
  if (!f.output) return std::nullopt;
  Expr x = operand(f, 0, true), y = operand(f, 1, true);
  return x && y ? of(try_call(f.call.callee, {x, y}, {}, f.call.span), *f.output) : std::nullopt;
}

Maybe bias_add(const FloatCall& f) {
  const Quantized* q = f.args[0];
  if (!is_quantised_once(q) || q->one().dtype != DType::int32()) return std::nullopt;
  Affine a = q->one();
  int64_t axis = attribute<int64_t>(f.call, "axis", 1);
  if (axis < 0) axis += rank_of(q->value);
  if (!a.is_single() && a.axis != axis) return std::nullopt;
  a.zero_point = zeros_for(a.scale);
  if (!f.args[1] && f.call.args[1]->kind != ExprKind::Constant) return std::nullopt;
  const Expr bias = f.args[1] ? dequantized(*f.args[1], f.call.span) : f.call.args[1];
  if (f.exact && !fits_beside_sums(bias, a.scale, a.is_single() ? -1 : 0)) return std::nullopt;
  return of(try_call(f.call.callee, {q->value, quantised_constant(bias, a, a.is_single() ? -1 : 0)}, f.call.attrs,
                     f.call.span),
            q->one());
}

// True for an expression of constants only.
bool is_weight(const Expr& root) {
  bool constant = true;
  walk(root, [&](const Expr& e) { return constant = constant && e->kind != ExprKind::Var; }, [](const Expr&) {});
  return constant;
}

// A zero point of 0 for every channel as a single one, which kernels need not read.
Expr one_if_zero(const Expr& zero_point) {
  const Constant* c = as<Constant>(zero_point);
  for (int64_t i = 0; i < (c ? c->value.elements() : 0); ++i)
    if (c->value.at(i) != 0) return zero_point;
  return c ? typed_scalar(0, DType::int32()) : zero_point;
}

// True for a product of two computed tensors that kernels compute by pairs of 16 bits: of matrices that are large
// enough, the first of them stored along the sum, whose length is known.
bool multiplies_pairs(const FloatCall& f) {
  if (!f.products || as<Op>(f.call.callee)->name != "nn.batch_matmul" || attribute<bool>(f.call, "transpose_a", false))
    return false;
  constexpr int64_t least = 8, most = 1 << 15;  // products of 255 by 255 that int32 holds
  const Dims &x = tensor_of(f.call.args[0]).shape, &out = as<TensorType>(f.call.type)->shape;
  return scalar::is_int(x[2]) && least <= x[2]->ivalue && x[2]->ivalue <= most &&
         std::none_of(out.begin() + 1, out.end(), [](const Dim& d) { return scalar::is_int(d) && d->ivalue < least; });
}

// int32 sums with the product of both scales. `weight_axis`: the axis along which a weight may have several scales.
Maybe contraction(const FloatCall& f, const Quantized* w, std::string_view name, int64_t weight_axis,
                  int64_t out_axis) {
  const Quantized* x = f.args[0];
  if (!is_single(x) || !is_quantised_once(w)) return std::nullopt;
  if (!w->one().is_single() && w->one().axis != weight_axis) return std::nullopt;
  // Without a constant weight most products are faster in floats.
  if (f.exact && (w->one().dtype.bits > 8 || !(is_weight(w->value) || multiplies_pairs(f)))) return std::nullopt;
  const bool wide = x->one().dtype.bits > 8;
  if (f.exact && wide && !has_exact_sums(x->value, x->one().zero_point, w->value, w->one().zero_point, weight_axis))
    return std::nullopt;
  const Expr weight = f.exact && wide ? cast_to(w->value, x->one().dtype) : w->value;  // multiplied by numbers as long
  const bool dense = name == "qnn.dense" || name == "qnn.batch_matmul";
  Exprs args = {
      x->value, weight, x->one().scale, x->one().zero_point, w->one().scale, one_if_zero(w->one().zero_point)};
  op::AttrValues attrs = values_of(f.call);
  std::erase_if(attrs, [&](const auto& one) { return one.first == "out_dtype" || (dense && one.first == "units"); });
  attrs.push_back({"out_dtype", DType::int32()});
  Expr made = try_named(name, std::move(args), attrs, f.call.span);
  if (!made) return std::nullopt;
  const Expr scale = typed_call("multiply", {x->one().scale, w->one().scale}, {}, f.call.span);
  return of(made, {scale, zeros_for(scale), out_axis});
}

// With one more channel along the axis, which has this value.
Quantized with_channel(const Quantized& q, size_t axis, const Expr& value, const Span& span) {
  std::vector<Ints> width(static_cast<size_t>(rank_of(q.value)), Ints{0, 0});
  width[axis] = {0, 1};
  return {typed_call("nn.pad", {q.value, cast_to(value, q.one().dtype)}, {{"pad_width", width}}, span), q.affine};
}

Maybe conv(const FloatCall& f) {
  const std::string kernel =
      attribute<std::string>(f.call, "kernel_layout", as<Op>(f.call.callee)->name == "nn.conv2d" ? "OIHW" : "IOHW");
  const std::string data = attribute<std::string>(f.call, "data_layout", "NCHW");
  const std::string out = attribute<std::string>(f.call, "out_layout", "");
  FloatCall g = f;
  Quantized x, w;
  // Dot products take four channels at once, or two: an image of three gets one more, whose weights are 0.
  const size_t channels = data.find('C'), inputs = kernel.find('I');
  if (f.exact && is_single(f.args[0]) && is_quantised_once(f.args[1]) && is_weight(f.args[1]->value) &&
      as<Op>(f.call.callee)->name == "nn.conv2d" && data.size() == 4 && kernel.size() == 4 &&
      scalar::is_int(tensor_of(f.args[0]->value).shape[channels], 3) &&
      scalar::is_int(tensor_of(f.args[1]->value).shape[inputs], 3)) {
    x = with_channel(*f.args[0], channels, f.args[0]->one().zero_point, f.call.span);
    w = with_channel(*f.args[1], inputs, typed_scalar(0, DType::int8()), f.call.span);
    g.args = {&x, &w};
  }
  return contraction(g, g.args[1], "qnn" + as<Op>(f.call.callee)->name.substr(2),
                     static_cast<int64_t>(kernel.find('O')),
                     static_cast<int64_t>((out.empty() ? data : out).find('C')));
}
Maybe dense(const FloatCall& f) { return contraction(f, f.args[1], "qnn.dense", 0, rank_of(f.call.args[0]) - 1); }
Maybe matmul(const FloatCall& f) {
  if (!is_quantised_once(f.args[1]) || attribute<bool>(f.call, "transpose_a", false)) return std::nullopt;
  Quantized w = *f.args[1];
  if (!attribute<bool>(f.call, "transpose_b", false)) {
    w.value = typed_call("transpose", {w.value}, {{"axes", Ints{1, 0}}}, f.call.span);
    w.affine[0]->axis = 1 - w.one().axis;
  }
  return contraction(f, &w, "qnn.dense", 0, rank_of(f.call.args[0]) - 1);
}
Maybe batch_matmul(const FloatCall& f) {
  return is_single(f.args[1]) ? contraction(f, f.args[1], "qnn.batch_matmul", -1, -1) : std::nullopt;
}

Maybe concatenate(const FloatCall& f) {
  const Quantized* q = f.args[0];
  if (!q || !f.output || q->affine.empty()) return std::nullopt;
  Exprs values, scales, zeros;
  for (size_t k = 0; k < q->affine.size(); ++k) {
    if (!q->affine[k]) return std::nullopt;
    Expr value = typed_get(q->value, static_cast<int64_t>(k), f.call.span);
    const bool as_output = q->affine[k]->dtype != f.output->dtype || !q->affine[k]->is_single();
    const Affine& a = as_output ? *f.output : *q->affine[k];
    values.push_back(as_output ? requantized(value, *q->affine[k], *f.output, f.call.span) : value);
    scales.push_back(a.scale), zeros.push_back(a.zero_point);
  }
  const Span& at = f.call.span;
  return of(try_named("qnn.concatenate",
                      {typed_tuple(values, at), typed_tuple(scales, at), typed_tuple(zeros, at), f.output->scale,
                       f.output->zero_point},
                      values_of(f.call), at),
            *f.output);
}

struct Row {
  IntegerRule rule;
  bool exact = false;  // its integers are those of the floats, rounded once
};

constexpr bool rounded_once = true;

const std::map<std::string_view, Row>& rules() {
  static const std::map<std::string_view, Row> all = [] {
    std::map<std::string_view, Row> t = {{"add", {add, rounded_once}},
                                         {"concatenate", {concatenate}},
                                         {"clip", {clip, rounded_once}},
                                         {"copy", {same_axes, rounded_once}},
                                         {"image.resize2d", {nearest_only}},
                                         {"maximum", {smaller_or_larger}},
                                         {"minimum", {smaller_or_larger}},
                                         {"multiply", {multiply}},
                                         {"nn.avg_pool2d", {avg_pool2d}},
                                         {"nn.batch_matmul", {batch_matmul, rounded_once}},
                                         {"nn.bias_add", {bias_add, rounded_once}},
                                         {"nn.conv2d", {conv, rounded_once}},
                                         {"nn.conv2d_transpose", {conv, rounded_once}},
                                         {"nn.dense", {dense, rounded_once}},
                                         {"nn.matmul", {matmul, rounded_once}},
                                         {"nn.max_pool2d", {same_axes, rounded_once}},
                                         {"nn.leaky_relu", {leaky_relu}},
                                         {"nn.pad", {pad, rounded_once}},
                                         {"nn.relu", {relu, rounded_once}},
                                         {"nn.softmax", {softmax}},
                                         {"split", {parts, rounded_once}},
                                         {"subtract", {subtract, rounded_once}},
                                         {"topk", {parts}},
                                         {"transpose", {transpose, rounded_once}}};
    for (const char* name :
         {"broadcast_to", "expand_dims", "max", "min", "nn.batch_flatten", "nn.depth_to_space", "nn.space_to_depth",
          "repeat", "reshape", "reverse", "squeeze", "strided_slice", "take", "tile"})
      t[name] = {same_values, rounded_once};
    for (const char* name : {"mean", "nn.global_avg_pool2d"}) t[name] = {mean};
    for (const char* name : {"abs", "erf", "exp", "log", "rsqrt", "sigmoid", "sqrt", "tanh"}) t[name] = {unary};
    return t;
  }();
  return all;
}

}  // namespace

IntegerRule integer_rule(std::string_view op, bool exact) {
  auto row = rules().find(op);
  return row == rules().end() || (exact && !row->second.exact) ? nullptr : row->second.rule;
}

bool is_contraction(std::string_view op) {
  const IntegerRule rule = integer_rule(op, true);
  return rule && (rule == conv || rule == dense || rule == matmul || rule == batch_matmul);
}

Expr dequantized(const Quantized& q, const Span& span) {
  auto of_tensor = [&](const Expr& value, const Affine& a) {
    return typed_call("qnn.dequantize", {value, a.scale, a.zero_point}, {{"axis", a.is_single() ? -1 : a.axis}}, span);
  };
  const TupleType* tuple = as<TupleType>(q.value->type);
  if (!tuple) return q.affine[0] ? of_tensor(q.value, *q.affine[0]) : q.value;
  Exprs parts;
  for (size_t k = 0; k < q.affine.size(); ++k) {
    Expr part = typed_get(q.value, static_cast<int64_t>(k), span);
    parts.push_back(q.affine[k] ? of_tensor(part, *q.affine[k]) : part);
  }
  return typed_tuple(std::move(parts), span);
}

// True for a call that moves the sums of a contraction, so that they are not rounded in its kernel.
static bool moves_sums(const Call* call) {
  static const std::set<std::string_view> moves = {"expand_dims", "reshape", "squeeze", "transpose"};
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  return op && call->args.size() == 1 && moves.count(op->name) && tensor_of(call->args[0]).dtype == DType::int32();
}

Expr requantized(const Expr& value, const Affine& from, const Affine& to, const Span& span, bool exact) {
  if (from.dtype == to.dtype && equal(from.scale, to.scale) && equal(from.zero_point, to.zero_point)) return value;
  const Call* call = as<Call>(value);
  if (exact && from.is_single() && to.is_single() && moves_sums(call))
    return typed_call(as<Op>(call->callee)->name, {requantized(call->args[0], from, to, span, exact)}, values_of(*call),
                      call->span);
  op::AttrValues attrs = {{"axis", from.is_single() ? -1 : from.axis}, {"out_dtype", to.dtype}};
  Exprs args = {value, from.scale, from.zero_point, to.scale, to.zero_point};
  if (exact) {  // the quotient of the scales is folded
    args[2] = one_if_zero(from.zero_point);
    attrs.push_back({"compute_dtype", "float32"}), attrs.push_back({"rounding", "TONEAREST"});
    args[1] = typed_call("divide", {from.scale, to.scale}, {}, span), args[3] = typed_scalar(1, DType::float32());
  }
  return typed_call("qnn.requantize", std::move(args), attrs, span);
}

}  // namespace relay::transform
