#include "relay/runtime/program.h"

#include <algorithm>

namespace relay::runtime {

namespace {

// Collects the first thing that is wrong; the checks below read like a list of what a program is.
class Validator {
 public:
  explicit Validator(const Program& program) : program_(program) {}

  Status run() {
    limit(program_.functions.size(), Limits::functions, "functions");
    limit(program_.kernels.size(), Limits::kernels, "kernels");
    limit(program_.constants.size(), Limits::constants, "constants");
    check(!program_.functions.empty(), "it has no function");
    for (const KernelEntry& kernel : program_.kernels) {
      text(kernel.name, "a kernel's name");
      check(kernel.scratch_bytes >= 0 && kernel.scratch_bytes <= int64_t{1} << 32,
            "a kernel's scratch size is out of range");
    }
    for (const Function& f : program_.functions)
      if (!failed_) function(f);
    if (failed_) return *failed_;
    return ok();
  }

 private:
  void fail(DiagnosticKind kind, std::string message) {
    if (!failed_) failed_ = Diagnostic{kind, "the program is not valid: " + where_ + message};
  }
  template <class Message>
  void check(bool condition, Message&& message) {
    if (!condition) fail(DiagnosticKind::corrupt_file, std::string(message));
  }
  void limit(size_t count, size_t most, const char* what) {
    if (count > most)
      fail(DiagnosticKind::limit_exceeded, format("it has {} {}, more than the limit of {}", count, what, most));
  }
  void text(const std::string& s, const char* what) {
    check(!s.empty(), format("{} is empty", what));
    limit(s.size(), Limits::text, "bytes in a name");
  }
  void size(const SizeExpr& e, size_t variables, const char* what) {
    limit(e.words.size(), Limits::words, "words in a size");
    check(is_well_formed(e, variables), format("{} is not a well-formed expression", what));
  }
  void range(Range r, size_t most, const char* what) {
    check(r.begin <= most && r.count <= most - r.begin, format("{} {}+{} of {}", what, r.begin, r.count, most));
  }

  void function(const Function& f) {
    where_ = format("function `{}`: ", f.name);
    text(f.name, "a function's name");
    limit(f.variables.size(), Limits::variables, "shape variables");
    limit(f.arrays.size(), Limits::arrays, "arrays");
    limit(f.inputs.size(), Limits::arrays, "inputs");
    limit(f.outputs.size(), Limits::arrays, "outputs");
    limit(f.sizes.size(), Limits::sizes, "sizes");
    limit(f.operands.size(), Limits::operands, "operands");
    limit(f.code.size(), Limits::instructions, "instructions");
    for (size_t i = 0; i < f.arrays.size() && !failed_; ++i) array(f, i);
    for (size_t i = 0; i < f.inputs.size() && !failed_; ++i) {
      check(f.inputs[i] < f.arrays.size(), "an input is no array");
      if (failed_) return;
      const Array& a = f.arrays[f.inputs[i]];
      check(a.kind == Array::Kind::Input && a.index == i, format("input {} is not an input array", i));
    }
    check(f.output_names.empty() || f.output_names.size() == f.outputs.size(), "the outputs' names do not match");
    std::vector<bool> is_output(f.arrays.size());
    for (uint32_t output : f.outputs) {
      check(output < f.arrays.size(), "an output is no array");
      if (failed_) return;
      check(f.arrays[output].kind != Array::Kind::Temporary, "an output is a temporary");
      is_output[output] = true;
    }
    for (size_t i = 0; i < f.arrays.size(); ++i)
      check(f.arrays[i].kind != Array::Kind::Output || is_output[i], "an output array is not returned");
    bindings(f);
    for (const Check& c : f.checks) {
      size(c.condition, f.variables.size(), "a check");
      limit(c.message.size(), Limits::text, "bytes in a message");
    }
    for (const SizeExpr& e : f.sizes) size(e, f.variables.size(), "a size");
    for (uint32_t operand : f.operands) check(operand < f.arrays.size(), "an operand is no array");
    check(!f.code.empty() && (f.code.back().op == Op::Return || f.code.back().op == Op::Jump),
          "its code runs off the end");
    for (size_t i = 0; i < f.code.size() && !failed_; ++i) instruction(f, i);
  }

