// Sequences: lists of tensors whose number is known at import, made and taken apart there. Optional values.
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

using ir::Expr;

namespace {

using List = std::vector<Value>;

std::optional<List> list_of(Convert& c, size_t i) {
  if (c.has(i) && c.value(i).list) return *c.value(i).list;
  return c.unsupported("input {} is not a sequence whose tensors are known at import", i);
}

// All lists of an import together are limited: each step of a graph may copy one and add a tensor.
Value made(Convert& c, List list) {
  if (!c.may_make(static_cast<int64_t>(list.size() * sizeof(Value)), DType::uint8())) return {};
  return Value(std::make_shared<const List>(std::move(list)));
}

// A place in a list of `size`, from input i; the end when it is absent.
std::optional<size_t> place(Convert& c, size_t i, size_t size, size_t otherwise) {
  if (!c.has(i)) return otherwise;
  std::optional<ir::Ints> at = c.ints(i, "the place in the sequence");
  if (!at) return std::nullopt;
  const int64_t count = static_cast<int64_t>(size);
  if (at->size() != 1 || (*at)[0] < -count || (*at)[0] > count)
    return c.bad("place [{}] does not lie in a sequence of {}", join(*at, ", "), size);
  return static_cast<size_t>((*at)[0] < 0 ? (*at)[0] + count : (*at)[0]);
}

}  // namespace

Values SequenceConstruct(Convert& c) {
  List list;
  for (size_t i = 0; i < c.inputs(); ++i) list.push_back(c.value(i));
  return {made(c, std::move(list))};
}

Values SequenceEmpty(Convert& c) { return {made(c, {})}; }

Values SequenceAt(Convert& c) {
  std::optional<List> list = list_of(c, 0);
  std::optional<size_t> at = list ? place(c, 1, list->size(), 0) : std::nullopt;
  if (!at) return {};
  if (*at >= list->size()) return c.bad("place {} does not lie in a sequence of {}", *at, list->size());
  return {(*list)[*at]};
}

Values SequenceLength(Convert& c) {
  std::optional<List> list = list_of(c, 0);
  if (!list) return {};
  return {known_scalar(scalar::imm(static_cast<int64_t>(list->size())), DType::int64())};
}

Values SequenceInsert(Convert& c) {
  std::optional<List> list = list_of(c, 0);
  std::optional<size_t> at = list ? place(c, 2, list->size(), list->size()) : std::nullopt;
  if (!at) return {};
  list->insert(list->begin() + static_cast<std::ptrdiff_t>(*at), c.value(1));
  return {made(c, *std::move(list))};
}

Values SequenceErase(Convert& c) {
  std::optional<List> list = list_of(c, 0);
  if (!list) return {};
  std::optional<size_t> at = place(c, 1, list->size(), list->empty() ? 0 : list->size() - 1);
  if (!at) return {};
  if (*at >= list->size()) return c.bad("place {} does not lie in a sequence of {}", *at, list->size());
  list->erase(list->begin() + static_cast<std::ptrdiff_t>(*at));
  return {made(c, *std::move(list))};
}

Values ConcatFromSequence(Convert& c) {
  std::optional<List> list = list_of(c, 0);
  if (!list) return {};
  if (list->empty()) return c.bad("the sequence is empty");
  const bool stack = c.integer("new_axis", 0) != 0;
  ir::Exprs parts;
  for (const Value& v : *list) {
    Expr e = c.expression(v);
    if (!e) return {};
    parts.push_back(e);
  }
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(parts[0]) + (stack ? 1 : 0));
  if (!axis) return {};
  if (stack)
    for (Expr& e : parts) e = c.expand(e, *axis);
  return {c.concatenate(parts, *axis)};
}

// Parts of given sizes, of one size, or of 1.
Values SplitToSequence(Convert& c) {
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(x));
  if (!axis) return {};
  std::optional<int64_t> extent = c.extent(x, *axis);
  if (!extent)
    return c.unsupported("axis {} of {} has no fixed size; give the inputs' shapes (--shape)", *axis, ir::str(x->type));
  ir::Ints sizes;
  std::optional<ir::Ints> given = c.has(1) ? c.ints(1, "split") : std::optional(ir::Ints{1});
  if (!given) return {};
  const bool one = !c.has(1) || c.rank(c.input(1)) == 0;
  if (one && (given->size() != 1 || (*given)[0] < 1)) return c.bad("split is [{}]", join(*given, ", "));
  for (int64_t left = *extent; one && left > 0; left -= (*given)[0]) {
    sizes.push_back(std::min(left, (*given)[0]));
    if (sizes.size() > max_known) return c.unsupported("a sequence of more than {} tensors", max_known);
  }
  if (!one) sizes = *given;
  List list;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > *extent - begin) return c.bad("split is [{}] of {} elements", join(sizes, ", "), *extent);
    Expr e = c.slice(x, *axis, begin, begin + size);
    begin += size;
    list.push_back(Value(!c.has(1) && !c.integer("keepdims", 1) ? c.squeeze(e, *axis) : e));
  }
  if (begin != *extent) return c.bad("split is [{}] of {} elements", join(sizes, ", "), *extent);
  return {made(c, std::move(list))};
}

// The body for each element of the first sequence, beside the same element of the others, and tensors as they are.
Values SequenceMap(Convert& c) {
  const Graph* body = c.graph("body");
  std::optional<List> first = body ? list_of(c, 0) : std::nullopt;
  if (!first) return {};
  std::vector<List> results(body->outputs.size());
  for (size_t k = 0; k < first->size(); ++k) {
    Values inputs;
    for (size_t i = 0; i < c.inputs(); ++i) {
      const Value& v = c.value(i);
      if (v.list && k >= v.list->size()) return c.bad("sequence {} is shorter than the first", i);
      inputs.push_back(v.list ? (*v.list)[k] : v);
    }
    std::optional<Values> outputs = c.body(*body, inputs);
    if (!outputs) return {};
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back((*outputs)[i]);
  }
  Values all;
  for (List& list : results) all.push_back(made(c, std::move(list)));
  return all;
}

// A value that is there is as good as the value itself.
Values Optional(Convert& c) { return {c.has(0) ? c.value(0) : Value::absent()}; }
Values OptionalGetElement(Convert& c) {
  if (c.value(0).none) return c.bad("the optional value is not there");
  return {c.value(0)};
}
Values OptionalHasElement(Convert& c) {
  return {known_scalar(scalar::imm(c.has(0) && !c.value(0).none ? 1 : 0), DType::boolean())};
}

}  // namespace relay::onnx::convert
