// NAME.c: the kernels, and NAME_run(), which calls them.
#include <algorithm>

#include "relay/c_project/graph_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

using runtime::Array;
using runtime::SizeExpr;

void GraphWriter::name_interface() {
  Identifiers names;
  for (const char* taken : {"state", "weights", "workspace", "workspace_bytes", "memory", "status", "repetition",
                            "slice", "each", "all", "extent", "extents", "arguments"})
    names.reserve(taken);
  for (const MemoryLimit& m : options_.more_memories) names.reserve(m.name), names.reserve(m.name + "_bytes");
  const Memory& m = memory();
  auto ours = [&](const std::string& name) {
    return starts_with(name, "relay") || starts_with(name, "kernel") || starts_with(name, options_.name);
  };
  auto named = [&](const std::string& name, uint32_t array, uint32_t port) {
    return Argument{names.add(ours(name) ? "the_" + name : name), name, array, port};
  };
  for (const std::string& v : f().variables) variables_.push_back(names.add(ours(v) ? "the_" + v : v));
  pointers_.resize(f().arrays.size());
  for (uint32_t i = 0; i < f().inputs.size(); ++i) {
    const Argument a = named(f().arrays[f().inputs[i]].name, f().inputs[i], i);
    (m.state[i] ? state_ : inputs_).push_back(a);
    pointers_[a.array] = m.state[i] ? "state->" + a.name : a.name;
    if (m.state[i]) state_bytes_ += bytes_of(a);
  }
  for (uint32_t o = 0; o < f().outputs.size(); ++o) {
    if (std::find(m.state.begin(), m.state.end(), std::optional<uint32_t>(o)) != m.state.end()) continue;
    const uint32_t array = f().outputs[o];
    const std::string name = o < f().output_names.size() ? f().output_names[o] : f().arrays[array].name;
    outputs_.push_back(named(name, array, o));
    if (pointers_[array].empty()) pointers_[array] = outputs_.back().name;
  }
}

Sizes GraphWriter::sizes() const {
  Sizes out{weight_bytes_, memory().workspace_bytes, state_bytes_, {}};
  for (size_t m = 0; m < memory().more_bytes.size(); ++m)
    out.more.push_back({options_.more_memories[m].name, memory().more_bytes[m]});
  return out;
}

bool GraphWriter::has_constant_shape(const Argument& a) const { return segment().has_constant_shape(a.array); }

// Results that are inputs: first, before a step changes state. Outputs of which steps write only a part.
std::string GraphWriter::first_copies(const SegmentWriter& segment) const {
  std::string out;
  for (const Argument& a : outputs_)
    if (f().arrays[a.array].kind == Array::Kind::Input)
      out += segment.copy(a.name, segment.pointer(a.array, false), a.array);
  return out + segment.updates(false);
}

// Results that are constants, results that are returned twice, and state that was computed elsewhere.
std::string GraphWriter::last_copies(const SegmentWriter& segment) const {
  std::string out;
  for (const Argument& a : outputs_) {
    const Array::Kind kind = f().arrays[a.array].kind;
    const Location& at = memory().arrays[a.array];
    const bool elsewhere = kind == Array::Kind::Output && (at.place != Place::Output || at.index != a.port);
    if (kind == Array::Kind::Constant || elsewhere)
      out += segment.copy(a.name, segment.pointer(a.array, false), a.array);
  }
  for (const Argument& a : state_) {
    const uint32_t result = f().outputs[*memory().state[a.port]];
    if (memory().arrays[result] == memory().arrays[a.array] || result == a.array) continue;
    out += segment.copy("state->" + a.name, segment.pointer(result, false), a.array);
  }
  return out;
}

