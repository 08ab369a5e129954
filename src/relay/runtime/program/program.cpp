#include "relay/runtime/program/program.h"

#include <algorithm>

#include "relay/base/axis_order.h"

namespace relay::runtime {

// --- shape variables -------------------------------------------------------------------------------------------------

namespace {

// The common part of a segment and a signature.
struct Dims {
  const std::string& name;  // of the segment or signature
  const std::vector<std::string>& variables;
  const std::vector<VariableBinding>& bindings;
  const std::vector<Check>& checks;
  struct Input {
    const std::string& name;
    const std::vector<SizeExpr>& shape;
    bool is_tensor = true;
  };
  std::vector<Input> inputs;
};

}  // namespace

static bool uses(const SizeExpr& e, uint32_t variable) {
  return std::any_of(e.words.begin(), e.words.end(), [&](const SizeWord& w) {
    return w.op == SizeOp::Var && w.value == static_cast<int64_t>(variable);
  });
}

// The required shape of an input: "(n, 4)".
static std::string shape_text(const Dims& f, size_t input) {
  std::vector<std::string> dims;
  for (const SizeExpr& e : f.inputs[input].shape) dims.push_back(str(e, f.variables));
  return format("({})", join(dims, ", "));
}

static std::string shape_wanted(const Dims& f, size_t input) {
  return format("give `{}` the shape {}, or compile the model for other shapes", f.inputs[input].name,
                shape_text(f, input));
}

// The advice for a shape that is wrong: the transpose that makes it right, or the way to compile for it if a fixed size
// is in the way.
static std::string shape_help(const Dims& f, size_t input, const Shape& shape, bool is_fixed,
                              std::span<const int64_t> values) {
  std::vector<int64_t> wanted;
  for (const SizeExpr& e : f.inputs[input].shape)
    wanted.push_back(e.as_constant() ? evaluate(e, values).value_or(-1) : -1);
  const std::string transpose = transpose_help(wanted, shape);
  if (!transpose.empty()) return transpose;
  if (!is_fixed) return shape_wanted(f, input);
  return format("give `{0}` the shape {1}, or compile the model for this one: --shape {0}={2}, in Python shapes=",
                f.inputs[input].name, shape_text(f, input), join(shape, ",")) +
         format("{{'{}': ({})}}", f.inputs[input].name, join(shape, ", "));
}

static Diagnostic wrong_dimension(const Dims& f, size_t input, const Shape& shape, size_t dim, const SizeExpr& expected,
                                  std::span<const int64_t> values) {
  const int64_t actual = shape[dim];
  const Dims::Input& a = f.inputs[input];
  std::optional<int64_t> value = evaluate(expected, values);
  Diagnostic d{DiagnosticKind::wrong_input,
               "",
               {},
               {},
               {},
               shape_help(f, input, shape, expected.as_constant().has_value(), values)};
  d.message = format("input `{}`: dimension {} is {}", a.name, dim, actual);
  d.notes.push_back(format("the array has the shape ({}), and the input {}", join(shape, ", "), shape_text(f, input)));
  if (expected.as_constant()) {
    d.message += format(", but it must be {}", *value);
    return d;
  }
  std::string text = str(expected, f.variables);
  if (value)
    d.message += format(", but it must be {}{}", *value, text == std::to_string(*value) ? "" : format(" ({})", text));
  else
    d.message += format(", and `{}` has no value there", text);
  for (const VariableBinding& b : f.bindings) {
    if (!uses(expected, b.variable)) continue;
    if (b.input == input && b.dim == dim)
      d.message = format("input `{}`: dimension {} is {}, which is not of the form `{}`", a.name, dim, actual, text);
    else
      d.notes.push_back(format("`{}` is {}, from dimension {} of input `{}`", f.variables[b.variable],
                               values[b.variable], b.dim, f.inputs[b.input].name));
  }
  return d;
}

// Both sides of a condition that does not hold: "3 is less than 7". Empty if it has none.
static std::string both_sides(const SizeExpr& condition, std::span<const int64_t> values) {
  std::optional<std::pair<SizeExpr, SizeExpr>> sides = operands_of(condition);
  if (!sides) return "";
  const SizeOp op = condition.words.back().op;
  bool multiple =
      op == SizeOp::Eq && sides->second.as_constant() == 0 && sides->first.words.back().op == SizeOp::FloorMod;
  if (multiple) sides = operands_of(sides->first);
  std::optional<int64_t> a = evaluate(sides->first, values), b = evaluate(sides->second, values);
  if (!a || !b) return ": it has no value";
  if (multiple) return format(": {} is not a multiple of {}", *a, *b);
  if (op == SizeOp::Eq) return format(": {} is not {}", *a, *b);
  return op == SizeOp::Le ? format(": {} is less than {}", *b, *a) : "";
}

static Diagnostic violated(const Dims& f, const Check& c, std::span<const int64_t> values, bool inside) {
  std::vector<std::string> places, notes;
  for (const VariableBinding& b : f.bindings) {
    if (!uses(c.condition, b.variable)) continue;
    const int64_t value = values[b.variable];
    notes.push_back(inside ? format("`{}` is {}", f.variables[b.variable], value)
                           : format("`{}` is {}, from dimension {} of input `{}`", f.variables[b.variable], value,
                                    b.dim, f.inputs[b.input].name));
    places.push_back(
        format("input `{}`: dimension {} is {}", f.inputs[b.input].name, b.dim, value * b.factor + b.offset));
  }
  std::string wanted = c.message.empty() ? format("{} needs `{}`", f.name, str(c.condition, f.variables)) : c.message;
  wanted += both_sides(c.condition, values);
  if (inside || places.empty())
    return {DiagnosticKind::constraint,
            std::move(wanted),
            {},
            {},
            std::move(notes),
            "give inputs for which all computed sizes agree"};
  return {DiagnosticKind::wrong_input,
          format("{}, but {}", join(places, "; "), wanted),
          {},
          {},
          std::move(notes),
          "`relay check MODEL` prints all constraints on the sizes of the inputs"};
}

static Result<std::vector<int64_t>> bind(const Dims& f, std::span<const Shape> shapes, bool inside) {
  RELAY_CHECK(shapes.size() == f.inputs.size(), "{} shapes for {} inputs", shapes.size(), f.inputs.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Dims::Input& a = f.inputs[i];
    if (a.is_tensor && shapes[i].size() != a.shape.size())
      return Diagnostic{
          DiagnosticKind::wrong_input,
          format("input `{}` has {}, but it must have {}", a.name, plural(shapes[i].size(), "dimension", "dimensions"),
                 a.shape.size()),
          {},
          {},
          {format("the array has the shape ({}), and the input {}", join(shapes[i], ", "), shape_text(f, i))},
          shape_wanted(f, i)};
  }
  std::vector<int64_t> values(f.variables.size());
  for (const VariableBinding& b : f.bindings) {
    int64_t dim = shapes[b.input][b.dim], rest = 0;
    if (dim < 0 || __builtin_sub_overflow(dim, b.offset, &rest))
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("input `{}`: dimension {} is {}", f.inputs[b.input].name, b.dim, dim),
                        {},
                        {},
                        {},
                        shape_wanted(f, b.input)};
    values[b.variable] = rest / b.factor;
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Dims::Input& a = f.inputs[i];
    for (size_t d = 0; a.is_tensor && d < a.shape.size(); ++d) {
      std::optional<int64_t> expected = evaluate(a.shape[d], values);
      if (!expected || *expected != shapes[i][d]) return wrong_dimension(f, i, shapes[i], d, a.shape[d], values);
    }
  }
  for (size_t v = 0; v < values.size(); ++v)
    if (values[v] < 0)
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("shape variable `{}` is {}, but it cannot be negative", f.variables[v], values[v]),
                        {},
                        {},
                        {},
                        "give larger inputs"};
  for (const Check& c : f.checks) {
    std::optional<int64_t> holds = evaluate(c.condition, values);
    if (!holds || *holds == 0) return violated(f, c, values, inside);
  }
  return values;
}

