#include "relay/c_project/project_writer.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

using runtime::Array;
using runtime::Segment;
using runtime::Step;

bool is_c_name(const std::string& name) {
  if (name.empty() || name.size() > 40 || !std::isalpha(static_cast<unsigned char>(name[0]))) return false;
  if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; })) return false;
  return Identifiers().add(name) == name && name != "relay" && name != "kernel" && name != "test_vectors";
}

static Diagnostic not_supported(std::string message, std::string help) {
  return {DiagnosticKind::not_supported, std::move(message), {}, {}, {}, std::move(help)};
}

static bool mentions(const runtime::SizeExpr& e, size_t variable) {
  return std::any_of(e.words.begin(), e.words.end(), [&](const runtime::SizeWord& w) {
    return w.op == runtime::SizeOp::Var && w.value == static_cast<int64_t>(variable);
  });
}

static Diagnostics sizes_without_bound(const runtime::Program& program, const Options& options) {
  Diagnostics out;
  const runtime::Signature s = program.is_graph() ? runtime::graph_signature(program) : program.signature;
  for (size_t v = 0; v < s.variables.size(); ++v) {
    std::vector<std::string> inputs;
    for (size_t p = 0; p < s.ports(); ++p) {
      const runtime::Port& port = s.port(p);
      if (std::any_of(port.shape.begin(), port.shape.end(), [&](const auto& e) { return mentions(e, v); }))
        inputs.push_back(format("`{}`", port.name));
    }
    if (inputs.empty()) continue;  // of a result that an operator decides
    if (program.is_graph() && options.most.count(s.variables[v])) continue;
    const std::string bound = format(
        "give it an upper bound with --max {}=128, or fix the shape of the input: "
        "--shape NAME=1,3,224,224",
        s.variables[v]);
    out.push_back(not_supported(
        program.is_graph()
            ? format("the size `{}` of input {} is known only at run time, and has no upper bound", s.variables[v],
                     join(inputs, ", "))
            : format(
                  "a C project of a program with functions has constant sizes, but `{}` of input {} is known only at "
                  "run time",
                  s.variables[v], join(inputs, ", ")),
        program.is_graph() ? bound : "fix the shape of the input: --shape NAME=1,3,224,224"));
  }
  return out;
}

// Sizes inside of a program with functions, such as those of tensors in a list.
static Diagnostics sizes_in_functions(const runtime::Program& program) {
  Diagnostics out;
  for (const Segment& f : program.segments) {
    if (f.variables.empty()) continue;
    std::vector<std::string> inputs;
    for (uint32_t i : f.inputs) {
      std::vector<std::string> dims;
      for (const runtime::SizeExpr& e : f.arrays[i].shape) dims.push_back(runtime::str(e, f.variables));
      inputs.push_back(format("{}[{}]", f.arrays[i].dtype.str(), join(dims, ", ")));
    }
    out.push_back(not_supported(
        format("a C project of a program with functions has constant sizes, but {} takes ({})", f.name,
               join(inputs, ", ")),
        "give the tensors constant sizes in the types of the program; relay opt --emit program shows its parts"));
  }
  return out;
}

Diagnostics refusals(const runtime::Program& program, const Options& options, std::string_view what) {
  Diagnostics out = sizes_without_bound(program, options);
  if (!program.is_graph() && out.empty()) out = sizes_in_functions(program);
  if (program.devices.size() > 1)
    out.push_back(
        not_supported(format("{} has one memory, but the program also uses {}", what, str(program.devices[1])),
                      "compile without --devices, or remove on_device from the program"));
  for (const Segment& segment : program.segments)
    for (const Step& step : segment.steps) {
      if (step.kind != Step::Kind::External) continue;
      const runtime::ExternalEntry& called = program.externals[step.kernel];
      out.push_back(not_supported(
          format("{} calls no other library, but `{}` of {} is called", what, called.symbol, called.library),
          "compile without --external"));
    }
  return out;
}

ProjectWriter::ProjectWriter(const runtime::Program& program, std::span<const loop::Kernel> kernels,
                             const Recording& recording, const Options& options)
    : program_(program),
      kernels_(kernels),
      recording_(recording),
      options_(options),
      prefix_(upper_case(options.name)) {}

