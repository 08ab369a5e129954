// main.c and test_vectors.h: a program that runs the network on recorded inputs and compares its outputs.
#include <algorithm>
#include <set>

#include "relay/c_project/graph_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

std::string GraphWriter::test_data() const {
  std::string out = title() + "#include <math.h>\n#include <stdint.h>\n";
  for (const Argument& a : inputs_) out += vector_text("input_" + a.name, recording_.inputs[a.port]);
  for (const Argument& a : state_) out += vector_text("input_" + a.name, recording_.inputs[a.port]);
  for (const Argument& a : outputs_) out += vector_text("expected_" + a.name, recording_.outputs[a.port]);
  for (const Argument& a : state_)
    out += vector_text("expected_" + a.name, recording_.outputs[*memory().state[a.port]]);
  return out;
}

// `first`: what is passed as the first input that has one.
std::string GraphWriter::call_in_test(const std::string& workspace, const std::string& bytes,
                                      const std::string& first) const {
  std::vector<std::string> args;
  if (has_state()) args.push_back("&state");
  if (has_weights_argument()) args.push_back("weights");
  for (size_t v = 0; v < variables_.size(); ++v) args.push_back(format("{}", recording_.sizes[v]));
  for (const Argument& a : inputs_) args.push_back(&a == inputs_.data() && !first.empty() ? first : "input_" + a.name);
  for (const Argument& a : outputs_) args.push_back("output_" + a.name);
  args.push_back(workspace), args.push_back(bytes);
  for (const MemoryLimit& m : options_.more_memories) args.push_back(m.name), args.push_back("sizeof " + m.name);
  return format("{}_run({})", options_.name, join(args, ", "));
}

static constexpr const char* main_begin = R"(
static int expect(const char *what, int holds) {
  if (!holds) printf("failed: %s\n", what);
  return !holds;
}
)";

static constexpr const char* read_weights = R"(
static uint64_t weights[(@_WEIGHTS_BYTES + 7) / 8];

static int read_weights(const char *path) {
  FILE *file = fopen(path, "rb");
  const int whole = file != NULL && fread(weights, 1, @_WEIGHTS_BYTES, file) == @_WEIGHTS_BYTES;
  if (file != NULL) fclose(file);
  return whole;
}
)";

std::string GraphWriter::self_test() const {
  const std::string &name = options_.name, ok = macro("OK");
  std::string out =
      title() +
      format(
          "/* Runs the network on recorded inputs and compares its outputs with the recorded ones. */\n"
          "#include <float.h>\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\n\n#include \"{}.h\"\n"
          "#include \"test_vectors.h\"\n\n",
          name);
  out += definition_of_loose();
  std::set<std::string> compared;
  for (const std::vector<Argument>* list : {&outputs_, &state_})
    for (const Argument& a : *list)
      if (compared.insert(codegen::c_stored_type(dtype_of(a))).second) out += comparison(dtype_of(a));
  out += format("static uint64_t workspace[{} / 8 + 2];\n", macro("WORKSPACE_BYTES"));
  for (const MemoryLimit& m : options_.more_memories)
    out += format("static uint64_t {}[{} / 8 + 1];\n", m.name, macro(upper_case(m.name) + "_BYTES"));
  for (const Argument& a : outputs_)
    out += format("static {} output_{}[{}];\n", codegen::c_stored_type(dtype_of(a)), a.name, extent_of(a));
  if (has_state()) out += format("static {}_state state;\n", name);
  std::string weights = has_weights_argument() ? read_weights : "";
  for (size_t at; (at = weights.find('@')) != std::string::npos;) weights.replace(at, 1, prefix_);
  out += weights + main_begin;
  std::string body;
  if (has_weights_argument())
    body += format(
        "  if (expect(\"{0}.weights is read\", read_weights(count > 1 ? arguments[1] : \"{0}.weights\"))) return 2;\n",
        name);
  for (const Argument& a : state_) body += format("  memcpy(state.{0}, input_{0}, sizeof input_{0});\n", a.name);
  if (memory().workspace_bytes > 0) {
    body += format("  failed += expect(\"a small workspace is refused\", {} == {});\n",
                   call_in_test("workspace", macro("WORKSPACE_BYTES") + " - 1", ""), macro("WORKSPACE_TOO_SMALL"));
    body += format("  failed += expect(\"a misaligned workspace is refused\", {} == {});\n",
                   call_in_test("(unsigned char *)workspace + 1", "sizeof workspace", ""), macro("MISALIGNED"));
  }
  if (!inputs_.empty() && bytes_of(inputs_[0]) > 0)
    body += format("  failed += expect(\"a null pointer is refused\", {} == {});\n",
                   call_in_test("workspace", "sizeof workspace", "NULL"), macro("NULL_ARGUMENT"));
  body += format("  failed += expect(\"the run succeeds\", {} == {});\n",
                 call_in_test("workspace", "sizeof workspace", ""), ok);
  auto compare = [&](const Argument& a, const std::string& got) {
    const uint32_t port = memory().state.size() > a.port && &a >= state_.data() && &a < state_.data() + state_.size()
                              ? *memory().state[a.port]
                              : a.port;
    const std::string count = has_constant_shape(a) ? format("{}_{}_ELEMENTS", prefix_, upper_case(a.name))
                                                    : format("{}", recording_.outputs[port].elements());
    body += format(
        "  differences = differences_{0}({1}, expected_{2}, {3});\n"
        "  if (differences > 0) printf(\"{2}: %lu of %lu values differ\\n\", (unsigned long)differences, "
        "(unsigned long){3});\n  failed += differences > 0;\n",
        codegen::c_stored_type(dtype_of(a)), got, a.name, count);
  };
  for (const Argument& a : outputs_) compare(a, "output_" + a.name);
  for (const Argument& a : state_) compare(a, "state." + a.name);
  out += format("\nint main({}) {{\n  int failed = 0;\n  size_t differences;\n{}",
                has_weights_argument() ? "int count, char **arguments" : "void", body);
  out += format("  if (failed == 0) printf(\"{}: ok, {} equal to the recorded{}\\n\");\n  return failed != 0;\n}}\n",
                name, plural(outputs_.size() + state_.size(), "output", "outputs"),
                outputs_.size() + state_.size() == 1 ? " one" : " ones");
  return out;
}

}  // namespace relay::c_project
