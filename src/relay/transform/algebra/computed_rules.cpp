#include "relay/transform/algebra/computed_rules.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "relay/transform/attributes.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

const Call* inner_call(const Call& outer, const char* name) { return call_of(outer.args[0], name); }

// transpose(transpose(x))
Expr compose_transposes(const Call& outer, const Type& type) {
  const Call* inner = inner_call(outer, "transpose");
  const TensorType* tensor = as<TensorType>(type);
  if (!tensor) return nullptr;
  const int64_t rank = static_cast<int64_t>(tensor->shape.size());
  auto axes_of = [&](const Call& call) {
    OptInts axes = attribute<OptInts>(call, "axes", std::nullopt);
    Ints result(static_cast<size_t>(rank));
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t axis = axes && !axes->empty() ? (*axes)[static_cast<size_t>(i)] : rank - 1 - i;
      result[static_cast<size_t>(i)] = axis < 0 ? axis + rank : axis;
    }
    return result;
  };
  Ints both = axes_of(outer);
  if (inner) {
    const Ints first = axes_of(*inner);
    for (int64_t& axis : both) axis = first[static_cast<size_t>(axis)];
  }
  const Expr& x = inner ? inner->args[0] : outer.args[0];
  if (std::is_sorted(both.begin(), both.end())) return x;
  return inner ? typed_call("transpose", {x}, {{"axes", both}}, outer.span) : nullptr;
}

// layout_transform(layout_transform(x)), and a transform to the current layout.
Expr compose_layouts(const Call& outer, const Type& type) {
  const std::string from = attribute<std::string>(outer, "src_layout", ""),
                    to = attribute<std::string>(outer, "dst_layout", "");
  if (from == to) return outer.args[0];
  const Call* inner = inner_call(outer, "layout_transform");
  if (!inner || attribute<std::string>(*inner, "dst_layout", "") != from) return nullptr;
  const std::string first = attribute<std::string>(*inner, "src_layout", "");
  // Blocks are padded if they do not divide the axes: one step yields the same type only if no padding was involved.
  const Expr direct = first == to ? inner->args[0]
                                  : typed_call("layout_transform", {inner->args[0]},
                                               {{"src_layout", first}, {"dst_layout", to}}, outer.span);
  return equal(direct->type, type) ? direct : nullptr;
}

// True if every value of `from` is representable in `to`.
bool holds_all(DType to, DType from) {
  if (to == from || from.is_bool()) return true;
  if (to.is_bool() || (from.is_float() && !to.is_float())) return false;
  auto digits = [](DType t) {
    if (t.code == DType::Code::BFloat) return 8;
    if (t.is_float()) return t.bits == 16 ? 11 : t.bits == 32 ? 24 : 53;
    return t.code == DType::Code::Int ? t.bits - 1 : static_cast<int>(t.bits);
  };
  auto exponents = [](DType t) { return t.code == DType::Code::BFloat || t.bits == 32 ? 8 : t.bits == 16 ? 5 : 11; };
  if (from.is_float()) return digits(to) >= digits(from) && exponents(to) >= exponents(from);
  const bool sign = from.code == DType::Code::Int;
  if (sign && to.code == DType::Code::UInt) return false;
  return digits(to) >= digits(from);
}

// cast(cast(x)), if the inner one loses nothing.
Expr compose_casts(const Call& outer, const Type& type) {
  const Call* inner = inner_call(outer, "cast");
  const TensorType *middle = as<TensorType>(outer.args[0]->type), *to = as<TensorType>(type);
  const TensorType* from = inner ? as<TensorType>(inner->args[0]->type) : nullptr;
  if (!middle || !to || !from || !holds_all(middle->dtype, from->dtype)) return nullptr;
  // Integers wrap around, floats beyond an integer type do not.
  if (from->dtype.is_int() && middle->dtype.is_float() && !to->dtype.is_float() && !to->dtype.is_bool() &&
      !holds_all(to->dtype, from->dtype))
    return nullptr;
  // For bool: a cast to it tests for non-zero, with the same result for the widened value.
  if (from->dtype == to->dtype) return inner->args[0];
  return typed_call("cast", {inner->args[0]}, {{"dtype", to->dtype}}, outer.span);
}

