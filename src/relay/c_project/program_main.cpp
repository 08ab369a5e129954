// main.c and test_vectors.h of a program with functions.
#include <algorithm>
#include <set>

#include "relay/c_project/program_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

// The tensors of a value, in the order of making() and comparing().
void ProgramWriter::add_vectors(const Recorded& value, const std::string& name, size_t& number,
                                std::string& out) const {
  if (value.tensor) out += vector_text(format("{}_{}", name, number++), *value.tensor);
  for (const Recorded& field : value.fields) add_vectors(field, name, number, out);
}

std::string ProgramWriter::test_data() const {
  std::string out = title() + "#include <math.h>\n#include <stdint.h>\n";
  for (size_t i = 0; i < inputs_.size(); ++i) {
    size_t number = 0;
    add_vectors(recording_.arguments[i], "input_" + inputs_[i].name, number, out);
  }
  for (size_t o = 0; o < outputs_.size(); ++o) {
    size_t number = 0;
    add_vectors(recording_.results[o], "expected_" + outputs_[o].name, number, out);
  }
  return out;
}

// Statements that make a value in v[slot]. `most`: the highest slot; `number`: of the next tensor.
std::string ProgramWriter::making(const Recorded& value, const std::string& name, size_t slot, size_t& most,
                                  size_t& number) const {
  most = std::max(most, slot);
  const std::string& maker = makers_.at(form_of(value));
  if (value.tensor) return format("  v[{}] = {}_at(memory, {}_{});\n", slot, maker, name, number++);
  std::string out, list;
  for (size_t i = 0; i < value.fields.size(); ++i) {
    out += making(value.fields[i], name, slot + i, most, number);
    list += format(", v[{}]", slot + i);
  }
  return out + format("  v[{}] = {}(memory{});\n", slot, maker, list);
}

// Statements that compare v[slot] with a value.
std::string ProgramWriter::comparing(const Recorded& value, const std::string& name, size_t slot, size_t& most,
                                     size_t& number) const {
  most = std::max(most, slot);
  if (value.tensor) {
    if (value.tensor->elements() == 0) return ++number, "";
    return format(
        "  if (@_elements(v[{0}]) == NULL) return 1;\n"
        "  differences += differences_{1}(@_elements(v[{0}]), {2}_{3}, {4});\n",
        slot, codegen::c_stored_type(value.tensor->dtype()), name, number++, value.tensor->elements());
  }
  std::string out =
      format("  if (@_elements(v[{0}]) != NULL || @_tag(v[{0}]) != {1} || @_fields(v[{0}]) != {2}) return 1;\n", slot,
             value.tag, value.fields.size());
  for (size_t i = 0; i < value.fields.size(); ++i) {
    out += format("  v[{}] = @_field(v[{}], {});\n", slot + 1, slot, i);
    out += comparing(value.fields[i], name, slot + 1, most, number);
  }
  return out;
}

std::string ProgramWriter::call_in_test(const std::string& memory) const {
  std::vector<std::string> args;
  if (has_values()) args.push_back(memory);
  for (const Argument& a : inputs_)
    args.push_back(a.is_tensor() ? format("input_{}_0", a.name) : format("value_{}", a.name));
  for (const Argument& a : outputs_) args.push_back((a.is_tensor() ? "output_" : "&output_") + a.name);
  if (!has_values()) args.insert(args.end(), {"workspace", memory});
  return format("@_run({})", join(args, ", "));
}

static void collect_types(const Recorded& value, std::set<std::string>& seen, std::string& out) {
  if (value.tensor && seen.insert(codegen::c_stored_type(value.tensor->dtype())).second)
    out += comparison(value.tensor->dtype());
  for (const Recorded& field : value.fields) collect_types(field, seen, out);
}

