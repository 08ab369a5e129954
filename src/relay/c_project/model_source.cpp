// NAME.c: the kernels, and NAME_run(), which calls them.
#include <algorithm>

#include "relay/c_project/writer.h"
#include "relay/codegen/c/c_helpers.h"
#include "relay/tensor/index_check.h"

namespace relay::c_project {

using runtime::Array;
using runtime::Step;

// A pointer to an array's first element. `type`: of the elements.
std::string Writer::pointer(uint32_t array, const std::string& type, bool written) const {
  const Location& at = memory_.arrays[array];
  const std::string constant = written ? "" : "const ";
  const std::string own = codegen::c_stored_type(f_.arrays[array].dtype);
  auto inside = [&](const std::string& whole) {
    if (at.offset == 0 && own == type) return whole;
    return format("({0}{1} *)({0}void *)(({0}unsigned char *){2} + {3})", constant, type, whole, at.offset);
  };
  switch (at.place) {
    case Place::Input: return inside(names_[f_.inputs[at.index]]);
    case Place::Output: return inside(names_[f_.outputs[at.index]]);
    case Place::State: return inside("state->" + names_[f_.inputs[at.index]]);
    case Place::Constant: {
      const Weight& weight = weights_.at(at.index);
      if (!has_weights_argument()) return inside(weight.name);
      return format("RELAY_WEIGHT({}, {})", type, weight.offset);
    }
    case Place::Workspace: return format("RELAY_AT({}{}, {})", constant, type, at.offset);
  }
  return {};
}

std::string Writer::copy(const std::string& to, const std::string& from, int64_t bytes) const {
  return bytes > 0 ? format("  memcpy({}, {}, {});\n", to, from, bytes) : "";
}

std::string Writer::index_check(const Step& step) const {
  const runtime::IndexCheck& check = f_.index_checks[step.kernel];
  const uint32_t array = f_.operands[step.args.begin];
  const Shape& shape = memory_.plan.shapes[array];
  const DType t = f_.arrays[array].dtype;
  const bool from_end = check.axes[0] != no_axis && t.code == DType::Code::Int;
  const int64_t count = *element_count(shape);
  int64_t inner = count;
  if (check.axes.size() > 1) {
    inner = 1;
    for (size_t d = check.rows == Rows::Added ? 2 : 1; d < shape.size(); ++d) inner *= shape[d];
  }
  if (count == 0) return "";
  const std::string type = codegen::c_stored_type(t), indices = pointer(array, type, false);
  const std::string name = check.op.substr(0, check.op.find('\n'));
  std::string out = format("  /* indices of {} */\n", name.substr(0, name.find("*/")));
  for (int64_t at = 0; inner > 0 && at < count; at += inner) {
    const int64_t extent = memory_.plan.sizes[step.sizes.begin + static_cast<size_t>(at / inner) % step.sizes.count];
    out += format("  if (!relay_fit_{}({}{}, {}, {}, {})) return {};\n", type, indices, at ? format(" + {}", at) : "",
                  std::min(inner, count - at), from_end ? -extent : 0, extent, macro("INDEX_OUT_OF_RANGE"));
  }
  return out;
}

// `repetition`: replaces the first size; empty if the step is not repeated.
std::string Writer::step(const Step& step, const std::string& repetition) const {
  const uint32_t* args = f_.operands.data() + step.args.begin;
  if (step.kind == Step::Kind::CheckIndices) return index_check(step);
  if (step.kind == Step::Kind::Copy)
    return copy(pointer(args[1], codegen::c_stored_type(f_.arrays[args[1]].dtype), true),
                pointer(args[0], codegen::c_stored_type(f_.arrays[args[0]].dtype), false), memory_.plan.bytes[args[0]]);
  const loop::Kernel& kernel = kernels_[step.kernel];
  const codegen::CFunction& function = functions_.functions[static_cast<size_t>(function_of_[step.kernel])];
  std::vector<std::string> passed;
  const std::span<const uint32_t> arrays = kernel_arguments(f_, step);
  for (size_t i = 0; i < arrays.size(); ++i)
    passed.push_back(pointer(arrays[i], codegen::c_stored_type(kernel.params[i]->dtype), !kernel.params[i]->read_only));
  for (uint32_t s = 0; s < step.sizes.count; ++s)
    passed.push_back(s == 0 && !repetition.empty() ? repetition
                                                   : format("INT64_C({})", memory_.plan.sizes[step.sizes.begin + s]));
  if (function.scratch_bytes > 0)
    passed.push_back(format("RELAY_AT(void, {})", memory_.scratch[static_cast<size_t>(&step - f_.steps.data())]));
  const std::string call = format("{}({});\n", function.name, join(passed, ", "));
  if (step.kind == Step::Kind::Kernel) return "  " + call;
  const uint32_t when = args[step.args.count - 1];
  return format("  if (relay_any({}, {}))\n    {}", pointer(when, "uint8_t", false), memory_.plan.bytes[when], call);
}

std::string Writer::steps() const {
  std::string out;
  uint32_t next = 0;
  auto until = [&](uint32_t end) {
    for (; next < end; ++next) out += step(f_.steps[next], "");
  };
  for (const runtime::Repeat& r : f_.repeats) {
    until(r.first);
    out += format("  for (int64_t repetition = 0; repetition < {}; ++repetition) {{\n", memory_.plan.sizes[r.times]);
    for (; next < r.first + r.count; ++next) out += step(f_.steps[next], "repetition");
    out += "  }\n";
  }
  until(static_cast<uint32_t>(f_.steps.size()));
  return out;
}

// Results that are inputs: first, before a step changes state. Outputs of which steps write only a part.
std::string Writer::first_copies() const {
  std::string out;
  for (const Argument& a : outputs_)
    if (f_.arrays[a.array].kind == Array::Kind::Input)
      out += copy(a.name, pointer(a.array, codegen::c_stored_type(dtype_of(a)), false), bytes_of(a));
  for (uint32_t i = 0; i < f_.arrays.size(); ++i) {
    const Array& a = f_.arrays[i];
    if (!a.in_place || !a.in_place->updates || memory_.arrays[i].place == Place::State) continue;
    const std::string type = codegen::c_stored_type(a.dtype);
    out += copy(pointer(i, type, true), pointer(f_.inputs[a.in_place->input], type, false), memory_.plan.bytes[i]);
  }
  return out;
}

// Results that are constants, results that are returned twice, and state that was computed elsewhere.
std::string Writer::last_copies() const {
  std::string out;
  for (const Argument& a : outputs_) {
    const Array::Kind kind = f_.arrays[a.array].kind;
    const Location& at = memory_.arrays[a.array];
    const bool elsewhere = kind == Array::Kind::Output && (at.place != Place::Output || at.index != a.port);
    if (kind == Array::Kind::Constant || elsewhere)
      out += copy(a.name, pointer(a.array, codegen::c_stored_type(dtype_of(a)), false), bytes_of(a));
  }
  for (const Argument& a : state_) {
    const uint32_t result = f_.outputs[*memory_.state[a.port]];
    if (memory_.arrays[result] == memory_.arrays[a.array] || result == a.array) continue;
    out += copy("state->" + a.name, pointer(result, codegen::c_stored_type(dtype_of(a)), false), bytes_of(a));
  }
  return out;
}

std::string Writer::memory_map() const {
  std::string out;
  for (uint32_t i = 0; i < f_.arrays.size(); ++i) {
    const Array& a = f_.arrays[i];
    const Location& at = memory_.arrays[i];
    if (at.place == Place::Workspace && a.kind != Array::Kind::View && at.bytes > 0)
      out += format("   {:>9} {:>9}  {}\n", at.offset, at.bytes, type_text(a.dtype, memory_.plan.shapes[i]));
  }
  for (size_t s = 0; s < f_.steps.size(); ++s) {
    if (!calls_kernel(f_.steps[s])) continue;
    const codegen::CFunction& f = functions_.functions[static_cast<size_t>(function_of_[f_.steps[s].kernel])];
    if (f.scratch_bytes > 0)
      out += format("   {:>9} {:>9}  scratch of {}\n", memory_.scratch[s], f.scratch_bytes, f.name);
  }
  return out.empty() ? "" : "/* The workspace: offset and size of each array, in bytes.\n" + out + "*/\n";
}

std::string Writer::checks_of_arguments() const {
  std::vector<std::string> rows;
  auto row = [&](const std::string& name, const std::string& bytes, int64_t alignment, bool written) {
    rows.push_back(format("      {{{}, {}, {}, {}}},\n", name, bytes, alignment, written ? 1 : 0));
  };
  int64_t of_state = 1;
  for (const Argument& a : state_) of_state = std::max<int64_t>(of_state, dtype_of(a).bytes());
  if (has_state()) row("state", "sizeof *state", of_state, true);
  if (has_weights_argument()) row("weights", macro("WEIGHTS_BYTES"), workspace_alignment, false);
  for (const Argument& a : inputs_) row(a.name, format("{}", bytes_of(a)), dtype_of(a).bytes(), false);
  for (const Argument& a : outputs_) row(a.name, format("{}", bytes_of(a)), dtype_of(a).bytes(), true);
  if (memory_.workspace_bytes > 0) row("workspace", macro("WORKSPACE_BYTES"), workspace_alignment, true);
  std::string out;
  if (!rows.empty()) {
    out += format("  const relay_argument arguments[] = {{\n{}  }};\n", join(rows, ""));
    out += format("  const {}_status status = relay_check(arguments, sizeof arguments / sizeof arguments[0]);\n",
                  options_.name);
    out += format("  if (status != {}) return status;\n", macro("OK"));
  }
  if (memory_.workspace_bytes > 0)
    out += format("  if (workspace_bytes < {}) return {};\n", macro("WORKSPACE_BYTES"), macro("WORKSPACE_TOO_SMALL"));
  else
    out += "  (void)workspace, (void)workspace_bytes;\n";
  if (has_weights_argument())
    out += format(
        "  if (memcmp(weights, relay_weights_mark, sizeof relay_weights_mark) != 0 || "
        "memcmp((const char *)weights + 8, &(const uint32_t){{0x01020304}}, 4) != 0)\n    return {};\n",
        macro("WRONG_WEIGHTS"));
  return out;
}

// Functions and macros that the steps use.
std::string Writer::helpers(const std::string& code) const {
  std::string out;
  if (code.find("RELAY_AT(") != std::string::npos)
    out += "#define RELAY_AT(type, offset) ((type *)(void *)((unsigned char *)workspace + (offset)))\n\n";
  if (code.find("RELAY_WEIGHT(") != std::string::npos)
    out +=
        "#define RELAY_WEIGHT(type, offset) \\\n"
        "  ((const type *)(const void *)((const unsigned char *)weights + (offset)))\n\n";
  if (has_weights_argument())
    out += "static const char relay_weights_mark[8] = {'R', 'E', 'L', 'A', 'Y', 'W', 'T', 'S'};\n\n";
  if (code.find("relay_any(") != std::string::npos)
    out +=
        "static int relay_any(const uint8_t *flags, size_t count) {\n"
        "  for (size_t i = 0; i < count; ++i)\n    if (flags[i]) return 1;\n  return 0;\n}\n\n";
  for (const char* type : {"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"}) {
    if (code.find(format("relay_fit_{}(", type)) == std::string::npos) continue;
    const char* test =
        type == std::string("uint64_t")
            ? "(void)least;\n  for (size_t i = 0; i < count; ++i)\n    if (indices[i] >= (uint64_t)end) return 0;\n"
            : "for (size_t i = 0; i < count; ++i)\n    if ((int64_t)indices[i] < least || (int64_t)indices[i] >= end) "
              "return 0;\n";
    out += format(
        "/* 1 if all indices are in [least, end). */\n"
        "static int relay_fit_{0}(const {0} *indices, size_t count, int64_t least, int64_t end) {{\n"
        "  {1}  return 1;\n}}\n\n",
        type, test);
  }
  if (code.find("relay_check(") != std::string::npos)
    out += format(
        "typedef struct {{\n  const void *at;\n  size_t bytes, alignment;\n  int written;\n}} relay_argument;\n\n"
        "static {0}_status relay_check(const relay_argument *a, size_t count) {{\n"
        "  for (size_t i = 0; i < count; ++i) {{\n"
        "    const uintptr_t begin = (uintptr_t)a[i].at;\n"
        "    if (a[i].bytes == 0) continue;\n"
        "    if (a[i].at == NULL) return {1}_NULL_ARGUMENT;\n"
        "    if (begin % a[i].alignment != 0) return {1}_MISALIGNED;\n"
        "    for (size_t j = 0; j < i; ++j) {{\n"
        "      const uintptr_t other = (uintptr_t)a[j].at;\n"
        "      if ((a[i].written || a[j].written) && begin < other + a[j].bytes && other < begin + a[i].bytes)\n"
        "        return {1}_OVERLAP;\n"
        "    }}\n  }}\n  return {1}_OK;\n}}\n\n",
        options_.name, prefix_);
  return out;
}

std::string Writer::model_source() const {
  const std::string& name = options_.name;
  const std::string body = checks_of_arguments() + first_copies() + steps() + last_copies();
  std::string out = title() + format("#include \"{}.h\"\n\n#include <math.h>\n#include <string.h>\n", name);
  if (!weights_.empty() && !has_weights_argument()) out += format("\n#include \"{}_weights.h\"\n", name);
  out += "\n" + functions_.helpers;
  for (const codegen::CFunction& f : functions_.functions) out += f.text + "\n";
  out += helpers(body) + memory_map();
  return out + format("{} {{\n{}  return {};\n}}\n", signature(), body, macro("OK"));
}

std::vector<std::string> Writer::library_functions() const {
  std::string code = functions_.helpers;
  for (const codegen::CFunction& f : functions_.functions) code += f.text;
  static constexpr const char* known[] = {"exp",   "log",  "tanh", "sqrt",     "erf",   "erfc",  "expm1",    "log1p",
                                          "sin",   "cos",  "tan",  "atan",     "pow",   "fmod",  "rint",     "trunc",
                                          "floor", "ceil", "fabs", "copysign", "ldexp", "frexp", "nearbyint"};
  std::vector<std::string> out;
  for (const char* base : known)
    for (const char* end : {"", "f"}) {
      const std::string call = format("{}{}(", base, end);
      for (size_t at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) {
        const char before = at ? code[at - 1] : ' ';
        if (std::isalnum(static_cast<unsigned char>(before)) || before == '_') continue;
        out.push_back(call.substr(0, call.size() - 1));
        break;
      }
    }
  return out;
}

}  // namespace relay::c_project