// True if bounds of integers are integers; fractional bounds would be truncated.
bool has_whole_bounds(const Call& clip) {
  const TensorType* t = as<TensorType>(clip.args[0]->type);
  if (!t || t->dtype.is_float()) return t;
  for (const char* name : {"a_min", "a_max"})
    if (const double bound = attribute<double>(clip, name, 0); bound != std::trunc(bound)) return false;
  return true;
}

// clip(clip(x)): intersects the bounds. If the intersection is empty, those of the outer clip apply.
Expr compose_clips(const Call& outer, const Type&) {
  const Call* inner = inner_call(outer, "clip");
  if (!inner || !has_whole_bounds(outer) || !has_whole_bounds(*inner)) return nullptr;
  auto bound = [](const Call& call, const char* name) { return attribute<double>(call, name, 0); };
  const double low = bound(outer, "a_min"), high = bound(outer, "a_max");
  if (low > high || bound(*inner, "a_min") > bound(*inner, "a_max")) return nullptr;
  const double least = std::clamp(bound(*inner, "a_min"), low, high),
               most = std::clamp(bound(*inner, "a_max"), low, high);
  return typed_call("clip", {inner->args[0]}, {{"a_min", least}, {"a_max", most}}, outer.span);
}

// The range of an integer type; nullopt for others.
std::optional<std::pair<double, double>> range_of(const Type& type) {
  const TensorType* t = as<TensorType>(type);
  if (!t || !t->dtype.is_int() || t->dtype.bits > 32) return std::nullopt;
  const double whole = static_cast<double>(int64_t{1} << t->dtype.bits);
  return t->dtype.code == DType::Code::UInt ? std::pair(0.0, whole - 1) : std::pair(-whole / 2, whole / 2 - 1);
}

// clip(x) and clip(cast(x)) with bounds that contain every value of an integer type.
Expr needless_clip(const Call& outer, const Type& type) {
  if (Expr one = compose_clips(outer, type)) return one;
  const Call* cast = inner_call(outer, "cast");
  const auto range = range_of(cast ? cast->args[0]->type : outer.args[0]->type);
  if (!range || attribute<double>(outer, "a_min", 0) > range->first ||
      attribute<double>(outer, "a_max", 0) < range->second)
    return nullptr;
  const TensorType* middle = as<TensorType>(outer.args[0]->type);
  if (cast && !holds_all(middle->dtype, as<TensorType>(cast->args[0]->type)->dtype)) return nullptr;
  return outer.args[0];
}

// cast(clip(cast(x))) to the type of x, with bounds of that type: clip(x).
Expr clip_between_casts(const Call& outer, const Type& type) {
  if (Expr one = compose_casts(outer, type)) return one;
  const Call* clip = inner_call(outer, "clip");
  const Call* widened = clip ? call_of(clip->args[0], "cast") : nullptr;
  const TensorType *middle = clip ? as<TensorType>(clip->args[0]->type) : nullptr, *to = as<TensorType>(type);
  const auto range = range_of(type);
  if (!widened || !range || !equal(widened->args[0]->type, type) || !holds_all(middle->dtype, to->dtype))
    return nullptr;
  const double low = attribute<double>(*clip, "a_min", 0), high = attribute<double>(*clip, "a_max", 0);
  if (low > range->second || high < range->first || low > high) return nullptr;
  if (low <= range->first && high >= range->second) return widened->args[0];
  if (low != static_cast<double>(static_cast<int64_t>(std::max(low, range->first))) ||
      high != static_cast<double>(static_cast<int64_t>(std::min(high, range->second))))
    return nullptr;  // a fractional bound, or one beyond the type
  return typed_call("clip", {widened->args[0]}, {{"a_min", low}, {"a_max", high}}, outer.span);
}