// A run in a workspace of `bytes`.
std::string ProgramWriter::run_in_test() const {
  std::string out = "static @_status run(size_t bytes, size_t *differences) {\n";
  if (has_values()) out += "  @_memory *const memory = @_begin(workspace, bytes);\n";
  std::string body;
  for (const Argument& a : inputs_)
    if (!a.is_tensor()) body += format("  @_value value_{0} = make_{0}(memory);\n", a.name);
  for (const Argument& a : outputs_)
    if (!a.is_tensor()) body += format("  @_value output_{} = NULL;\n", a.name);
  out += body + format("  const @_status status = {};\n", call_in_test(has_values() ? "memory" : "bytes"));
  out += "  *differences = 0;\n  if (status != %_OK) return status;\n";
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const Argument& a = outputs_[o];
    out += a.is_tensor()
               ? format("  *differences += differences_{0}(output_{1}, expected_{1}_0, %_{2}_ELEMENTS);\n",
                        codegen::c_stored_type(a.port->dtype), a.name, upper_case(a.name))
               : format("  *differences += compare_{0}(output_{0});\n  @_release(memory, output_{0});\n", a.name);
  }
  for (const Argument& a : inputs_)
    if (!a.is_tensor()) out += format("  @_release(memory, value_{});\n", a.name);
  return out + "  return status;\n}\n\n";
}

std::string ProgramWriter::self_test() const {
  std::string out = title() +
                    "/* Runs the program on recorded inputs and compares its outputs with the recorded ones. */\n"
                    "#include <float.h>\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\n\n#include \"" +
                    options_.name + ".h\"\n#include \"test_vectors.h\"\n\n";
  out += definition_of_loose();
  std::set<std::string> seen;
  for (const Recorded& value : recording_.results) collect_types(value, seen, out);
  out += "static uint64_t workspace[%_WORKSPACE_BYTES / 8 + 2];\n";
  for (const Argument& a : outputs_)
    if (a.is_tensor())
      out += format("static {} output_{}[{}];\n", codegen::c_stored_type(a.port->dtype), a.name, extent(a.form));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_tensor()) continue;
    size_t most = 0, number = 0;
    const std::string& name = inputs_[i].name;
    const std::string made = making(recording_.arguments[i], "input_" + name, 0, most, number);
    out += format("\nstatic @_value make_{}(@_memory *memory) {{\n  static @_value v[{}];\n{}  return v[0];\n}}\n",
                  name, most + 1, made);
  }
  for (size_t o = 0; o < outputs_.size(); ++o) {
    if (outputs_[o].is_tensor()) continue;
    size_t most = 0, number = 0;
    const std::string& name = outputs_[o].name;
    const std::string compared = comparing(recording_.results[o], "expected_" + name, 0, most, number);
    out += format(
        "\nstatic size_t compare_{}(@_value value) {{\n  size_t differences = 0;\n  static @_value v[{}];\n"
        "  v[0] = value;\n{}  return differences;\n}}\n",
        name, most + 1, compared);
  }
  out += "\n" + run_in_test();
  out += R"(static int expect(const char *what, int holds) {
  if (!holds) printf("failed: %s\n", what);
  return !holds;
}

int main(void) {
  int failed = 0;
  size_t differences;
)";
  const std::string full = "%_WORKSPACE_BYTES / 8 * 8 + 8";
  if (!has_values())
    out += "  failed += expect(\"a small workspace is refused\", run(8, &differences) == %_WORKSPACE_TOO_SMALL);\n";
  out += "  failed += expect(\"a full workspace is noticed\", run(%_FIXED_BYTES, &differences) != %_OK);\n";
  out += format("  failed += expect(\"the run succeeds\", run({}, &differences) == %_OK);\n", full);
  out +=
      "  if (differences > 0) printf(\"%lu values differ\\n\", (unsigned long)differences);\n"
      "  failed += differences > 0;\n";
  out += format(
      "  if (failed == 0) printf(\"@_: ok, {} equal to the recorded{}; %lu of %lu bytes used\\n\",\n"
      "           (unsigned long)@_peak(workspace), (unsigned long)%_WORKSPACE_BYTES);\n  return failed != 0;\n}}\n",
      plural(outputs_.size(), "output", "outputs"), outputs_.size() == 1 ? " one" : " ones");
  std::string text = filled(out);
  const std::string mark = options_.name + "_: ok";
  text.replace(text.find(mark), mark.size(), options_.name + ": ok");
  return text;
}

}  // namespace relay::c_project
