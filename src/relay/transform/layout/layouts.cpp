#include "relay/transform/layout/layouts.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/op/shape/layout.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

AttrValue value_of(const Call& call, std::string_view name) {
  const AttrsType* type = as<Op>(call.callee)->def->attrs_type;
  const int index = type ? type->find(name) : -1;
  if (index < 0) return {};
  return call.attrs ? call.attrs->get(static_cast<size_t>(index))
                    : type->fields[static_cast<size_t>(index)].default_value;
}

const char* layout_attribute(const op::OpDef& def) {
  for (const char* name : {"data_layout", "layout"})
    if (def.attrs_type && def.attrs_type->find(name) >= 0) return name;
  return nullptr;
}

namespace {

Diagnostic bad_layout(std::string message, std::string help) {
  return {DiagnosticKind::bad_option, "layouts: " + std::move(message), {}, {}, {}, std::move(help)};
}

// True if both are permutations of the same letters.
bool same_letters(std::string a, std::string b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

std::string default_of(const op::OpDef& def, const char* name) {
  const int index = def.attrs_type->find(name);
  return index < 0 ? "" : std::get<std::string>(def.attrs_type->fields[static_cast<size_t>(index)].default_value);
}

}  // namespace

Status check_layouts(const op::OpDef& def, const Layouts& layouts) {
  const char* data = layout_attribute(def);
  for (const auto& [name, layout] :
       {std::pair{data, layouts.data}, {"kernel_layout", layouts.kernel}, {"out_layout", layouts.result}}) {
    if (layout.empty()) continue;
    if (def.attrs_type->find(name) < 0)
      return bad_layout(format("{} has no {}", def.name, name), "leave this layout out");
    const std::string usual = default_of(def, std::string_view(name) == "out_layout" ? data : name);
    if (!op::layout_axes(name, layout) || !same_letters(op::without_blocks(layout), usual))
      return bad_layout(format("{} of {} cannot be \"{}\"", name, def.name, layout),
                        format("give the letters of \"{}\" in any order, optionally with blocks at the end: \"{}4c\"",
                               usual, default_of(def, data)));
  }
  return ok();
}

// The usual layout of weights for a layout of the data: channels first with channels first.
std::string usual_kernel(const Call& call, const std::string& data) {
  const op::OpDef& def = *as<Op>(call.callee)->def;
  const std::string usual = default_of(def, "kernel_layout");
  if (usual.empty() || data.empty()) return "";
  if (op::is_blocked(data)) return usual_kernel(call, op::without_blocks(data));
  if (data == default_of(def, layout_attribute(def))) return usual;
  const std::string own = std::get<std::string>(value_of(call, "kernel_layout"));
  const TensorType* weights = as<TensorType>(call.args[1]->type);
  const AttrValue groups = value_of(call, "groups");
  const std::vector<op::LayoutAxis> axes = *op::layout_axes("kernel_layout", own);
  const size_t inputs = op::place_of(axes, 'I', false);
  const bool transposed = usual.starts_with("IO");
  const bool depthwise = op::block_of(axes, 'I') == 1 && weights && inputs < weights->shape.size() &&
                         scalar::is_int(weights->shape[inputs], 1) && std::holds_alternative<int64_t>(groups) &&
                         std::get<int64_t>(groups) > 1;
  return usual.substr(2) + (transposed || depthwise ? "OI" : "IO");
}

namespace {

std::string text_of(const Call& call, std::string_view name) {
  AttrValue value = value_of(call, name);
  const std::string* text = std::get_if<std::string>(&value);
  return text ? *text : "";
}

size_t rank_of(const Type& type) {
  const TensorType* t = as<TensorType>(type);
  return t ? t->shape.size() : 0;
}

using Axes = std::vector<op::LayoutAxis>;

Axes axes_of(const std::string& layout) { return layout.empty() ? Axes() : *op::layout_axes("layout", layout); }

// The rank of arrays in that layout.
size_t rank_in(const std::string& layout) { return axes_of(layout).size(); }

std::string text_of(const Axes& axes) {
  std::string out;
  for (const op::LayoutAxis& axis : axes) out += op::layout_text(axis);
  return out;
}

// The layout that results if the axes of `own` are permuted like those of `from` are in `to`; empty if there is none,
// because letters of blocks occur in both with different meanings.
std::string permuted(const std::string& own, const std::string& from, const std::string& to) {
  if (own == from) return to;
  if (op::is_blocked(own) || op::is_blocked(from) || own.size() != from.size()) return "";
  Axes axes = axes_of(to);
  for (op::LayoutAxis& axis : axes) axis.letter = own[from.find(axis.letter)];
  return text_of(axes);
}

bool in_blocks(const Axes& axes, char letter) { return op::place_of(axes, letter, true) < axes.size(); }

// The position in `to` of an axis of `from`, which may count from the end; nullopt if it is blocked.
std::optional<int64_t> moved(int64_t axis, const std::string& from, const std::string& to) {
  const Axes before = axes_of(from), now = axes_of(to);
  if (axis < 0) axis += static_cast<int64_t>(before.size());
  const char letter = before[static_cast<size_t>(axis)].letter;
  if (in_blocks(before, letter) || in_blocks(now, letter)) return std::nullopt;
  return static_cast<int64_t>(op::place_of(now, letter, false));
}

Type transformed_type(const Type& type, const std::string& from, const std::string& to) {
  const op::OpDef& def = *op::find("layout_transform");
  const Result<Type> out = def.infer(*op::attributes(def, {{"src_layout", from}, {"dst_layout", to}}), {type});
  return out ? *out : nullptr;
}

// The type in another layout; tensors with another number of axes are unchanged (fields of tuples). Null if the blocks
// do not divide the axes, so that the layout could not be converted back.
Type brought_type(const Type& type, const std::string& from, const std::string& to) {
  if (const TupleType* tuple = as<TupleType>(type)) {
    Types fields;
    for (const Type& field : tuple->fields) {
      fields.push_back(brought_type(field, from, to));
      if (!fields.back()) return nullptr;
    }
    return tuple_type(std::move(fields));
  }
  const TensorType* t = as<TensorType>(type);
  if (from == to || !t || t->shape.size() != rank_in(from)) return type;
  if (op::is_blocked(from + to)) {
    const Type there = transformed_type(type, from, to);
    const Type back = there ? transformed_type(there, to, from) : nullptr;
    return back && equal(back, type) ? there : nullptr;
  }
  Dims shape;
  for (char c : to) shape.push_back(t->shape[from.find(c)]);
  return tensor_type(std::move(shape), t->dtype);
}

bool fits(const Type& type, const std::string& from, const std::string& to) {
  return brought_type(type, from, to) != nullptr;
}

// True if `made` has the type that represents `before` in another layout.
bool stands_for(const Expr& made, const Type& before, const std::string& from, const std::string& to) {
  const Type wanted = made ? brought_type(before, from, to) : nullptr;
  return wanted && equal(made->type, wanted);
}

// Operators along the axis that an attribute names, whose results have the axes of their data.
constexpr std::pair<const char*, const char*> along_axes[] = {{"nn.bias_add", "axis"},
                                                              {"nn.batch_norm", "axis"},
                                                              {"nn.prelu", "axis"},
                                                              {"nn.lrn", "axis"},
                                                              {"nn.softmax", "axis"},
                                                              {"nn.log_softmax", "axis"},
                                                              {"nn.fast_softmax", "axis"},
                                                              {"nn.layer_norm", "axis"},
                                                              {"nn.group_norm", "axis"},
                                                              {"nn.instance_norm", "axis"},
                                                              {"nn.l2_normalize", "axis"},
                                                              {"cumsum", "axis"},
                                                              {"cumprod", "axis"},
                                                              {"reverse", "axis"},
                                                              {"split", "axis"},
                                                              {"nn.pad", "pad_width"},
                                                              {"strided_slice", "axes"},
                                                              {"qnn.quantize", "axis"},
                                                              {"qnn.dequantize", "axis"},
                                                              {"qnn.requantize", "axis"},
                                                              {"qnn.softmax", "axis"},
                                                              {"qnn.simulated_quantize", "axis"},
                                                              {"qnn.simulated_dequantize", "axis"}};
// Elementwise and broadcasting operators without attributes that name axes.
constexpr const char* without_axes[] = {
    "clip",         "cast",     "nn.leaky_relu", "nn.dropout", "qnn.leaky_relu", "qnn.add",   "qnn.subtract",
    "qnn.multiply", "qnn.tanh", "qnn.sigmoid",   "qnn.exp",    "qnn.sqrt",       "qnn.rsqrt", "fixed_point_multiply"};

bool is_reduction(const op::OpDef& def) {
  return def.fusion == op::Fusion::Reduce && def.attrs_type && def.inputs.size() == 1 &&
         def.attrs_type->find("keepdims") >= 0 && def.attrs_type->find("exclude") >= 0;
}

}  // namespace

FunctionRef LayoutConverter::operator()(const FunctionRef& f) {
  Expr result = rewrite(f, [&](const Expr& before, const Expr& now) { return rewritten(before, now); });
  return FunctionRef(as<Function>(result));
}

// Replaces several steps by one, if no block is padded on the way: the type shows it.
Expr LayoutConverter::transformed(const Expr& e, const std::string& from, const std::string& to) {
  if (from == to) return e;
  Expr& place = transformed_[{e.get(), from + ">" + to}];
  if (place) return place;
  place = typed_call("layout_transform", {e}, {{"src_layout", from}, {"dst_layout", to}}, e->span);
  std::string layout = from;
  for (const Call* step = call_of(e, "layout_transform"); step; step = call_of(step->args[0], "layout_transform")) {
    if (text_of(*step, "dst_layout") != layout) break;
    layout = text_of(*step, "src_layout");
    const Type direct = layout == to ? step->args[0]->type : transformed_type(step->args[0]->type, layout, to);
    if (!direct || !equal(direct, place->type)) break;
    place = layout == to ? step->args[0]
                         : typed_call("layout_transform", {step->args[0]}, {{"src_layout", layout}, {"dst_layout", to}},
                                      e->span);
  }
  return place;
}

Expr LayoutConverter::converted(const Expr& before, const Expr& now, const std::string& from, const std::string& to) {
  if (const Replacement* known = find(before); known && rank_in(known->from) == rank_in(from))
    if (permuted(from, known->from, known->to) == to) return known->value;
  return transformed(now, from, to);
}

Expr LayoutConverter::record(const Expr& before, Expr value, const std::string& from, const std::string& to) {
  replacements_[before.get()] = {value, from, to};
  const TupleType* tuple_of = as<TupleType>(before->type);
  if (!tuple_of) return transformed(value, to, from);
  Exprs fields;
  for (size_t i = 0; i < tuple_of->fields.size(); ++i) {
    Expr field = typed_get(value, static_cast<int64_t>(i), before->span);
    fields.push_back(rank_of(tuple_of->fields[i]) == rank_in(from) ? transformed(field, to, from) : field);
  }
  Expr all = tuple(std::move(fields), before->span);
  all->type = before->type;
  return all;
}

Expr LayoutConverter::rewritten(const Expr& before, const Expr& now) {
  if (const TupleGetItem* item = as<TupleGetItem>(before)) {
    const Replacement* known = find(item->tuple);
    if (!known) return now;
    const Replacement of = *known;
    Expr field = typed_get(of.value, item->index, before->span);
    return rank_of(before->type) == rank_in(of.from) ? record(before, field, of.from, of.to) : field;
  }
  const Call *old = as<Call>(before), *call = as<Call>(now);
  if (!old || !call || !as<Op>(old->callee) || !(old->callee == call->callee)) return now;
  Expr out;
  if (layout_attribute(*as<Op>(old->callee)->def))
    if (std::optional<Layouts> layouts = request_(*old)) out = with_layouts(*old, *call, *layouts);
  if (!out) out = followed(*old, *call);
  return out ? out : now;
}

Expr LayoutConverter::with_layouts(const Call& before, const Call& now, const Layouts& layouts) {
  const op::OpDef& def = *as<Op>(before.callee)->def;
  const char* name = layout_attribute(def);
  const std::string data = text_of(before, name), kernel = text_of(before, "kernel_layout");
  const std::string own_result = text_of(before, "out_layout"), result = own_result.empty() ? data : own_result;
  const std::string& to = layouts.data.empty() ? data : layouts.data;
  const std::string& kernel_to = layouts.kernel.empty() ? kernel : layouts.kernel;
  const std::string& result_to = layouts.result.empty() ? to : layouts.result;
  if ((to == data && kernel_to == kernel && result_to == result) || rank_of(before.args[0]->type) != rank_in(data))
    return nullptr;
  const bool weighs = !kernel.empty() && now.args.size() > 1;
  const bool divides = fits(before.args[0]->type, data, to) && fits(before.type, result, result_to) &&
                       (!weighs || fits(before.args[1]->type, kernel, kernel_to));
  Changes changes = {{name, to}};
  Exprs args = now.args;
  if (divides) args[0] = converted(before.args[0], now.args[0], data, to);
  if (divides && weighs) {
    args[1] = converted(before.args[1], now.args[1], kernel, kernel_to);
    changes.push_back({"kernel_layout", kernel_to});
  }
  if (result_to != to || !own_result.empty()) changes.push_back({"out_layout", result_to});
  Expr made = divides ? try_call(now.callee, std::move(args), with_attributes(now, changes), now.span) : nullptr;
  if (stands_for(made, before.type, result, result_to))
    return result == result_to ? made : record(Expr(&before), made, result, result_to);
  if (layouts.required || divides) refuse(before, layouts, divides);
  return nullptr;
}

// Reports blocked layouts that the operator does not accept; a request for a mere permutation is ignored.
void LayoutConverter::refuse(const Call& before, const Layouts& layouts, bool divides) {
  if (!op::is_blocked(layouts.data + layouts.kernel + layouts.result)) return;
  const op::OpDef& def = *as<Op>(before.callee)->def;
  const std::string wanted = format("\"{}\"{}{}", layouts.data, layouts.kernel.empty() ? "" : " and ", layouts.kernel);
  if (divides) {
    errors.push_back({DiagnosticKind::bad_option,
                      format("layouts: {} cannot use {}: it does not support blocks", def.name, wanted),
                      before.span,
                      {},
                      {},
                      "give it an order of the letters without blocks, or no layout"});
    return;
  }
  std::string types;
  for (const Expr& arg : before.args) types += (types.empty() ? "" : ", ") + str(arg->type);
  errors.push_back({DiagnosticKind::bad_option,
                    format("layouts: {} of {} cannot use {}: blocks do not divide the axes", def.name, types, wanted),
                    before.span,
                    {},
                    {},
                    "give layouts whose blocks divide the channels, or no layout for this call"});
}

Expr LayoutConverter::followed(const Call& before, const Call& now) {
  const op::OpDef& def = *as<Op>(before.callee)->def;
  if (def.inputs.empty() || now.args.empty()) return nullptr;
  if (def.inputs[0].is_tuple) return as_concatenation(before, now);
  const Replacement* first = nullptr;
  for (const Expr& arg : before.args)
    if (!first) first = find(arg);
  if (!first || as<TupleType>(first->value->type)) return nullptr;
  const Replacement data = *first;  // a copy: the map grows
  const bool in_front = find(before.args[0]) != nullptr;
  if (layout_attribute(def)) return in_front ? as_layout(before, now, data) : nullptr;
  if (def.name == "transpose") return as_transpose(before, now, data);
  if (def.name == "layout_transform")
    return converted(before.args[0], now.args[0], text_of(before, "src_layout"), text_of(before, "dst_layout"));
  if (in_front && is_reduction(def)) return as_reduction(before, now, data);
  if (in_front)
    if (Expr out = as_along_axes(before, now, data)) return out;
  if (in_front && def.name == "nn.bias_add") return as_addition(before, now, data);
  const bool plain = !def.attrs_type ||
                     std::find(std::begin(without_axes), std::end(without_axes), def.name) != std::end(without_axes);
  if (plain && (def.fusion <= op::Fusion::Broadcast || def.name.starts_with("qnn.")))
    return as_broadcast(before, now, data);
  return nullptr;
}

// Pools and resizes take the layout of the data.
Expr LayoutConverter::as_layout(const Call& before, const Call& now, const Replacement& data) {
  const char* name = layout_attribute(*as<Op>(before.callee)->def);
  const std::string own = text_of(before, name), result = text_of(before, "out_layout");
  if (!std::holds_alternative<std::monostate>(value_of(before, "kernel_layout"))) return nullptr;
  if (!result.empty() && result != own) return nullptr;
  const std::string to = permuted(own, data.from, data.to);
  if (to.empty()) return nullptr;
  Exprs args = now.args;
  args[0] = data.value;
  Changes changes = {{name, to}};
  if (!result.empty()) changes.push_back({"out_layout", to});
  Expr made = try_call(now.callee, std::move(args), with_attributes(now, changes), now.span);
  return stands_for(made, before.type, own, to) ? record(Expr(&before), made, own, to) : nullptr;
}

// An operand that broadcasts against data: an axis of extent 1 that is blocked in the data also gets an axis of extent
// 1 for the positions in blocks. Null if the operand cannot be arranged that way.
Expr LayoutConverter::broadcast_operand(const Expr& before, const Expr& now, const Replacement& data) {
  if (fits(before->type, data.from, data.to)) return converted(before, now, data.from, data.to);
  const Dims& shape = as<TensorType>(before->type)->shape;
  const Axes old = axes_of(data.from), there = axes_of(data.to);
  auto is_one = [&](const op::LayoutAxis& axis) {
    return axis.block != 0 && scalar::is_int(shape[op::place_of(old, axis.letter, false)], 1);
  };
  Axes before_kept, kept;
  Ints gone, ones;
  for (size_t d = 0; d < old.size(); ++d) {
    const bool goes = is_one(old[d]) && scalar::is_int(shape[d], 1);
    goes ? gone.push_back(static_cast<int64_t>(d)) : before_kept.push_back(old[d]);
  }
  for (size_t d = 0; d < there.size(); ++d)
    is_one(there[d]) ? ones.push_back(static_cast<int64_t>(d)) : kept.push_back(there[d]);
  const Expr narrow = gone.empty() ? now : typed_call("squeeze", {now}, {{"axis", gone}}, now->span);
  if (!fits(narrow->type, text_of(before_kept), text_of(kept))) return nullptr;
  Expr out = transformed(narrow, text_of(before_kept), text_of(kept));
  for (int64_t axis : ones) out = typed_call("expand_dims", {out}, {{"axis", axis}}, now->span);
  return out;
}

// All arguments with as many axes are converted to the same layout; those with fewer get leading axes first.
Expr LayoutConverter::as_broadcast(const Call& before, const Call& now, const Replacement& data) {
  const size_t rank = rank_in(data.from);
  if (rank_of(before.type) != rank) return nullptr;
  Exprs args;
  for (size_t i = 0; i < now.args.size(); ++i) {
    const TensorType* type = as<TensorType>(before.args[i]->type);
    if (!type) return nullptr;
    const bool is_one =
        std::all_of(type->shape.begin(), type->shape.end(), [](const Dim& d) { return scalar::is_int(d, 1); });
    if (type->shape.size() == rank) {
      args.push_back(broadcast_operand(before.args[i], now.args[i], data));
    } else if (is_one) {
      args.push_back(now.args[i]);
    } else if (as<Op>(before.callee)->def->name.starts_with("qnn.")) {
      return nullptr;  // scales along an axis
    } else {
      int64_t more = static_cast<int64_t>(rank - type->shape.size());
      Expr wide = typed_call("expand_dims", {now.args[i]}, {{"axis", int64_t{0}}, {"num_newaxis", more}}, now.span);
      args.push_back(broadcast_operand(wide, wide, data));
    }
    if (!args.back()) return nullptr;
  }
  Expr made = try_call(now.callee, std::move(args), now.attrs, now.span);
  return stands_for(made, before.type, data.from, data.to) ? record(Expr(&before), made, data.from, data.to) : nullptr;
}

// A bias along a blocked axis becomes an addition of an operand with the same blocks.
Expr LayoutConverter::as_addition(const Call& before, const Call& now, const Replacement& data) {
  const int64_t rank = static_cast<int64_t>(rank_in(data.from));
  int64_t axis = std::get<int64_t>(value_of(before, "axis"));
  if (axis < 0) axis += rank;
  Expr bias = now.args[1];
  for (const auto& [at, more] : {std::pair{int64_t{1}, rank - 1 - axis}, {int64_t{0}, axis}})
    if (more > 0) bias = typed_call("expand_dims", {bias}, {{"axis", at}, {"num_newaxis", more}}, now.span);
  const Expr wide = broadcast_operand(bias, bias, data);
  if (!wide) return nullptr;
  Expr made = try_call(op::node(*op::find("add")), {data.value, wide}, {}, now.span);
  return stands_for(made, before.type, data.from, data.to) ? record(Expr(&before), made, data.from, data.to) : nullptr;
}

// The value of an attribute that names axes, for data in another layout; nullopt if they are blocked.
static std::optional<AttrValue> moved_axes(const Call& before, const char* name, const std::string& from,
                                           const std::string& to) {
  const AttrValue value = value_of(before, name);
  if (const int64_t* axis = std::get_if<int64_t>(&value)) {
    const std::optional<int64_t> there = moved(*axis, from, to);
    return there ? std::optional<AttrValue>(*there) : std::nullopt;
  }
  if (const IntLists* widths = std::get_if<IntLists>(&value)) {
    const Axes old = axes_of(from), now = axes_of(to);
    for (size_t d = 0; d < old.size(); ++d)
      if ((in_blocks(old, old[d].letter) || in_blocks(now, old[d].letter)) && (*widths)[d] != Ints(2, 0))
        return std::nullopt;
    IntLists out;
    for (const op::LayoutAxis& axis : now)
      out.push_back(axis.block ? Ints(2, 0) : (*widths)[op::place_of(old, axis.letter, false)]);
    return out;
  }
  const Ints* axes = std::get_if<Ints>(&value);
  const AttrValue begin = value_of(before, "begin");
  Ints out, in_order;
  for (size_t k = 0; std::holds_alternative<Ints>(begin) && k < std::get<Ints>(begin).size(); ++k)
    in_order.push_back(static_cast<int64_t>(k));  // strided_slice without axes: the leading ones
  if (!axes && in_order.empty()) return std::nullopt;
  for (int64_t axis : axes ? *axes : in_order) {
    const std::optional<int64_t> there = moved(axis, from, to);
    if (!there) return std::nullopt;
    out.push_back(*there);
  }
  return out;
}

Expr LayoutConverter::as_along_axes(const Call& before, const Call& now, const Replacement& data) {
  const std::string& op = as<Op>(before.callee)->def->name;
  const auto* row = std::find_if(std::begin(along_axes), std::end(along_axes), [&](auto& r) { return r.first == op; });
  if (row == std::end(along_axes) || rank_of(before.args[0]->type) != rank_in(data.from)) return nullptr;
  // The first axis is the batch for these, regardless of the attribute.
  if ((op == "nn.group_norm" || op == "nn.instance_norm") && data.from[0] != data.to[0]) return nullptr;
  const std::optional<AttrValue> value = moved_axes(before, row->second, data.from, data.to);
  if (!value) return nullptr;
  Exprs args = now.args;
  args[0] = data.value;
  Expr made = try_call(now.callee, std::move(args), with_attributes(now, {{row->second, *value}}), now.span);
  return stands_for(made, before.type, data.from, data.to) ? record(Expr(&before), made, data.from, data.to) : nullptr;
}

Expr LayoutConverter::as_reduction(const Call& before, const Call& now, const Replacement& data) {
  const Axes old = axes_of(data.from), there = axes_of(data.to);
  const AttrValue value = value_of(before, "axis");
  const bool keeps = std::get<bool>(value_of(before, "keepdims"));
  const bool excludes = std::get<bool>(value_of(before, "exclude"));
  std::string named;
  if (const Ints* list = std::get_if<Ints>(&value))
    for (int64_t axis : *list) named += old[static_cast<size_t>(axis < 0 ? axis + rank_in(data.from) : axis)].letter;
  auto reduced = [&](char letter) { return named.empty() || (named.find(letter) != std::string::npos) != excludes; };
  Ints axes;
  for (size_t d = 0; d < there.size(); ++d)
    if (named.find(there[d].letter) != std::string::npos) axes.push_back(static_cast<int64_t>(d));
  // The remaining and the removed axes of the layout, before and after.
  Axes left[2], gone[2];
  for (const auto& [k, layout] : {std::pair{0, &old}, {1, &there}})
    for (const op::LayoutAxis& axis : *layout) {
      const bool goes = reduced(axis.letter);
      // Only the positions in blocks, or only the blocks.
      if (layout == &old && in_blocks(old, axis.letter) && std::count(named.begin(), named.end(), axis.letter) == 1)
        return nullptr;
      if (goes && keeps && in_blocks(*layout, axis.letter)) return nullptr;
      if (goes) gone[k].push_back(axis);
      if (keeps || !goes) left[k].push_back(axis);
    }
  // The position of an extreme value is counted in the order of the removed axes.
  const bool counts = as<Op>(before.callee)->def->attrs_type->find("select_last_index") >= 0;
  if (counts && text_of(gone[0]) != text_of(gone[1])) return nullptr;
  Changes changes;
  if (!axes.empty()) changes.push_back({"axis", axes});
  Expr made = try_call(now.callee, {data.value}, with_attributes(now, changes), now.span);
  const std::string from = text_of(left[0]), to = text_of(left[1]);
  if (!stands_for(made, before.type, from, to)) return nullptr;
  return from == to ? made : record(Expr(&before), made, from, to);
}

// The result keeps its layout: a transposition of other axes produces it, or none is needed.
Expr LayoutConverter::as_transpose(const Call& before, const Call& now, const Replacement& data) {
  if (op::is_blocked(data.from)) return nullptr;
  AttrValue value = value_of(before, "axes");
  const int64_t rank = static_cast<int64_t>(data.from.size());
  const Ints* permutation = std::get_if<Ints>(&value);
  std::string letters;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t axis = permutation && !permutation->empty() ? (*permutation)[static_cast<size_t>(i)] : rank - 1 - i;
    letters += data.from[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }
  if (op::is_blocked(data.to)) return transformed(data.value, data.to, letters);
  Ints axes;
  for (char letter : letters) axes.push_back(static_cast<int64_t>(data.to.find(letter)));
  return letters == data.to ? data.value : typed_call("transpose", {data.value}, {{"axes", axes}}, now.span);
}

Expr LayoutConverter::as_concatenation(const Call& before, const Call& now) {
  const op::OpDef& def = *as<Op>(before.callee)->def;
  const Tuple *old = as<Tuple>(before.args[0]), *parts = as<Tuple>(now.args[0]);
  if ((def.name != "concatenate" && def.name != "qnn.concatenate") || !old || !parts) return nullptr;
  const Replacement* first = nullptr;
  for (const Expr& part : old->elements)
    if (!first) first = find(part);
  if (!first || rank_of(before.type) != rank_in(first->from)) return nullptr;
  const Replacement data = *first;  // a copy: the map grows
  // Whole blocks are concatenated along the axis that counts them.
  const Axes axes = axes_of(data.from);
  const int64_t position = std::get<int64_t>(value_of(before, "axis")), rank = static_cast<int64_t>(axes.size());
  const op::LayoutAxis& along = axes[static_cast<size_t>(position < 0 ? position + rank : position)];
  if (along.block != 0) return nullptr;
  Exprs converted_parts;
  Types types;
  for (size_t i = 0; i < parts->elements.size(); ++i) {
    if (!fits(old->elements[i]->type, data.from, data.to)) return nullptr;
    converted_parts.push_back(converted(old->elements[i], parts->elements[i], data.from, data.to));
    types.push_back(converted_parts.back()->type);
  }
  Exprs args = now.args;
  args[0] = tuple(std::move(converted_parts), now.args[0]->span);
  args[0]->type = tuple_type(std::move(types));
  const int64_t axis = static_cast<int64_t>(op::place_of(axes_of(data.to), along.letter, false));
  Expr made = try_call(now.callee, std::move(args), with_attributes(now, {{"axis", axis}}), now.span);
  return stands_for(made, before.type, data.from, data.to) ? record(Expr(&before), made, data.from, data.to) : nullptr;
}

}  // namespace relay::transform
