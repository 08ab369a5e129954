// NAME.h and README.md of a program with functions.
#include <algorithm>

#include "relay/c_project/program_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

using runtime::ObjectKind;

std::string ProgramWriter::parameter(const Argument& a, bool written) const {
  if (!a.is_tensor()) return format("@_value {}{}", written ? "*" : "", a.name);
  return format("{}{} {}[{}]", written ? "" : "const ", codegen::c_stored_type(a.port->dtype), a.name, extent(a.form));
}

std::string ProgramWriter::signature() const {
  std::vector<std::string> params;
  if (has_values()) params.push_back("@_memory *memory");
  for (const Argument& a : inputs_) params.push_back(parameter(a, false));
  for (const Argument& a : outputs_) params.push_back(parameter(a, true));
  if (!has_values()) params.insert(params.end(), {"void *workspace", "size_t workspace_bytes"});
  return format("@_status @_run({})", join(params, ",\n    "));
}

static std::string type_text(const runtime::Port& port) { return port.type.substr(0, port.type.find("*/")); }

// Functions on values, and one that makes a value for each constructor and each kind of tensor.
std::string ProgramWriter::value_interface() const {
  std::string out = R"(
/* A value: a tensor, a tuple, or of a data type. It is in the workspace that it was made in. */
typedef struct @_object *@_value;
/* The workspace, once @_begin() has made it ready for values. */
typedef struct @_memory @_memory;

/* NULL if the workspace is NULL, misaligned or smaller than %_FIXED_BYTES. All values in the workspace end. */
@_memory *@_begin(void *workspace, size_t workspace_bytes);

/* A value is freed when nothing holds it any more. These functions return one that the caller holds, or NULL if the
   workspace is full, and take the fields from the caller. */
)";
  for (const auto& [form, name] : makers_) {
    const Form& f = forms_.all()[form];
    std::string params;
    if (f.kind == ObjectKind::Tensor) {
      params = format(", const {} elements[{}]", type_of(form), extent(form));
      out += format("@_value {}(@_memory *memory{});\n", name, params);
      out += format("@_value {}_at(@_memory *memory{}); /* not copied */\n", name, params);
      continue;
    }
    for (uint32_t i = 0; i < f.fields; ++i) params += format(", @_value field_{}", i);
    out += format("@_value {}(@_memory *memory{});\n", name, params);
  }
  out += "\n/* The numbers of constructors, for @_tag(). */\nenum {\n";
  std::vector<std::string> lines;
  for (const auto& [form, name] : makers_)
    if (const Form& f = forms_.all()[form]; f.kind == ObjectKind::Data)
      lines.push_back(format("  {} = {}", upper_case(name), f.tag));
  if (lines.empty()) lines.push_back("  %_NO_CONSTRUCTORS = 0");
  out += format("{}\n}};\n\n", join(lines, ",\n"));
  return out + R"(@_value @_keep(@_value value); /* holds it once more */
void @_release(@_memory *memory, @_value value);
uint32_t @_tag(@_value value);
uint32_t @_fields(@_value value); /* the number of fields */
@_value @_field(@_value value, uint32_t index); /* held by the value; NULL if there is none */
const void *@_elements(@_value value); /* NULL if it is no tensor */
)";
}

std::string ProgramWriter::header() const {
  std::string out =
      title() +
      "#ifndef %_H\n#define %_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern "
      "\"C\" {\n#endif\n\n";
  out += format("#define %_VERSION \"{}\" /* of Relay */\n", options_.version);
  out += format(
      "/* Memory of a run, aligned to %_ALIGNMENT: %_FIXED_BYTES, and %_ARENA_BYTES for values and the frames of "
      "functions.\n"
      "   {}\n   Any size from %_FIXED_BYTES on may be given. A run that needs more ends with %_OUT_OF_MEMORY. */\n",
      options_.arena_bytes_are_measured
          ? "The latter is what the recorded run needs; other inputs may need more or less."
          : "The latter was given to the compiler.");
  out += format("#define %_FIXED_BYTES {}\n#define %_ARENA_BYTES {}\n", fixed_bytes(), options_.arena_bytes);
  out += "#define %_WORKSPACE_BYTES (%_FIXED_BYTES + %_ARENA_BYTES)\n";
  out += format("#define %_ALIGNMENT {}\n#define %_CONSTANT_BYTES {}\n", workspace_alignment, weight_bytes_);
  out += status_type(
      "  %_OUT_OF_MEMORY = 8, /* the workspace is full */\n"
      "  %_WRONG_VALUE = 9, /* a value is not of the type that the program takes */\n"
      "  %_NO_RESULT = 10 /* no clause of a match fits */\n");
  for (const auto& [what, list] : {std::pair{"input", &inputs_}, {"output", &outputs_}})
    for (const Argument& a : *list) {
      out += format("/* {} {}: {} */\n", what, a.name, type_text(*a.port));
      if (a.is_tensor())
        out += format("#define %_{}_ELEMENTS ({})\n", upper_case(a.name), *element_count(forms_.all()[a.form].shape));
    }
  if (has_values()) out += value_interface();
  out += format(
      "\n/* Runs the program once. Any number of runs may be active at a time, each with its own workspace.\n"
      "   {}Arrays are row-major; float16 and bfloat16 are uint16_t with their bits, bool is uint8_t, 0 or 1. "
      "*/\n{};\n",
      has_values() ? "The caller holds output values. They may refer to elements of input arrays.\n   " : "",
      signature());
  out += "\n/* The most bytes of the workspace that were in use at a time. */\nsize_t @_peak(const void *workspace);\n";
  return filled(out + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

std::string ProgramWriter::readme() const {
  std::string out = readme_beginning() + "| memory | bytes |\n| --- | --- |\n";
  out += format("| constants, read only | {} |\n| workspace, fixed part, `%_FIXED_BYTES` | {} |\n", weight_bytes_,
                fixed_bytes());
  out += format("| workspace, values and frames, `%_ARENA_BYTES` | {} |\n\n", options_.arena_bytes);
  out += "| argument | type |\n| --- | --- |\n";
  for (const auto& [what, list] : {std::pair{"input", &inputs_}, {"output", &outputs_}})
    for (const Argument& a : *list) out += format("| {} `{}` | {} |\n", what, a.name, a.port->type);
  out +=
      "\nThe program has functions. Their frames and values are in the workspace, so that recursion needs no C stack. "
      "If "
      "the workspace is full, a run ends with `%_OUT_OF_MEMORY`. `@_peak()` returns the most bytes that were in use.\n";
  return filled(out) + readme_end();
}

}  // namespace relay::c_project
