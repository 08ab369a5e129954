#include "relay/frontend/common/ops/computed.h"

#include <algorithm>

#include "relay/ir/call_of.h"

namespace relay::frontend {

using ir::Expr;
using ir::Ints;

// The elements of a list of sizes, as far as they are constants: those of joined lists one by one, up to `depth`
// operators deep. Empty if the list is longer than any shape.
static std::vector<std::optional<int64_t>> partly_known(const Expr& list, int depth = 8) {
  constexpr int64_t max_sizes = 1024;
  const ir::TensorType* type = ir::as<ir::TensorType>(list->type);
  const int64_t count = is_int(type->shape[0]) ? type->shape[0]->ivalue : 0;
  std::vector<std::optional<int64_t>> elements;
  if (count == 0 || count > max_sizes) return elements;
  if (depth == 0) return std::vector<std::optional<int64_t>>(static_cast<size_t>(count));
  if (const ir::Constant* c = ir::as<ir::Constant>(list); c && !c->value.dtype().is_float())
    for (int64_t i = 0; i < count; ++i) elements.push_back(c->value.int_at(i));
  const ir::Call* joined = ir::call_of(list, "concatenate");
  const ir::Tuple* parts = joined ? ir::as<ir::Tuple>(joined->args[0]) : nullptr;
  if (const ir::Call* cast = ir::call_of(list, "cast")) elements = partly_known(cast->args[0], depth - 1);
  for (const Expr& part : parts ? parts->elements : ir::Exprs()) {
    const std::vector<std::optional<int64_t>> more = partly_known(part, depth - 1);
    elements.insert(elements.end(), more.begin(), more.end());
  }
  elements.resize(static_cast<size_t>(count));
  return elements;
}

// e, whose sizes have no expression, with those sizes that are numbers.
static Expr narrowed(Conversion& c, const Expr& e, const std::vector<std::optional<int64_t>>& sizes) {
  Ints codes;
  for (const std::optional<int64_t>& size : sizes) codes.push_back(size && *size > 0 ? *size : 0);
  const bool any = std::any_of(codes.begin(), codes.end(), [](int64_t code) { return code != 0; });
  return e && any ? c.emit("reshape", {e}, {{"newshape", codes}}) : e;
}

Expr computed_reshape(Conversion& c, const Expr& x, const Expr& shape, bool allowzero) {
  if (!x || !shape) return nullptr;
  return narrowed(c, c.emit("dyn.reshape", {x, shape}, {{"allowzero", allowzero}}), partly_known(shape));
}

// The shape counts from the last axis, and axes that are 1 in it keep the data's size.
Expr computed_expand(Conversion& c, const Expr& x, const Expr& shape) {
  Expr wanted = c.cast(shape, DType::int64());
  if (!x || !wanted) return nullptr;
  std::vector<std::optional<int64_t>> sizes = partly_known(wanted);
  const int64_t rank = c.rank(x), count = static_cast<int64_t>(sizes.size());
  auto ones = [&](int64_t n) { return c.constant(Tensor::full({n}, DType::int64(), 1)); };
  Expr from = c.emit("shape_of", {x}, {{"dtype", DType::int64()}});
  if (rank < count) from = c.concatenate({ones(count - rank), from}, 0);
  if (count < rank) wanted = c.concatenate({ones(rank - count), wanted}, 0);
  if (count < rank) sizes.insert(sizes.begin(), static_cast<size_t>(rank - count), 1);
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
    const int64_t axis = i - static_cast<int64_t>(sizes.size()) + rank;
    if (std::optional<int64_t>& size = sizes[static_cast<size_t>(i)]; size && *size == 1 && axis >= 0)
      size = c.extent(x, axis);
  }
  Expr open = c.emit("equal", {wanted, c.integer_scalar(1)});
  return narrowed(c, c.emit("dyn.broadcast_to", {x, c.emit("where", {open, from, wanted})}), sizes);
}

Expr numbers_to(Conversion& c, const Expr& end) {
  if (const ir::Constant* known = end ? ir::as<ir::Constant>(end) : nullptr; known && known->value.elements() == 1) {
    const int64_t count = std::max<int64_t>(known->value.int_at(0), 0);
    if (!c.may_make(count, DType::int64())) return nullptr;
    Tensor all = Tensor::empty({count}, DType::int64());
    for (int64_t i = 0; i < count; ++i) all.set_int(i, i);
    return c.constant(std::move(all));
  }
  return c.emit("arange", {c.integer_scalar(0), end, c.integer_scalar(1)}, {{"dtype", DType::int64()}});
}

Expr slice_of_size(Conversion& c, const Expr& x, int64_t axis, const ir::Dim& begin, const ir::Dim& size,
                   int64_t step) {
  if (is_int(begin, 0) && step == 1) {
    ir::Dims like(c.shape(x).size(), scalar::imm(1));
    like[static_cast<size_t>(axis)] = size;
    return c.emit("slice_like", {x, c.broadcast_to(c.scalar(0, DType::boolean()), like)}, {{"axes", Ints{axis}}});
  }
  Expr places = c.broadcast_to(c.integer_scalar(step), {size});
  places = c.emit("cumsum", {places}, {{"axis", int64_t{0}}, {"exclusive", true}});
  places = c.add(places, c.expression(Value(known_scalar(begin, DType::int64()))));
  return c.emit("take", {x, places}, {{"axis", axis}, {"mode", "clip"}});
}

Expr along_axis_of(Conversion& c, Expr e, int64_t axis, int64_t rank) {
  for (int64_t i = 0; i < axis; ++i) e = c.expand(e, 0);
  for (int64_t i = axis + 1; i < rank; ++i) e = c.expand(e, i);
  return e;
}

Expr picked(Conversion& c, const Expr& x, const Expr& places, int64_t axis) {
  return c.emit("take", {x, places}, {{"axis", axis}, {"mode", "clip"}});
}

Expr filled(Conversion& c, const Expr& x, const Expr& places, int64_t axis, const Expr& value) {
  Expr inside = c.emit("logical_and", {c.emit("less_equal", {c.integer_scalar(0), places}),
                                       c.emit("less", {places, c.size_of(x, axis)})});
  ir::Dims one = c.shape(x);
  one[static_cast<size_t>(axis)] = scalar::imm(1);
  const bool is_open = std::any_of(one.begin(), one.end(), [](const ir::Dim& d) { return scalar::is_any(d); });
  if (is_open || c.extent(x, axis).value_or(0) > 0)
    return c.emit("where", {along_axis_of(c, inside, axis, c.rank(x)), picked(c, x, places, axis), value});
  // The axis may have no elements to pick: the value is one more.
  const Expr whole = c.concatenate({x, c.broadcast_to(c.rank(value) > 0 ? c.reshape(value, {}) : value, one)}, axis);
  return picked(c, whole, c.emit("where", {inside, places, c.size_of(x, axis)}), axis);
}

}  // namespace relay::frontend
