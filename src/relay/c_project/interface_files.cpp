// NAME.h, and the constants: NAME_weights.c with its header, or NAME.weights.
#include <bit>

#include "relay/c_project/writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

std::string Writer::title() const {
  return format("/* {}, written by Relay {} from {} for {}. Do not edit. */\n", options_.name, options_.version,
                options_.model, options_.target);
}

std::string Writer::parameter(const Argument& a, bool written) const {
  return format("{}{} {}[{}]", written ? "" : "const ", codegen::c_stored_type(dtype_of(a)), a.name,
                extent_text(memory_.plan.shapes[a.array]));
}

std::string Writer::signature() const {
  std::vector<std::string> params;
  if (has_state()) params.push_back(format("{}_state *state", options_.name));
  if (has_weights_argument()) params.push_back("const void *weights");
  for (const Argument& a : inputs_) params.push_back(parameter(a, false));
  for (const Argument& a : outputs_) params.push_back(parameter(a, true));
  params.push_back("void *workspace");
  params.push_back("size_t workspace_bytes");
  return format("{0}_status {0}_run({1})", options_.name, join(params, ",\n    "));
}

std::string Writer::header() const {
  const std::string& name = options_.name;
  std::string out = title() + format(
                                  "#ifndef {0}_H\n#define {0}_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
                                  "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
                                  prefix_);
  out += format("#define {} \"{}\" /* of Relay */\n", macro("VERSION"), options_.version);
  out += format("/* Memory for the intermediate values of one run, aligned to {}_ALIGNMENT. */\n", prefix_);
  out += format("#define {} {}\n#define {} {}\n", macro("WORKSPACE_BYTES"), memory_.workspace_bytes, macro("ALIGNMENT"),
                workspace_alignment);
  out += format("#define {} {}\n", macro("CONSTANT_BYTES"), weight_bytes_);
  if (has_weights_argument())
    out += format(
        "/* Size of {}.weights, which is read or mapped at an address that is a multiple of {}_ALIGNMENT. */\n#define "
        "{} {}\n",
        name, prefix_, macro("WEIGHTS_BYTES"), weights_file_bytes_);
  out += format(
      "\ntypedef enum {0}_status {{\n  {1}_OK = 0,\n"
      "  {1}_NULL_ARGUMENT = 1,\n"
      "  {1}_MISALIGNED = 2, /* of an array for its elements, or of the workspace */\n"
      "  {1}_OVERLAP = 3, /* memory that is written overlaps another argument */\n"
      "  {1}_WORKSPACE_TOO_SMALL = 4,\n"
      "  {1}_INDEX_OUT_OF_RANGE = 5, /* an element of an input; the outputs have no meaning */\n"
      "  {1}_WRONG_WEIGHTS = 6 /* not a file of weights, or one of the other byte order */\n"
      "}} {0}_status;\n\n",
      name, prefix_);
  for (const auto& [what, list] : {std::pair{"input", &inputs_}, {"output", &outputs_}, {"state", &state_}})
    for (const Argument& a : *list)
      out += format("/* {} {}: {} */\n#define {}_{}_ELEMENTS ({})\n", what, a.origin.substr(0, a.origin.find("*/")),
                    type_text(dtype_of(a), memory_.plan.shapes[a.array]), prefix_, upper_case(a.name),
                    *element_count(memory_.plan.shapes[a.array]));
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

std::string Writer::weights_header() const {
  std::string out =
      title() + format(
                    "#ifndef {0}_WEIGHTS_H\n#define {0}_WEIGHTS_H\n\n#include <stdint.h>\n\n"
                    "/* Define it to put the constants elsewhere, such as __attribute__((section(\".flash2\"))). */\n"
                    "#ifndef {0}_CONSTANT\n#define {0}_CONSTANT\n#endif\n\n",
                    prefix_);
  for (const auto& [constant, weight] : weights_) {
    const Tensor& t = graph_.constants[constant];
    out += format("extern {}_CONSTANT const {} {}[{}]; /* {} */\n", prefix_, codegen::c_stored_type(t.dtype()),
                  weight.name, std::max<int64_t>(t.elements(), 1), type_text(t.dtype(), t.shape()));
  }
  return out + "\n#endif\n";
}

std::string Writer::weights_source() const {
  std::string out = title() + format("#include \"{}_weights.h\"\n\n#include <math.h>\n", options_.name);
  for (const auto& [constant, weight] : weights_) {
    const Tensor& t = graph_.constants[constant];
    out += format("\n{}_CONSTANT const {} {}[{}] = {{\n", prefix_, codegen::c_stored_type(t.dtype()), weight.name,
                  std::max<int64_t>(t.elements(), 1));
    out += literal(t);
    out += "};\n";
  }
  return out;
}

Result<std::string> Writer::weights_file() const {
  std::string out = "RELAYWTS";
  auto add = [&](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int at = options_.big_endian ? bytes - 1 - i : i;
      out += static_cast<char>(value >> (8 * at) & 255);
    }
  };
  add(0x01020304, 4), add(1, 4), add(static_cast<uint64_t>(weights_file_bytes_), 8);
  std::map<int64_t, uint32_t> by_offset;
  for (const auto& [constant, weight] : weights_) by_offset[weight.offset] = constant;
  const bool here = (std::endian::native == std::endian::big) == options_.big_endian;
  for (const auto& [offset, constant] : by_offset) {
    out.resize(static_cast<size_t>(offset));
    const Tensor& t = graph_.constants[constant];
    if (here)
      out.append(static_cast<const char*>(t.data()), t.bytes());
    else
      out += reversed_elements(t);
  }
  out.resize(static_cast<size_t>(weights_file_bytes_));
  return out;
}

}  // namespace relay::c_project