// In a program with functions, an output may be in the memory of an input.
static bool may_be_in_place(const runtime::Program& program, const Segment& f, uint32_t output, uint32_t input) {
  const Array& a = f.arrays[f.stored_in(output)];
  return !program.is_graph() && a.kind == Array::Kind::Output && a.in_place &&
         f.inputs[a.in_place->input] == f.stored_in(input);
}

// True if two arrays of a call of the kernel share memory and one of them is written.
bool ProjectWriter::arrays_overlap(uint32_t kernel) const {
  const loop::Kernel& k = kernels_[kernel];
  for (size_t s = 0; s < program_.segments.size(); ++s) {
    const Segment& f = program_.segments[s];
    for (const Step& step : f.steps) {
      if (!step.calls_kernel() || step.kernel != kernel) continue;
      const std::span<const uint32_t> args = kernel_arguments(f, step);
      for (size_t i = 0; i < args.size(); ++i)
        for (size_t j = 0; j < i; ++j)
          if ((!k.params[i]->read_only || !k.params[j]->read_only) &&
              (overlap(memories_[s].arrays[args[i]], memories_[s].arrays[args[j]]) ||
               may_be_in_place(program_, f, args[i], args[j]) || may_be_in_place(program_, f, args[j], args[i])))
            return true;
    }
  }
  return false;
}

std::vector<codegen::CKernel> ProjectWriter::used_kernels(bool know_overlap) const {
  std::vector<codegen::CKernel> out;
  for (uint32_t k = 0; k < kernels_.size(); ++k)
    if (function_of_[k] >= 0) out.push_back({&kernels_[k], know_overlap && arrays_overlap(k)});
  return out;
}

std::vector<int64_t> ProjectWriter::most_of(const Segment& segment) const {
  std::vector<int64_t> out;
  for (const std::string& name : segment.variables) out.push_back(options_.most.at(name));
  return out;
}

Status ProjectWriter::write_kernels() {
  function_of_.assign(kernels_.size(), -1);
  for (const Segment& f : program_.segments)
    for (const Step& step : f.steps)
      if (step.calls_kernel()) function_of_[step.kernel] = 0;
  for (int number = 0; int& f : function_of_)
    if (f >= 0) f = number++;
  const codegen::CFunctionOptions how{options_.library_math, options_.keep_lanes};
  functions_ = has_machine_code() ? callers_of_machine_code() : codegen::c_functions(used_kernels(false), how);
  for (int f : function_of_)
    scratch_bytes_.push_back(f < 0 ? 0 : functions_.functions[static_cast<size_t>(f)].scratch_bytes);
  for (const Segment& f : program_.segments) {
    const std::vector<int64_t> most = most_of(f);
    std::vector<int64_t> limits;
    for (size_t m = 0; m < options_.more_memories.size(); ++m)
      limits.push_back(m == 0 ? options_.memory_limit : options_.more_memories[m - 1].bytes);
    RELAY_ASSIGN(Memory memory, place_arrays(program_, f, scratch_bytes_, most, limits));
    memories_.push_back(std::move(memory));
  }
  if (has_machine_code()) return ok();
  const std::vector<codegen::CKernel> known = used_kernels(true);
  if (std::any_of(known.begin(), known.end(), [](const codegen::CKernel& k) { return k.may_overlap; }))
    functions_ = codegen::c_functions(known, how);
  return ok();
}

std::string ProjectWriter::in_memory(uint32_t memory, const std::string& type, const std::string& offset) const {
  return memory == 0 ? format("RELAY_AT({}, {})", type, offset)
                     : format("RELAY_IN({}, {}, {})", options_.more_memories[memory - 1].name, type, offset);
}

std::string ProjectWriter::of_memory(uint32_t memory) const {
  return memory == 0 ? "" : " in " + options_.more_memories[memory - 1].name;
}

void ProjectWriter::use_weight(uint32_t constant) {
  const auto [weight, fresh] = weights_.try_emplace(constant);
  if (!fresh) return;
  const int64_t bytes = static_cast<int64_t>(program_.constants[constant].bytes());
  weight->second = {format("{}_constant_{}", options_.name, weights_.size() - 1), weights_file_bytes_};
  weights_file_bytes_ += (bytes + 63) / 64 * 64;
  weight_bytes_ += bytes;
}