  void array(const Function& f, size_t i) {
    const Array& a = f.arrays[i];
    check(static_cast<int>(a.kind) <= static_cast<int>(Array::Kind::Temporary), "an array's kind is unknown");
    check(parse_dtype(a.dtype.str()) == a.dtype, "an array's element type is unknown");
    limit(a.name.size(), Limits::text, "bytes in a name");
    limit(a.shape.size(), Limits::rank, "dimensions");
    for (const SizeExpr& e : a.shape) size(e, f.variables.size(), "a dimension");
    size(a.bytes, f.variables.size(), "an array's size");
    if (a.kind == Array::Kind::Input)
      check(a.index < f.inputs.size() && f.inputs[a.index] == i, format("array {} is not among the inputs", i));
    if (a.kind == Array::Kind::Constant) {
      check(a.index < program_.constants.size(), "a constant does not exist");
      if (failed_) return;
      std::optional<int64_t> bytes = a.bytes.as_constant();
      check(bytes && *bytes >= 0 && static_cast<uint64_t>(*bytes) <= program_.constants[a.index].bytes(),
            "a constant is larger than what is stored");
    }
  }

  void bindings(const Function& f) {
    std::vector<bool> bound(f.variables.size());
    for (const VariableBinding& b : f.bindings) {
      check(b.variable < f.variables.size() && b.input < f.inputs.size(), "a shape variable is bound from nothing");
      if (failed_) return;
      check(b.dim < f.arrays[f.inputs[b.input]].shape.size(), "a shape variable is bound from a missing dimension");
      check(b.factor != 0 && b.factor != -1, "a shape variable's factor is not lawful");
      bound[b.variable] = true;
    }
    for (size_t v = 0; v < bound.size(); ++v)
      check(bound[v], format("shape variable `{}` is not bound", f.variables[v]));
    for (const std::string& name : f.variables) text(name, "a shape variable's name");
  }

  void instruction(const Function& f, size_t at) {
    const Instruction& in = f.code[at];
    range(in.args, f.operands.size(), "operands");
    range(in.sizes, f.sizes.size(), "sizes");
    if (failed_) return;
    switch (in.op) {
      case Op::Kernel:
        check(in.target < program_.kernels.size(), "a kernel does not exist");
        check(in.tasks < f.sizes.size(), "a task count does not exist");
        return;
      case Op::Copy: return check(in.args.count == 2, "a copy needs two arrays");
      case Op::Jump: return check(in.target < f.code.size(), "a jump leads nowhere");
      case Op::BranchIf:
        check(in.target < f.code.size(), "a branch leads nowhere");
        return check(in.args.count == 1, "a branch needs one array");
      case Op::Call: {
        check(in.target < program_.functions.size(), "a called function does not exist");
        if (failed_) return;
        const Function& callee = program_.functions[in.target];
        check(in.args.count == callee.inputs.size() + callee.outputs.size(), "a call has a wrong number of arrays");
        for (size_t i = 0; i < callee.inputs.size() && !failed_; ++i) {
          const Array& given = f.arrays[f.operands[in.args.begin + i]];
          check(callee.inputs[i] < callee.arrays.size(), "an input is no array");
          if (!failed_)
            check(given.dtype == callee.arrays[callee.inputs[i]].dtype, "a call's argument has another type");
        }
        return;
      }
      case Op::Return: return;
    }
    check(false, "an instruction is unknown");
  }

  const Program& program_;
  std::string where_;
  std::optional<Diagnostic> failed_;
};

}  // namespace

Status validate(const Program& program) { return Validator(program).run(); }

bool is_straight_line(const Function& f) {
  for (size_t i = 0; i + 1 < f.code.size(); ++i)
    if (f.code[i].op != Op::Kernel && f.code[i].op != Op::Copy) return false;
  return f.code.back().op == Op::Return;
}

// --- shape variables ---------------------------------------------------------------------------------------------------

static Diagnostic wrong_dimension(const Function& f, size_t input, size_t dim, int64_t given, const SizeExpr& expected,
                                  std::span<const int64_t> values) {
  const Array& a = f.arrays[f.inputs[input]];
  std::optional<int64_t> value = evaluate(expected, values);
  Diagnostic d{DiagnosticKind::wrong_input, ""};
  d.message = format("input `{}`: dimension {} is {}", a.name, dim, given);
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
    bool used = std::any_of(expected.words.begin(), expected.words.end(), [&](const SizeWord& w) {
      return w.op == SizeOp::Var && w.value == static_cast<int64_t>(b.variable);
    });
    if (!used) continue;
    if (b.input == input && b.dim == dim)
      d.message = format("input `{}`: dimension {} is {}, which is not of the form `{}`", a.name, dim, given, text);
    else
      d.notes.push_back(format("`{}` is {}, from dimension {} of input `{}`", f.variables[b.variable],
                               values[b.variable], b.dim, f.arrays[f.inputs[b.input]].name));
  }
  return d;
}

