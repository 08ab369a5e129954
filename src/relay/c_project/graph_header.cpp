// NAME.h.
#include "relay/c_project/graph_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

std::string GraphWriter::type_of(const Argument& a) const {
  std::vector<std::string> dims;
  for (const runtime::SizeExpr& e : f().arrays[a.array].shape) dims.push_back(runtime::str(e, f().variables));
  return format("{}[{}]", dtype_of(a).str(), join(dims, ", "));
}

std::string GraphWriter::extent_of(const Argument& a) const { return extent_text(memory().plan.shapes[a.array]); }

std::string GraphWriter::parameter(const Argument& a, bool written) const {
  return format("{}{} {}[{}]", written ? "" : "const ", codegen::c_stored_type(dtype_of(a)), a.name,
                has_constant_shape(a) ? extent_of(a) : "");
}

std::string GraphWriter::signature() const {
  std::vector<std::string> params;
  if (has_state()) params.push_back(format("{}_state *state", options_.name));
  if (has_weights_argument()) params.push_back("const void *weights");
  for (const std::string& v : variables_) params.push_back("int64_t " + v);
  for (const Argument& a : inputs_) params.push_back(parameter(a, false));
  for (const Argument& a : outputs_) params.push_back(parameter(a, true));
  params.push_back("void *workspace");
  params.push_back("size_t workspace_bytes");
  for (const MemoryLimit& m : options_.more_memories)
    params.push_back("void *" + m.name), params.push_back(format("size_t {}_bytes", m.name));
  return format("{0}_status {0}_run({1})", options_.name, join(params, ",\n    "));
}

std::string GraphWriter::interface_sizes() const {
  std::string out;
  for (const auto& [what, list] : {std::pair{"input", &inputs_}, {"output", &outputs_}, {"state", &state_}})
    for (const Argument& a : *list)
      out += format("/* {} {}: {} */\n#define {}_{}_{} ({})\n", what, a.origin.substr(0, a.origin.find("*/")),
                    type_of(a), prefix_, upper_case(a.name), has_constant_shape(a) ? "ELEMENTS" : "MOST_ELEMENTS",
                    *element_count(memory().plan.shapes[a.array]));
  return out;
}

std::string GraphWriter::header() const {
  const std::string& name = options_.name;
  std::string out = title() + format(
                                  "#ifndef {0}_H\n#define {0}_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
                                  "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
                                  prefix_);
  out += format("#define {} \"{}\" /* of Relay */\n", macro("VERSION"), options_.version);
  out += format("/* Memory for the intermediate values of one run, aligned to {}_ALIGNMENT. */\n", prefix_);
  out += format("#define {} {}\n#define {} {}\n", macro("WORKSPACE_BYTES"), memory().workspace_bytes,
                macro("ALIGNMENT"), workspace_alignment);
  for (size_t m = 0; m < memory().more_bytes.size(); ++m)
    out += format("#define {} {} /* of {}, aligned in the same way */\n",
                  macro(upper_case(options_.more_memories[m].name) + "_BYTES"), memory().more_bytes[m],
                  options_.more_memories[m].name);
  out += format("#define {} {}\n", macro("CONSTANT_BYTES"), weight_bytes_);
  if (has_weights_argument())
    out += format(
        "/* Size of {}.weights, which is read or mapped at an address that is a multiple of {}_ALIGNMENT. */\n#define "
        "{} {}\n",
        name, prefix_, macro("WEIGHTS_BYTES"), weights_file_bytes_);
  for (size_t v = 0; v < variables_.size(); ++v)
    out += format("#define {}_MAX_{} {} /* of the size {} */\n", prefix_, upper_case(variables_[v]),
                  memory().plan.variables[v], f().variables[v]);
  out += status_type(variables_.empty() ? "" : format("  {}_SIZE_OUT_OF_RANGE = 7\n", prefix_));
  out += interface_sizes();
  if (has_state()) {
    out += format(
        "\n/* Values that a run replaces by new ones for the next run. Set them before the first. */\n"
        "typedef struct {}_state {{\n",
        name);
    for (const Argument& a : state_) out += format("  {};\n", parameter(a, true));
    out += format("}} {}_state;\n", name);
  }
  out += format(
      "\n/* Runs the network once. Any number of runs may be active at a time, each with its own workspace{}.\n"
      "   Arrays are row-major; float16 and bfloat16 are uint16_t with their bits, bool is uint8_t, 0 or 1. */\n{};\n",
      has_state() ? " and state" : "", signature());
  return out + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string GraphWriter::readme() const {
  std::string out = readme_beginning() + "| memory | bytes |\n| --- | --- |\n";
  out += format("| constants, read only | {} |\n| workspace, `{}` | {} |\n| state | {} |\n", weight_bytes_,
                macro("WORKSPACE_BYTES"), memory().workspace_bytes, state_bytes_);
  for (size_t m = 0; m < memory().more_bytes.size(); ++m)
    out += format("| {}, `{}` | {} |\n", options_.more_memories[m].name,
                  macro(upper_case(options_.more_memories[m].name) + "_BYTES"), memory().more_bytes[m]);
  out += "\n";
  out += "| argument | type | bytes |\n| --- | --- | --- |\n";
  for (size_t v = 0; v < variables_.size(); ++v)
    out += format("| size `{}` | at most {} | |\n", variables_[v], memory().plan.variables[v]);
  for (const auto& [what, list] : {std::pair{"input", &inputs_}, {"output", &outputs_}, {"state", &state_}})
    for (const Argument& a : *list)
      out += format("| {} `{}` | {} | {}{} |\n", what, a.name, type_of(a), has_constant_shape(a) ? "" : "at most ",
                    bytes_of(a));
  out += readme_end();
  return out + format(
                   "\n```c\nstatic uint64_t workspace[({0}_WORKSPACE_BYTES + 7) / 8];\n{1}_status status = "
                   "{1}_run(..., workspace, sizeof workspace);\n```\n",
                   prefix_, options_.name);
}

}  // namespace relay::c_project
