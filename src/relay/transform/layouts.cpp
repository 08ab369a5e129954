#include "relay/transform/layouts.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

bool is_plain_layout(const std::string& layout) {
  std::set<char> seen;
  return !layout.empty() && std::all_of(layout.begin(), layout.end(), [&](char c) {
    return std::isupper(static_cast<unsigned char>(c)) && seen.insert(c).second;
  });
}

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

// Whether both are orders of the same letters.
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
  for (const auto& [name, layout] :
       {std::pair{layout_attribute(def), layouts.data}, {"kernel_layout", layouts.kernel}}) {
    const std::string usual = default_of(def, name);
    if (layout.empty()) continue;
    if (usual.empty()) return bad_layout(format("{} has no {}", def.name, name), "give one layout for it");
    if (!is_plain_layout(layout) || !same_letters(layout, usual))
      return bad_layout(format("{} of {} cannot be \"{}\"", name, def.name, layout),
                        format("give the letters of \"{}\" in any order", usual));
  }
  return ok();
}

// The layout of weights that goes with one of the data: channels in front with channels in front.
std::string usual_kernel(const Call& call, const std::string& data) {
  const op::OpDef& def = *as<Op>(call.callee)->def;
  const std::string usual = default_of(def, "kernel_layout");
  if (usual.empty() || data.empty()) return "";
  if (data == default_of(def, layout_attribute(def))) return usual;
  const std::string own = std::get<std::string>(value_of(call, "kernel_layout"));
  const TensorType* weights = as<TensorType>(call.args[1]->type);
  const AttrValue groups = value_of(call, "groups");
  const size_t inputs = own.find('I');
  const bool transposed = usual.starts_with("IO");
  const bool depthwise = weights && inputs < weights->shape.size() && scalar::is_int(weights->shape[inputs], 1) &&
                         std::holds_alternative<int64_t>(groups) && std::get<int64_t>(groups) > 1;
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

// The layout in which the axes of `own` go the way that those of `from` go to `to`.
std::string permuted(const std::string& own, const std::string& from, const std::string& to) {
  std::string out;
  for (char c : to) out += own[from.find(c)];
  return out;
}

// Where an axis of `from`, perhaps counted from the end, is in `to`.
int64_t moved(int64_t axis, const std::string& from, const std::string& to) {
  if (axis < 0) axis += static_cast<int64_t>(from.size());
  return static_cast<int64_t>(to.find(from[static_cast<size_t>(axis)]));
}

Type permuted_type(const Type& type, const std::string& from, const std::string& to) {
  if (const TupleType* tuple = as<TupleType>(type)) {
    Types fields;
    for (const Type& field : tuple->fields) fields.push_back(permuted_type(field, from, to));
    return tuple_type(std::move(fields));
  }
  const TensorType* t = as<TensorType>(type);
  if (!t || t->shape.size() != from.size()) return type;
  Dims shape;
  for (char c : to) shape.push_back(t->shape[from.find(c)]);
  return tensor_type(std::move(shape), t->dtype);
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
// Elementwise and broadcasting operators whose attributes name no axes.
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

Expr LayoutConverter::transformed(const Expr& e, const std::string& from, const std::string& to) {
  if (from == to) return e;
  if (const Call* back = call_of(e, "layout_transform"))
    if (text_of(*back, "src_layout") == to && text_of(*back, "dst_layout") == from) return back->args[0];
  Expr& place = transformed_[{e.get(), from + ">" + to}];
  if (!place) place = typed_call("layout_transform", {e}, {{"src_layout", from}, {"dst_layout", to}}, e->span);
  return place;
}

Expr LayoutConverter::brought(const Expr& before, const Expr& now, const std::string& from, const std::string& to) {
  if (const Carried* known = find(before); known && known->from.size() == from.size())
    if (permuted(from, known->from, known->to) == to) return known->value;
  return transformed(now, from, to);
}

Expr LayoutConverter::carried(const Expr& before, Expr value, const std::string& from, const std::string& to) {
  carried_[before.get()] = {value, from, to};
  const TupleType* tuple_of = as<TupleType>(value->type);
  if (!tuple_of) return transformed(value, to, from);
  Exprs fields;
  for (size_t i = 0; i < tuple_of->fields.size(); ++i) {
    Expr field = typed_get(value, static_cast<int64_t>(i), before->span);
    fields.push_back(rank_of(field->type) == from.size() ? transformed(field, to, from) : field);
  }
  Expr all = tuple(std::move(fields), before->span);
  all->type = before->type;
  return all;
}

Expr LayoutConverter::rewritten(const Expr& before, const Expr& now) {
  if (const TupleGetItem* item = as<TupleGetItem>(before)) {
    const Carried* known = find(item->tuple);
    if (!known) return now;
    const Carried of = *known;
    Expr field = typed_get(of.value, item->index, before->span);
    return rank_of(before->type) == of.from.size() ? carried(before, field, of.from, of.to) : field;
  }
  const Call *old = as<Call>(before), *call = as<Call>(now);
  if (!old || !call || !as<Op>(old->callee) || !(old->callee == call->callee)) return now;
  Expr out;
  if (layout_attribute(*as<Op>(old->callee)->def))
    if (std::optional<Layouts> layouts = wanted_(*old)) out = converted(*old, *call, *layouts);
  if (!out) out = followed(*old, *call);
  return out ? out : now;
}

Expr LayoutConverter::converted(const Call& before, const Call& now, const Layouts& layouts) {
  const op::OpDef& def = *as<Op>(before.callee)->def;
  const char* name = layout_attribute(def);
  const std::string data = text_of(before, name), kernel = text_of(before, "kernel_layout");
  const std::string own_result = text_of(before, "out_layout"), result = own_result.empty() ? data : own_result;
  const std::string& to = layouts.data.empty() ? data : layouts.data;
  const std::string& kernel_to = layouts.kernel.empty() ? kernel : layouts.kernel;
  if ((to == data && kernel_to == kernel) || rank_of(before.args[0]->type) != data.size()) return nullptr;
  Exprs args = now.args;
  args[0] = brought(before.args[0], now.args[0], data, to);
  Changes changes = {{name, to}};
  if (!kernel.empty() && args.size() > 1) {
    args[1] = brought(before.args[1], now.args[1], kernel, kernel_to);
    changes.push_back({"kernel_layout", kernel_to});
  }
  if (!own_result.empty()) changes.push_back({"out_layout", to});
  Expr made = try_call(now.callee, std::move(args), with_attributes(now, changes), now.span);
  if (!made || !equal(made->type, permuted_type(before.type, result, to))) return nullptr;
  return result == to ? made : carried(Expr(&before), made, result, to);
}

Expr LayoutConverter::followed(const Call& before, const Call& now) {
  const op::OpDef& def = *as<Op>(before.callee)->def;
  if (def.inputs.empty() || now.args.empty()) return nullptr;
  if (def.inputs[0].is_tuple) return as_concatenation(before, now);
  const Carried* first = nullptr;
  for (const Expr& arg : before.args)
    if (!first) first = find(arg);
  if (!first || as<TupleType>(first->value->type)) return nullptr;
  const Carried data = *first;  // the map grows
  const bool in_front = find(before.args[0]) != nullptr;
  if (layout_attribute(def)) return in_front ? as_layout(before, now, data) : nullptr;
  if (def.name == "transpose") return as_transpose(before, now, data);
  if (def.name == "layout_transform")
    return brought(before.args[0], now.args[0], text_of(before, "src_layout"), text_of(before, "dst_layout"));
  if (in_front && is_reduction(def)) return as_reduction(before, now, data);
  if (in_front)
    if (Expr out = as_along_axes(before, now, data)) return out;
  const bool plain = !def.attrs_type ||
                     std::find(std::begin(without_axes), std::end(without_axes), def.name) != std::end(without_axes);
  if (plain && (def.fusion <= op::Fusion::Broadcast || def.name.starts_with("qnn.")))
    return as_broadcast(before, now, data);
  return nullptr;
}

// Pools, resizes: in the layout that the data has.
Expr LayoutConverter::as_layout(const Call& before, const Call& now, const Carried& data) {
  const char* name = layout_attribute(*as<Op>(before.callee)->def);
  const std::string own = text_of(before, name), result = text_of(before, "out_layout");
  if (own.size() != data.from.size() || !std::holds_alternative<std::monostate>(value_of(before, "kernel_layout")))
    return nullptr;
  if (!result.empty() && result != own) return nullptr;
  const std::string to = permuted(own, data.from, data.to);
  Exprs args = now.args;
  args[0] = data.value;
  Changes changes = {{name, to}};
  if (!result.empty()) changes.push_back({"out_layout", to});
  Expr made = try_call(now.callee, std::move(args), with_attributes(now, changes), now.span);
  if (!made || !equal(made->type, permuted_type(before.type, own, to))) return nullptr;
  return carried(Expr(&before), made, own, to);
}

// All arguments with as many axes come in the same layout; those with fewer get axes in front first.
Expr LayoutConverter::as_broadcast(const Call& before, const Call& now, const Carried& data) {
  const size_t rank = data.from.size();
  if (rank_of(before.type) != rank) return nullptr;
  Exprs args;
  for (size_t i = 0; i < now.args.size(); ++i) {
    const TensorType* type = as<TensorType>(before.args[i]->type);
    if (!type) return nullptr;
    const bool is_one =
        std::all_of(type->shape.begin(), type->shape.end(), [](const Dim& d) { return scalar::is_int(d, 1); });
    if (type->shape.size() == rank) {
      args.push_back(brought(before.args[i], now.args[i], data.from, data.to));
    } else if (is_one) {
      args.push_back(now.args[i]);
    } else if (as<Op>(before.callee)->def->name.starts_with("qnn.")) {
      return nullptr;  // scales along an axis
    } else {
      int64_t more = static_cast<int64_t>(rank - type->shape.size());
      Expr wide = typed_call("expand_dims", {now.args[i]}, {{"axis", int64_t{0}}, {"num_newaxis", more}}, now.span);
      args.push_back(transformed(wide, data.from, data.to));
    }
  }
  Expr made = try_call(now.callee, std::move(args), now.attrs, now.span);
  if (!made || !equal(made->type, permuted_type(before.type, data.from, data.to))) return nullptr;
  return carried(Expr(&before), made, data.from, data.to);
}

Expr LayoutConverter::as_along_axes(const Call& before, const Call& now, const Carried& data) {
  const std::string& op = as<Op>(before.callee)->def->name;
  const auto* row = std::find_if(std::begin(along_axes), std::end(along_axes), [&](auto& r) { return r.first == op; });
  if (row == std::end(along_axes) || rank_of(before.args[0]->type) != data.from.size()) return nullptr;
  AttrValue value = value_of(before, row->second);
  if (const int64_t* axis = std::get_if<int64_t>(&value)) {
    value = moved(*axis, data.from, data.to);
  } else if (const IntLists* widths = std::get_if<IntLists>(&value)) {
    IntLists out;
    for (char c : data.to) out.push_back((*widths)[data.from.find(c)]);
    value = out;
  } else {
    const Ints* axes = std::get_if<Ints>(&value);
    const AttrValue begin = value_of(before, "begin");
    Ints out, in_order;
    for (size_t k = 0; std::holds_alternative<Ints>(begin) && k < std::get<Ints>(begin).size(); ++k)
      in_order.push_back(static_cast<int64_t>(k));  // strided_slice without axes: those in front
    if (!axes && in_order.empty()) return nullptr;
    for (int64_t axis : axes ? *axes : in_order) out.push_back(moved(axis, data.from, data.to));
    value = out;
  }
  Exprs args = now.args;
  args[0] = data.value;
  Expr made = try_call(now.callee, std::move(args), with_attributes(now, {{row->second, value}}), now.span);
  if (!made || !equal(made->type, permuted_type(before.type, data.from, data.to))) return nullptr;
  return carried(Expr(&before), made, data.from, data.to);
}

Expr LayoutConverter::as_reduction(const Call& before, const Call& now, const Carried& data) {
  AttrValue value = value_of(before, "axis");
  Ints axes;
  if (const Ints* list = std::get_if<Ints>(&value))
    for (int64_t axis : *list) axes.push_back(moved(axis, data.from, data.to));
  const bool keeps = std::get<bool>(value_of(before, "keepdims"));
  const bool excludes = std::get<bool>(value_of(before, "exclude"));
  Changes changes;
  if (!axes.empty()) changes.push_back({"axis", axes});
  Expr made = try_call(now.callee, {data.value}, with_attributes(now, changes), now.span);
  if (!made) return nullptr;
  std::string from, to;  // of what is left
  for (const auto& [layout, left] : {std::pair{&data.from, &from}, {&data.to, &to}})
    for (char c : *layout) {
      const bool named = std::count(axes.begin(), axes.end(), static_cast<int64_t>(data.to.find(c))) > 0;
      if (keeps || (!axes.empty() && named == excludes)) *left += c;
    }
  return from == to ? made : carried(Expr(&before), made, from, to);
}

// The result has the axes that it had: a transposition of other axes gives it, or none is needed.
Expr LayoutConverter::as_transpose(const Call& before, const Call& now, const Carried& data) {
  AttrValue value = value_of(before, "axes");
  const int64_t rank = static_cast<int64_t>(data.from.size());
  const Ints* given = std::get_if<Ints>(&value);
  Ints axes;
  bool same = true;
  for (int64_t i = 0; i < rank; ++i) {
    axes.push_back(
        moved(given && !given->empty() ? (*given)[static_cast<size_t>(i)] : rank - 1 - i, data.from, data.to));
    same = same && axes.back() == i;
  }
  return same ? data.value : typed_call("transpose", {data.value}, {{"axes", axes}}, now.span);
}

Expr LayoutConverter::as_concatenation(const Call& before, const Call& now) {
  const op::OpDef& def = *as<Op>(before.callee)->def;
  const Tuple *old = as<Tuple>(before.args[0]), *parts = as<Tuple>(now.args[0]);
  if ((def.name != "concatenate" && def.name != "qnn.concatenate") || !old || !parts) return nullptr;
  const Carried* first = nullptr;
  for (const Expr& part : old->elements)
    if (!first) first = find(part);
  if (!first || rank_of(before.type) != first->from.size()) return nullptr;
  const Carried data = *first;  // the map grows
  Exprs brought_parts;
  Types types;
  for (size_t i = 0; i < parts->elements.size(); ++i) {
    brought_parts.push_back(brought(old->elements[i], parts->elements[i], data.from, data.to));
    types.push_back(brought_parts.back()->type);
  }
  Exprs args = now.args;
  args[0] = tuple(std::move(brought_parts), now.args[0]->span);
  args[0]->type = tuple_type(std::move(types));
  const int64_t axis = moved(std::get<int64_t>(value_of(before, "axis")), data.from, data.to);
  Expr made = try_call(now.callee, std::move(args), with_attributes(now, {{"axis", axis}}), now.span);
  if (!made || !equal(made->type, permuted_type(before.type, data.from, data.to))) return nullptr;
  return carried(Expr(&before), made, data.from, data.to);
}

}  // namespace relay::transform