void ProjectWriter::number_weights() {
  weights_file_bytes_ = weights_header_bytes;
  for (const Segment& f : program_.segments) {
    auto use = [&](uint32_t array) {
      if (f.arrays[array].kind == Array::Kind::Constant) use_weight(f.arrays[array].index);
    };
    for (const Step& step : f.steps)
      for (uint32_t i = 0; i < step.args.count; ++i) use(f.operands[step.args.begin + i]);
    for (uint32_t output : f.outputs) use(output);
  }
  for (const runtime::Function& f : program_.functions)
    for (const runtime::Instruction& in : f.code)
      if (in.op == runtime::Op::Constant) use_weight(in.index);
}

Result<Project> ProjectWriter::write_files() {
  number_weights();
  name_interface();
  Project out;
  const std::string& name = options_.name;
  out.files[name + ".h"] = header();
  out.files[name + ".c"] = model_source();
  if (has_weights_argument()) {
    RELAY_ASSIGN(out.files[name + ".weights"], weights_file());
  } else if (!weights_.empty()) {
    out.files[name + "_weights.h"] = weights_header();
    out.files[name + "_weights.c"] = weights_source();
  }
  if (has_machine_code()) out.files[name + "_kernels.o"] = options_.object;
  out.files["main.c"] = self_test();
  out.files["test_vectors.h"] = test_data();
  out.files["CMakeLists.txt"] = cmake_lists();
  out.files["README.md"] = readme();
  out.files["sizes.cmake"] = sizes_script();
  out.sizes = sizes();
  return out;
}

std::string ProjectWriter::title() const {
  return format("/* {}, written by Relay {} from {} for {}. Do not edit. */\n", options_.name, options_.version,
                options_.model, options_.target);
}

std::string ProjectWriter::status_type(const std::string& more) const {
  return format(
      "\ntypedef enum {0}_status {{\n  {1}_OK = 0,\n"
      "  {1}_NULL_ARGUMENT = 1,\n"
      "  {1}_MISALIGNED = 2, /* of an array for its elements, or of the workspace */\n"
      "  {1}_OVERLAP = 3, /* memory that is written overlaps another argument */\n"
      "  {1}_WORKSPACE_TOO_SMALL = 4,\n"
      "  {1}_INDEX_OUT_OF_RANGE = 5, /* an element of an input; the outputs have no meaning */\n"
      "  {1}_WRONG_WEIGHTS = 6{2} /* not the file that was written with {0}.c, or one of the other byte order */\n"
      "{3}}} {0}_status;\n\n",
      options_.name, prefix_, more.empty() ? "" : ",", more);
}

std::string ProjectWriter::helpers(const std::string& code) const {
  std::string out = size_helpers(code);
  if (code.find("RELAY_AT(") != std::string::npos)
    out += "#define RELAY_AT(type, offset) ((type *)(void *)((unsigned char *)workspace + (offset)))\n\n";
  if (code.find("RELAY_IN(") != std::string::npos)
    out += "#define RELAY_IN(memory, type, offset) ((type *)(void *)((unsigned char *)(memory) + (offset)))\n\n";
  if (code.find("RELAY_WEIGHT(") != std::string::npos)
    out +=
        "#define RELAY_WEIGHT(type, offset) \\\n"
        "  ((const type *)(const void *)((const unsigned char *)weights + (offset)))\n\n";
  if (has_weights_argument()) out += check_of_weights();
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
  if (code.find("relay_check(") != std::string::npos) out += check_function();
  return out;
}

std::string ProjectWriter::check_of_weights() const {
  return format(
      "/* 1 if these are the weights that were written with this file. */\n"
      "static int relay_weights_fit(const void *weights) {{\n"
      "  static const unsigned char mark[8] = {{'R', 'E', 'L', 'A', 'Y', 'W', 'T', 'S'}};\n"
      "  const uint32_t first[2] = {{0x{:08x}, {}}};\n"
      "  const uint64_t rest[2] = {{{}, UINT64_C(0x{:016x})}};\n"
      "  const unsigned char *at = (const unsigned char *)weights;\n"
      "  return memcmp(at, mark, sizeof mark) == 0 && memcmp(at + 8, first, sizeof first) == 0 &&\n"
      "         memcmp(at + 16, rest, sizeof rest) == 0;\n}}\n\n",
      byte_order_mark, weights_version, macro("WEIGHTS_BYTES"), weights_identity());
}

std::string ProjectWriter::check_function() const {
  return format(
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
}

std::vector<std::string> ProjectWriter::library_functions() const {
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
