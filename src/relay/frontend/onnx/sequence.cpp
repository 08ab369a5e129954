// Sequences: lists of tensors, made and split at import if their number is known, and otherwise at run time (lists.h).
// Optional values.
#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/lists.h"

namespace relay::onnx::convert {

using ir::Expr;
using ir::Exprs;

namespace {

using List = std::vector<Value>;

std::optional<List> list_of(Convert& c, size_t i) {
  if (c.has(i) && c.value(i).list) return *c.value(i).list;
  return c.bad("input {} is not a sequence", i);
}

// True if input 0, or a place in it, is known only at run time; then input 0 becomes such a list.
bool is_computed(Convert& c, size_t place_input) {
  if (!c.has(0)) return false;
  const bool known_place = !c.has(place_input) || c.known(place_input);
  return lists::is_list(c.value(0)) || (c.value(0).list && !c.value(0).list->empty() && !known_place);
}

Expr computed_list(Convert& c) {
  ir::Type type = lists::type_of(c, c.value(0));
  return type ? lists::as(c, c.value(0), type) : Expr();
}

// Input i as an int64 scalar.
Expr number_input(Convert& c, size_t i) {
  Expr e = c.cast(c.input(i), DType::int64());
  return e && c.rank(e) > 0 ? c.reshape(e, {}) : e;
}

// All lists of an import together are limited: each step of a graph may copy one and add a tensor.
Value made(Convert& c, List list) {
  if (!c.may_make(static_cast<int64_t>(list.size() * sizeof(Value)), DType::uint8())) return {};
  return Value(std::make_shared<const List>(std::move(list)));
}

// A place in a list of `size`, from input i; `otherwise` if absent.
std::optional<size_t> place(Convert& c, size_t i, size_t size, size_t otherwise) {
  if (!c.has(i)) return otherwise;
  std::optional<ir::Ints> at = c.ints(i, "the position in the sequence");
  if (!at) return std::nullopt;
  const int64_t count = static_cast<int64_t>(size);
  if (at->size() != 1 || (*at)[0] < -count || (*at)[0] > count)
    return c.bad("position [{}] is outside of a sequence of {}", join(*at, ", "), size);
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
  if (is_computed(c, 1)) {
    Expr list = computed_list(c);
    if (!list) return {};
    return {lists::call(c, "sequence_at", {list, number_input(c, 1)}, lists::element_of_list(list->type))};
  }
  std::optional<List> list = list_of(c, 0);
  std::optional<size_t> at = list ? place(c, 1, list->size(), 0) : std::nullopt;
  if (!at) return {};
  if (*at >= list->size()) return c.bad("position {} is outside of a sequence of {}", *at, list->size());
  return {(*list)[*at]};
}

Values SequenceLength(Convert& c) {
  if (c.has(0) && lists::is_list(c.value(0)))
    return {lists::call(c, "sequence_length", {c.value(0).expr}, ir::tensor_type({}, DType::int64()))};
  std::optional<List> list = list_of(c, 0);
  if (!list) return {};
  return {known_scalar(scalar::imm(static_cast<int64_t>(list->size())), DType::int64())};
}

Values SequenceInsert(Convert& c) {
  if (is_computed(c, 2)) {
    Expr list = computed_list(c), x = c.input(1);
    if (!c.has(2)) return {lists::append(c, list, x)};
    if (!list || !x) return {};
    ir::Type element = lists::common(lists::element_of_list(list->type), x->type);
    if (!element) return lists::mixed(c, x->type, lists::element_of_list(list->type));
    ir::Type type = lists::list_of(element);
    return {lists::call(c, "sequence_insert",
                        {lists::widened(c, list, type), number_input(c, 2), c.widened(x, element)}, type)};
  }
  std::optional<List> list = list_of(c, 0);
  std::optional<size_t> at = list ? place(c, 2, list->size(), list->size()) : std::nullopt;
  if (!at) return {};
  list->insert(list->begin() + static_cast<std::ptrdiff_t>(*at), c.value(1));
  return {made(c, *std::move(list))};
}

Values SequenceErase(Convert& c) {
  if (is_computed(c, 1)) {
    Expr list = computed_list(c), at = c.has(1) ? number_input(c, 1) : c.integer_scalar(-1);
    return {list ? lists::call(c, "sequence_erase", {list, at}, list->type) : Expr()};
  }
  std::optional<List> list = list_of(c, 0);
  if (!list) return {};
  std::optional<size_t> at = place(c, 1, list->size(), list->empty() ? 0 : list->size() - 1);
  if (!at) return {};
  if (*at >= list->size()) return c.bad("position {} is outside of a sequence of {}", *at, list->size());
  list->erase(list->begin() + static_cast<std::ptrdiff_t>(*at));
  return {made(c, *std::move(list))};
}

namespace {

// The tensors of a list in one, joined by halves so that each is copied once per halving. The last come first:
//   fn (%count, %list) -> (%count tensors as one, the rest of the list)
Expr joined_by_halves(Convert& c, const Expr& list, int64_t axis, bool stack) {
  ir::Type element = lists::element_of_list(list->type);
  ir::VarRef count = c.variable("count", ir::tensor_type({}, DType::int64())), rest = c.variable("rest", list->type);
  auto head = [&](const Expr& of) { return lists::call(c, "hd", {of}, element); };
  Expr one = stack ? c.expand(head(rest), axis) : head(rest);
  ir::Dims shape = c.shape(one);
  shape[static_cast<size_t>(axis)] = scalar::any_dim();
  const ir::Type stacked = ir::tensor_type(shape, c.dtype(one)), result = ir::tuple_type({stacked, list->type});
  ir::VarRef join = c.variable("join", ir::func_type({count->type, list->type}, result));
  auto recursive_call = [&](const Expr& n, const Expr& of) {
    Expr made = ir::call(join, {n, of}, {}, c.place());
    made->type = result;
    return made;
  };
  Expr half = c.emit("floor_divide", {count, c.integer_scalar(2)});
  if (!one || !half) return nullptr;
  ir::VarRef second = c.variable("second", result), first = c.variable("first", result);
  Expr both = c.concatenate({c.get(first, 0), c.get(second, 0)}, axis);
  Expr halves =
      c.let(first, recursive_call(c.subtract(count, half), c.get(second, 1)), c.tuple({both, c.get(first, 1)}));
  halves = c.let(second, recursive_call(half, rest), halves);
  Expr single = c.tuple({c.widened(one, stacked), lists::call(c, "tl", {rest}, list->type)});
  Expr body = c.choose(c.emit("less_equal", {count, c.integer_scalar(1)}), single, halves);
  if (!body) return nullptr;
  ir::FunctionRef function = ir::function({count, rest}, body, result, {}, {}, c.place());
  function->type = join->type;
  Expr length = lists::call(c, "sequence_length", {list}, count->type);
  return c.get(c.let(join, function, recursive_call(length, list)), 0);
}

}  // namespace

Values ConcatFromSequence(Convert& c) {
  if (c.has(0) && lists::is_list(c.value(0))) {
    const Expr& list = c.value(0).expr;
    const ir::TensorType* element = ir::as<ir::TensorType>(lists::element_of_list(list->type));
    const bool new_axis = c.integer("new_axis", 0) != 0;
    if (!element) return c.unsupported("a sequence of {}", ir::str(lists::element_of_list(list->type)));
    std::optional<int64_t> axis =
        c.axis(c.integer("axis", 0), static_cast<int64_t>(element->shape.size()) + (new_axis ? 1 : 0));
    return {axis ? joined_by_halves(c, list, *axis, new_axis) : Expr()};
  }
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
  Value all(c.concatenate(parts, *axis));
  all.carried = list->front().carried;
  return {all};
}

namespace {

// The number of parts, and the beginning and end of each: int64 scalars.
struct Parts {
  Expr count;
  std::function<std::pair<Expr, Expr>(const Expr& index)> range;
};

std::optional<Parts> parts_of(Convert& c, const Expr& extent, Captures& outside) {
  Expr split = c.has(1) ? c.cast(c.input(1), DType::int64()) : c.integer_scalar(1);
  if (!split || !extent) return std::nullopt;
  if (c.rank(split) > 1) return c.bad("split is {}", ir::str(split->type));
  if (c.rank(split) == 1) {
    split = checked_parts(c, split, extent);
    Expr ends = outside.hold(c.emit("cumsum", {split}, {{"axis", int64_t{0}}})), sizes = outside.hold(split);
    auto at = [&c](const Expr& list, const Expr& i) { return c.emit("take", {list, i}, {{"axis", int64_t{0}}}); };
    return Parts{c.size_of(split, 0), [=, &c](const Expr& i) {
                   Expr end = at(ends, i);
                   return std::pair(c.subtract(end, at(sizes, i)), end);
                 }};
  }
  if (c.has(1))
    split = refused_where(c, split, c.emit("less", {split, c.integer_scalar(1)}), "split is below 1",
                          "give the size of a part, 1 or more");
  Expr size = outside.hold(split), whole = outside.hold(extent), one = c.integer_scalar(1);
  Expr count = c.emit("floor_divide", {c.subtract(c.add(whole, size), one), size});
  return Parts{count, [=, &c](const Expr& i) {
                 Expr begin = c.multiply(i, size);
                 return std::pair(begin, c.emit("minimum", {c.add(begin, size), whole}));
               }};
}

// For an axis, or sizes of parts, that are known only at run time.
Values computed_parts(Convert& c, const Expr& x, int64_t axis) {
  const bool drops_axis = !c.has(1) && !c.integer("keepdims", 1);
  Captures outside(c);
  const Expr data = outside.hold(x);
  std::optional<Parts> parts = parts_of(c, c.size_of(data, axis), outside);
  if (!parts) return {};
  ir::Dims shape = c.shape(x);
  if (drops_axis)
    shape.erase(shape.begin() + axis);
  else
    shape[static_cast<size_t>(axis)] = c.has(1) ? scalar::any_dim() : scalar::imm(1);
  Steps steps;
  steps.count = parts->count;
  steps.state = {lists::empty(c, lists::list_of(ir::tensor_type(shape, c.dtype(x))))};
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr& index, const Exprs& state) {
    Expr part;
    if (!c.has(1)) {
      part = c.emit("take", {data, index}, {{"axis", axis}});
      if (!drops_axis) part = c.expand(part, axis);
    } else {
      auto [begin, end] = parts->range(index);
      Expr places = c.emit("arange", {begin, end, c.integer_scalar(1)});
      part = c.emit("take", {data, places}, {{"axis", axis}, {"mode", "clip"}});
    }
    return std::optional(Step{.condition = {}, .state = {lists::append(c, state[0], part)}, .outputs = {}});
  });
  return all ? Values{Value(all->state[0])} : Values();
}

}  // namespace