// collapse_sum_like(x, y) with numeric sizes: sum(x), reshaped to the shape of y. The values of y are not needed then.
Expr concrete_collapse(const Call& outer, const Type& type) {
  const TensorType *from = as<TensorType>(outer.args[0]->type), *to = as<TensorType>(type);
  if (!from || !to) return nullptr;
  const size_t front = from->shape.size() - to->shape.size();
  Ints axes;
  for (size_t d = 0; d < from->shape.size(); ++d) {
    if (!scalar::is_int(from->shape[d]) || (d >= front && !scalar::is_int(to->shape[d - front]))) return nullptr;
    const bool kept = d >= front && (from->shape[d]->ivalue == to->shape[d - front]->ivalue);
    if (!kept) axes.push_back(static_cast<int64_t>(d));
  }
  if (axes.empty()) return outer.args[0];
  const Expr sum = typed_call("sum", {outer.args[0]}, {{"axis", axes}, {"keepdims", true}}, outer.span);
  const bool is_empty = std::any_of(to->shape.begin(), to->shape.end(), [](const Dim& d) { return d->ivalue == 0; });
  if (front == 0 || is_empty) return sum;
  return typed_call("reshape", {sum}, {{"newshape", to->shape}}, outer.span);
}

// A product of a number and two other factors.
struct Product {
  double number = 1;
  Exprs factors;
};
std::optional<Product> as_product(const Expr& e) {
  Product out;
  Exprs work{e};
  while (!work.empty()) {
    const Expr next = work.back();
    work.pop_back();
    const Constant* c = as<Constant>(next);
    const Call* product = call_of(next, "multiply");
    if (c && c->value.elements() == 1 && c->value.shape().empty())
      out.number *= c->value.at(0);
    else if (product && out.factors.size() + work.size() < 2)
      work.insert(work.end(), {product->args[1], product->args[0]});
    else
      out.factors.push_back(next);
    if (out.factors.size() > 2) return std::nullopt;
  }
  return out.factors.size() == 2 ? std::optional(out) : std::nullopt;
}

// a x x + b x y + c y y with real roots: a (x + p y) (x + q y).
Expr factorise(const Call& outer, const Type& type) {
  const TensorType* t = as<TensorType>(type);
  const bool left = call_of(outer.args[0], "add");
  const Call* inner = left ? call_of(outer.args[0], "add") : call_of(outer.args[1], "add");
  if (!t || !t->dtype.is_float() || !inner) return nullptr;
  std::vector<Product> squares, mixed;
  for (const Expr& e : {inner->args[0], inner->args[1], outer.args[left ? 1 : 0]}) {
    std::optional<Product> term = as_product(e);
    if (!term) return nullptr;
    (term->factors[0] == term->factors[1] ? squares : mixed).push_back(*term);
  }
  if (squares.size() != 2 || mixed.size() != 1) return nullptr;
  const Expr x = squares[0].factors[0], y = squares[1].factors[0];
  const Exprs& both = mixed[0].factors;
  if (!((both[0] == x && both[1] == y) || (both[0] == y && both[1] == x))) return nullptr;
  const double a = squares[0].number, b = mixed[0].number, c = squares[1].number, under = b * b - 4 * a * c;
  if (a == 0 || !(under >= 0)) return nullptr;
  const DType dtype = t->dtype;
  auto factor = [&](double p) {
    const Expr part = p == 1 ? y : typed_call("multiply", {y, typed_scalar(p, dtype)}, {}, outer.span);
    return typed_call("add", {x, part}, {}, outer.span);
  };
  const double root = std::sqrt(under);
  const Expr first = factor((b - root) / (2 * a)), second = factor((b + root) / (2 * a));
  const Expr product = typed_call("multiply", {first, second}, {}, outer.span);
  return a == 1 ? product : typed_call("multiply", {product, typed_scalar(a, dtype)}, {}, outer.span);
}

}  // namespace

const std::vector<ComputedRule>& computed_rules() {
  static const std::vector<ComputedRule> table = {
      {"transpose_transpose", "transpose(transpose(x)) becomes transpose(x) or x", "transpose", compose_transposes},
      {"layout_layout", "layout_transform(layout_transform(x)) becomes layout_transform(x) or x", "layout_transform",
       compose_layouts},
      {"cast_cast", "cast(cast(x)) or cast(clip(cast(x))) becomes cast(x), clip(x) or x", "cast", clip_between_casts},
      {"clip_clip", "clip(clip(x)) becomes clip(x), and clip(x) to all values of an integer type x", "clip",
       needless_clip},
      {"concrete_collapse", "collapse_sum_like(x, y) becomes sum(x)", "collapse_sum_like", concrete_collapse},
      {"factorise", "a x x + b x y + c y y becomes a (x + p y) (x + q y)", "add", factorise, true},
  };
  return table;
}

}  // namespace relay::transform