Result<std::vector<int64_t>> bind_variables(const Function& f, std::span<const Shape> shapes) {
  RELAY_CHECK(shapes.size() == f.inputs.size(), "{} shapes for {} inputs", shapes.size(), f.inputs.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Array& a = f.arrays[f.inputs[i]];
    if (shapes[i].size() != a.shape.size())
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("input `{}` has {}, but it must have {}", a.name,
                               plural(shapes[i].size(), "dimension", "dimensions"), a.shape.size())};
  }
  std::vector<int64_t> values(f.variables.size());
  for (const VariableBinding& b : f.bindings) {
    int64_t dim = shapes[b.input][b.dim], rest = 0;
    if (dim < 0 || __builtin_sub_overflow(dim, b.offset, &rest))
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("input `{}`: dimension {} is {}", f.arrays[f.inputs[b.input]].name, b.dim, dim)};
    values[b.variable] = rest / b.factor;
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Array& a = f.arrays[f.inputs[i]];
    for (size_t d = 0; d < a.shape.size(); ++d) {
      std::optional<int64_t> expected = evaluate(a.shape[d], values);
      if (!expected || *expected != shapes[i][d]) return wrong_dimension(f, i, d, shapes[i][d], a.shape[d], values);
    }
  }
  for (size_t v = 0; v < values.size(); ++v)
    if (values[v] < 0)
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("shape variable `{}` is {}, but it cannot be negative", f.variables[v], values[v])};
  for (const Check& c : f.checks) {
    std::optional<int64_t> holds = evaluate(c.condition, values);
    if (holds && *holds) continue;
    Diagnostic d{DiagnosticKind::wrong_input,
                 format("{}: `{}` does not hold for these inputs", c.message.empty() ? f.name : c.message,
                        str(c.condition, f.variables))};
    for (const VariableBinding& b : f.bindings)
      d.notes.push_back(format("`{}` is {}, from dimension {} of input `{}`", f.variables[b.variable],
                               values[b.variable], b.dim, f.arrays[f.inputs[b.input]].name));
    return d;
  }
  return values;
}

// --- text --------------------------------------------------------------------------------------------------------------

static std::string array_name(const Function& f, uint32_t index) {
  const Array& a = f.arrays[index];
  return a.kind == Array::Kind::Temporary || a.name.empty() ? format("%{}", index) : a.name;
}

static std::string list(const Function& f, std::span<const uint32_t> arrays) {
  std::vector<std::string> names;
  for (uint32_t a : arrays) names.push_back(array_name(f, a));
  return format("{}", join(names, ", "));
}

static std::string typed(const Function& f, uint32_t index) {
  std::vector<std::string> dims;
  for (const SizeExpr& e : f.arrays[index].shape) dims.push_back(str(e, f.variables));
  return format("{}: {}[{}]", array_name(f, index), f.arrays[index].dtype.str(), join(dims, ", "));
}

static std::string str(const Program& program, const Function& f) {
  std::vector<std::string> inputs;
  for (uint32_t i : f.inputs) inputs.push_back(typed(f, i));
  std::string out = format("fn {}({}) {{\n", f.name, join(inputs, ", "));
  static constexpr const char* kinds[] = {"input", "output", "constant", "temporary"};
  for (uint32_t i = 0; i < f.arrays.size(); ++i)
    if (f.arrays[i].kind != Array::Kind::Input)
      out += format("  {} {}, {} bytes\n", kinds[static_cast<int>(f.arrays[i].kind)], typed(f, i),
                    str(f.arrays[i].bytes, f.variables));
  for (const Check& c : f.checks) out += format("  check {}  # {}\n", str(c.condition, f.variables), c.message);
  for (size_t i = 0; i < f.code.size(); ++i) {
    const Instruction& in = f.code[i];
    std::span<const uint32_t> args(f.operands.data() + in.args.begin, in.args.count);
    out += format("  {:>4}: ", i);
    switch (in.op) {
      case Op::Kernel: {
        std::vector<std::string> sizes;
        for (uint32_t s = 0; s < in.sizes.count; ++s) sizes.push_back(str(f.sizes[in.sizes.begin + s], f.variables));
        out += format("kernel {}({})", program.kernels[in.target].name, list(f, args));
        if (!sizes.empty()) out += format(" shape ({})", join(sizes, ", "));
        out += format(" tasks {}\n", str(f.sizes[in.tasks], f.variables));
        break;
      }
      case Op::Copy: out += format("copy {} to {}\n", array_name(f, args[0]), array_name(f, args[1])); break;
      case Op::Jump: out += format("jump {}\n", in.target); break;
      case Op::BranchIf: out += format("if {} jump {}\n", array_name(f, args[0]), in.target); break;
      case Op::Call: out += format("call {}({})\n", program.functions[in.target].name, list(f, args)); break;
      case Op::Return: out += format("return ({})\n", list(f, f.outputs)); break;
    }
  }
  return out + "}\n";
}

std::string str(const Program& program) {
  std::string out;
  for (const Function& f : program.functions) out += str(program, f);
  return out;
}

}  // namespace relay::runtime