// Each size is within its bounds, no array has a negative one, and operators' requirements hold.
std::string GraphWriter::checks_of_sizes(const SegmentWriter& segment) const {
  std::vector<std::string> lines;
  std::vector<Bounds> bounds;
  auto add = [&](const std::string& wrong, const std::string& why) {
    const std::string line = format("  if ({}) return {};{}\n", wrong, macro("SIZE_OUT_OF_RANGE"), why);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  };
  for (size_t v = 0; v < variables_.size(); ++v) {
    add(format("{0} < 0 || {0} > {1}", variables_[v], macro("MAX_" + upper_case(variables_[v]))), "");
    bounds.push_back({0, memory().plan.variables[v]});
  }
  for (const Array& a : f().arrays)
    for (const SizeExpr& e : a.shape)
      if (const std::optional<Bounds> b = bounds_of(e, bounds); !b || b->least < 0)
        add(format("{} < 0", segment.size(e)), "");
  for (const runtime::Check& check : f().checks) {
    if (check.condition.as_constant()) continue;
    const std::string text = check.message.substr(0, check.message.find('\n'));
    add(format("!({})", segment.size(check.condition)), format(" /* {} */", text.substr(0, text.find("*/"))));
  }
  return format("{}", join(lines, ""));
}

std::string GraphWriter::checks_of_arguments(const SegmentWriter& segment) const {
  std::vector<std::string> rows;
  auto row = [&](const std::string& name, const std::string& bytes, int64_t alignment, bool written) {
    rows.push_back(format("      {{{}, {}, {}, {}}},\n", name, bytes, alignment, written ? 1 : 0));
  };
  int64_t of_state = 1;
  for (const Argument& a : state_) of_state = std::max<int64_t>(of_state, dtype_of(a).bytes());
  if (has_state()) row("state", "sizeof *state", of_state, true);
  if (has_weights_argument()) row("weights", macro("WEIGHTS_BYTES"), workspace_alignment, false);
  for (const Argument& a : inputs_) row(a.name, segment.bytes(a.array), dtype_of(a).bytes(), false);
  for (const Argument& a : outputs_) row(a.name, segment.bytes(a.array), dtype_of(a).bytes(), true);
  if (memory().workspace_bytes > 0) row("workspace", macro("WORKSPACE_BYTES"), workspace_alignment, true);
  for (size_t m = 0; m < memory().more_bytes.size(); ++m)
    if (memory().more_bytes[m] > 0)
      row(options_.more_memories[m].name, format("{}", memory().more_bytes[m]), workspace_alignment, true);
  std::string out;
  if (!rows.empty()) {
    out += format("  const relay_argument arguments[] = {{\n{}  }};\n", join(rows, ""));
    out += format("  const {}_status status = relay_check(arguments, sizeof arguments / sizeof arguments[0]);\n",
                  options_.name);
    out += format("  if (status != {}) return status;\n", macro("OK"));
  }
  if (memory().workspace_bytes > 0)
    out += format("  if (workspace_bytes < {}) return {};\n", macro("WORKSPACE_BYTES"), macro("WORKSPACE_TOO_SMALL"));
  else
    out += "  (void)workspace, (void)workspace_bytes;\n";
  for (size_t m = 0; m < memory().more_bytes.size(); ++m) {
    const std::string& name = options_.more_memories[m].name;
    if (memory().more_bytes[m] > 0)
      out += format("  if ({}_bytes < {}) return {};\n", name, macro(upper_case(name) + "_BYTES"),
                    macro("WORKSPACE_TOO_SMALL"));
    else
      out += format("  (void){0}, (void){0}_bytes;\n", name);
  }
  if (has_weights_argument()) out += format("  if (!relay_weights_fit(weights)) return {};\n", macro("WRONG_WEIGHTS"));
  return out;
}

std::string GraphWriter::model_source() const {
  const std::string& name = options_.name;
  const SegmentWriter segment = this->segment();
  const std::string body = checks_of_sizes(segment) + checks_of_arguments(segment) + first_copies(segment) +
                           segment.steps() + last_copies(segment);
  std::string out = title() + format("#include \"{}.h\"\n\n#include <math.h>\n#include <string.h>\n", name);
  if (!weights_.empty() && !has_weights_argument()) out += format("\n#include \"{}_weights.h\"\n", name);
  out += "\n" + functions_.helpers;
  for (const codegen::CFunction& f : functions_.functions) out += f.text + "\n";
  out += helpers(body);
  if (const std::string map = segment.memory_map(); !map.empty())
    out += "/* The workspace: offset and size of each array, in bytes.\n" + map + "*/\n";
  return out + format("{} {{\n{}  return {};\n}}\n", signature(), body, macro("OK"));
}

}  // namespace relay::c_project