// Parts of specified sizes, of one size, or of size 1.
Values SplitToSequence(Convert& c) {
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(x));
  if (!axis) return {};
  std::optional<int64_t> extent = c.extent(x, *axis);
  if (!extent || (c.has(1) && !c.is_static(1))) return computed_parts(c, x, *axis);
  ir::Ints sizes;
  std::optional<ir::Ints> split = c.has(1) ? c.ints(1, "split") : std::optional(ir::Ints{1});
  if (!split) return {};
  const bool one = !c.has(1) || c.rank(c.input(1)) == 0;
  if (one && (split->size() != 1 || (*split)[0] < 1)) return c.bad("split is [{}]", join(*split, ", "));
  for (int64_t left = *extent; one && left > 0; left -= (*split)[0]) {
    sizes.push_back(std::min(left, (*split)[0]));
    if (sizes.size() > max_known) return c.unsupported("a sequence of more than {} tensors", max_known);
  }
  if (!one) sizes = *split;
  List list;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > *extent - begin) return c.bad("split is [{}] of {} elements", join(sizes, ", "), *extent);
    Expr e = c.slice(x, *axis, begin, begin + size);
    begin += size;
    list.push_back(Value(!c.has(1) && !c.integer("keepdims", 1) ? c.squeeze(e, *axis) : e));
    list.back().carried = c.value(0).carried;
  }
  if (begin != *extent) return c.bad("split is [{}] of {} elements", join(sizes, ", "), *extent);
  return {made(c, std::move(list))};
}

