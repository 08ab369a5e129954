// limit_width: turns concatenations, stacks and splits of very many tensors into trees of small ones.
//
//   concatenate((%x0, .., %x4999))    becomes    concatenate((concatenate((%x0, .., %x63)), concatenate(..), ..))
//   split(%x, 20000 parts)            becomes    splits of 64 parts, of 64 parts each
//
// A kernel with n operands has n addresses and n conditions at once, and compile time grows faster than n. If the outer
// concatenation is a temporary, inner ones are computed in its place (lower/plan/views.h); for a result of the
// function, or for splits, each level copies. Splits whose parts have symbolic sizes are unchanged.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

template <class T>
std::vector<T> slice(const std::vector<T>& values, size_t begin, size_t end) {
  return {values.begin() + static_cast<ptrdiff_t>(begin), values.begin() + static_cast<ptrdiff_t>(end)};
}

Expr concatenated(const char* op, Exprs parts, int64_t axis, const Span& span, size_t max_width) {
  while (parts.size() > max_width) {
    Exprs fewer;
    for (size_t begin = 0; begin < parts.size(); begin += max_width) {
      Exprs group = slice(parts, begin, std::min(parts.size(), begin + max_width));
      fewer.push_back(op::make(op, {tuple(std::move(group))}, {{"axis", axis}}, span));
    }
    parts = std::move(fewer);
    op = "concatenate";  // for the stacked tensors
  }
  return op::make(op, {tuple(std::move(parts))}, {{"axis", axis}}, span);
}

// The parts of x between `cuts`, the first of which is the beginning of x and the last its end.
void cut(const Expr& x, const Ints& cuts, int64_t axis, const Span& span, size_t max_width, Exprs& parts) {
  const size_t n = cuts.size() - 1;
  if (n == 1) return parts.push_back(x);
  size_t step = 1;  // parts of x in each piece of the current cut
  while (n > step * max_width) step *= max_width;
  Ints places;
  for (size_t i = step; i < n; i += step) places.push_back(cuts[i] - cuts[0]);
  const Expr pieces = op::make("split", {x}, {{"indices_or_sections", places}, {"axis", axis}}, span);
  for (size_t i = 0; i < n; i += step) {
    const Ints own = slice(cuts, i, std::min(n, i + step) + 1);
    cut(get(pieces, static_cast<int64_t>(i / step), span), own, axis, span, max_width, parts);
  }
}

Expr narrow_split(const Expr& before, const Expr& now, size_t max_width) {
  const TupleType* parts = as<TupleType>(before->type);
  const Call* call = call_of(now, "split");
  if (!call || !parts || parts->fields.size() <= max_width) return now;
  int64_t axis = attribute<int64_t>(*call, "axis", 0);
  Ints cuts{0};
  for (const Type& part : parts->fields) {
    const Dims& shape = as<TensorType>(part)->shape;
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    const Dim& extent = shape[static_cast<size_t>(axis)];
    if (!scalar::is_int(extent)) return now;  // the size of a part is unknown
    cuts.push_back(cuts.back() + extent->ivalue);
  }
  Exprs made;
  cut(call->args[0], cuts, axis, now->span, max_width, made);
  return tuple(std::move(made), now->span);
}

Expr narrow(const Expr& before, const Expr& now, size_t max_width) {
  for (const char* op : {"concatenate", "stack"}) {
    const Call* call = call_of(now, op);
    const Tuple* parts = call ? as<Tuple>(call->args[0]) : nullptr;
    if (!parts || parts->elements.size() <= max_width) continue;
    int64_t axis = attribute<int64_t>(*call, "axis", 0);
    if (axis < 0) axis += static_cast<int64_t>(as<TensorType>(before->type)->shape.size());
    return concatenated(op, parts->elements, axis, now->span, max_width);
  }
  return narrow_split(before, now, max_width);
}

}  // namespace

Result<Module> limit_width(const Module& module, PassContext& context) {
  const size_t max_width = static_cast<size_t>(std::max<int64_t>(context.count("limit_width.max_width"), 2));
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(
        f, context, [&](const Expr& before, const Expr& now) -> Expr { return narrow(before, now, max_width); });
  });
}

}  // namespace relay::transform