Result<std::vector<int64_t>> bind_variables(const Segment& s, std::span<const Shape> shapes, bool inside) {
  Dims dims{s.name, s.variables, s.bindings, s.checks, {}};
  for (uint32_t input : s.inputs) dims.inputs.push_back({s.arrays[input].name, s.arrays[input].shape});
  return bind(dims, shapes, inside);
}

Result<std::vector<int64_t>> bind_variables(const Signature& s, std::span<const Shape> shapes) {
  static const std::string name = "main";
  Dims dims{name, s.variables, s.bindings, s.checks, {}};
  for (size_t i = 0; i < s.ports(); ++i) dims.inputs.push_back({s.port(i).name, s.port(i).shape, s.port(i).is_tensor});
  return bind(dims, shapes, false);
}

Signature without_fields(Signature s) {
  s.fields.clear();
  std::erase_if(s.bindings, [&](const VariableBinding& b) { return b.input >= s.inputs.size(); });
  std::vector<bool> bound(s.variables.size());
  for (const VariableBinding& b : s.bindings) bound[b.variable] = true;
  auto known = [&](const SizeExpr& e) {
    return std::all_of(e.words.begin(), e.words.end(),
                       [&](const SizeWord& w) { return w.op != SizeOp::Var || bound[static_cast<size_t>(w.value)]; });
  };
  std::erase_if(s.checks, [&](const Check& c) { return !known(c.condition); });
  for (uint32_t i = 0; i < s.inputs.size(); ++i)
    for (uint32_t d = 0; d < s.inputs[i].shape.size(); ++d) {
      if (known(s.inputs[i].shape[d])) continue;
      const uint32_t itself = static_cast<uint32_t>(s.variables.size());
      s.variables.emplace_back("?");
      bound.push_back(true);
      s.bindings.push_back({.variable = itself, .input = i, .dim = d});
      s.inputs[i].shape[d] = SizeExpr::variable(itself);
    }
  return s;
}

// --- a graph as a program with a function ----------------------------------------------------------------------------

static Port port(const Segment& s, uint32_t array, const std::string& name) {
  const Array& a = s.arrays[array];
  std::vector<std::string> dims;
  for (const SizeExpr& e : a.shape) dims.push_back(str(e, s.variables));
  return {name, format("Tensor[({}{}), {}]", join(dims, ", "), dims.size() == 1 ? "," : "", a.dtype.str()), true,
          a.dtype, a.shape};
}

Signature graph_signature(const Program& graph) {
  const Segment& s = graph.graph();
  Signature out{s.variables, {}, {}, s.bindings, s.checks, {}};
  for (uint32_t input : s.inputs) out.inputs.push_back(port(s, input, s.arrays[input].name));
  for (size_t i = 0; i < s.outputs.size(); ++i)
    out.outputs.push_back(
        port(s, s.outputs[i], s.output_names.empty() ? s.arrays[s.outputs[i]].name : s.output_names[i]));
  return out;
}

}  // namespace relay::runtime