namespace {

// SequenceMap if a sequence is known only at run time: from the first elements on, each result in front of the previous
// ones.
Values computed_map(Convert& c, const Graph& body) {
  Captures outside(c);
  Steps steps;
  std::vector<size_t> sequences;
  Values inputs;
  for (size_t i = 0; i < c.inputs(); ++i) {
    inputs.push_back(c.value(i).list || lists::is_list(c.value(i)) ? c.value(i) : outside.hold(c.value(i)));
    if (!inputs[i].list && !lists::is_list(inputs[i])) continue;
    ir::Type type = lists::type_of(c, inputs[i]);
    if (!type) return {};
    steps.state.push_back(lists::reversed(c, lists::as(c, inputs[i], type)));
    sequences.push_back(i);
  }
  if (!steps.state[0]) return {};
  auto enter = [&](const Value& value) { return outside.hold(value); };
  auto results = [&](const Exprs& elements) {
    Values arguments = inputs;
    for (size_t k = 0; k < sequences.size(); ++k) arguments[sequences[k]] = Value(elements[k]);
    return c.tensors_of(body, arguments, enter);
  };
  // The body's results determine the type of the initially empty lists.
  Exprs examples;
  for (const Expr& list : steps.state) examples.push_back(c.variable("element", lists::element_of_list(list->type)));
  std::optional<Values> types = results(examples);
  if (!types) return {};
  const Expr length = lists::call(c, "sequence_length", {steps.state[0]}, ir::tensor_type({}, DType::int64()));
  steps.count = length;
  for (const Value& v : *types) steps.state.push_back(lists::empty(c, lists::list_of(v.expr->type)));
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr&, const Exprs& state) {
    Exprs elements;
    Step step;
    for (size_t k = 0; k < sequences.size(); ++k) {
      elements.push_back(lists::call(c, "hd", {state[k]}, lists::element_of_list(state[k]->type)));
      step.state.push_back(lists::call(c, "tl", {state[k]}, state[k]->type));
    }
    std::optional<Values> made = results(elements);
    if (!made) return std::optional<Step>();
    for (size_t i = 0; i < made->size(); ++i)
      step.state.push_back(lists::append(c, state[sequences.size() + i], (*made)[i].expr));
    return std::optional(step);
  });
  if (!all) return {};
  return Values(all->state.begin() + static_cast<std::ptrdiff_t>(sequences.size()), all->state.end());
}

}  // namespace

// Applies the body to each element of the first sequence, together with the same element of the others, and unchanged
// tensors.
Values SequenceMap(Convert& c) {
  const Graph* body = c.graph("body");
  for (size_t i = 0; body && i < c.inputs(); ++i)
    if (c.has(0) && (c.value(0).list || lists::is_list(c.value(0))) && lists::is_list(c.value(i)))
      return computed_map(c, *body);
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

// A value that is present is represented by itself.
Values Optional(Convert& c) { return {c.has(0) ? c.value(0) : Value::absent()}; }
Values OptionalGetElement(Convert& c) {
  if (lists::is_option(c.value(0)))
    return {lists::call(c, "optional_get", {c.value(0).expr}, lists::element_of_option(c.value(0).expr->type))};
  if (c.value(0).none) return c.bad("the optional value is absent");
  return {c.value(0)};
}
Values OptionalHasElement(Convert& c) {
  if (c.has(0) && lists::is_option(c.value(0)))
    return {lists::call(c, "optional_has", {c.value(0).expr}, ir::tensor_type({}, DType::boolean()))};
  return {known_scalar(scalar::imm(c.has(0) && !c.value(0).none ? 1 : 0), DType::boolean())};
}

}  // namespace relay::onnx::convert
