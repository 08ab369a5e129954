#include "relay/c_project/writer.h"

#include <algorithm>
#include <cctype>

#include "relay/c_project/order.h"

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

Diagnostics refusals(const runtime::Program& program, std::string_view what) {
  Diagnostics out;
  const runtime::Signature s = program.is_graph() ? runtime::graph_signature(program) : program.signature;
  for (size_t v = 0; v < s.variables.size(); ++v) {
    std::vector<std::string> inputs;
    for (const runtime::Port& port : s.inputs)
      if (std::any_of(port.shape.begin(), port.shape.end(), [&](const auto& e) { return mentions(e, v); }))
        inputs.push_back(format("`{}`", port.name));
    if (inputs.empty()) continue;  // of a result that an operator decides
    out.push_back(not_supported(format("{} has constant sizes, but `{}` of input {} is known only at run time", what,
                                       s.variables[v], join(inputs, ", ")),
                                "fix the shape of the input: --shape NAME=1,3,224,224"));
  }
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

Writer::Writer(const runtime::Program& graph, std::span<const loop::Kernel> kernels, const Recording& recording,
               const Options& options)
    : graph_(graph),
      f_(graph.graph()),
      kernels_(kernels),
      recording_(recording),
      options_(options),
      prefix_(upper_case(options.name)) {}

// True if two arrays of a call of the kernel share memory and one of them is written.
bool Writer::arrays_overlap(uint32_t kernel) const {
  const loop::Kernel& k = kernels_[kernel];
  for (const Step& step : f_.steps) {
    if (!calls_kernel(step) || step.kernel != kernel) continue;
    const std::span<const uint32_t> args = kernel_arguments(f_, step);
    for (size_t i = 0; i < args.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if ((!k.params[i]->read_only || !k.params[j]->read_only) &&
            overlap(memory_.arrays[args[i]], memory_.arrays[args[j]]))
          return true;
  }
  return false;
}

std::vector<codegen::CKernel> Writer::used_kernels(bool know_overlap) const {
  std::vector<codegen::CKernel> out;
  for (uint32_t k = 0; k < kernels_.size(); ++k)
    if (function_of_[k] >= 0) out.push_back({&kernels_[k], know_overlap && arrays_overlap(k)});
  return out;
}

Status Writer::write_kernels() {
  function_of_.assign(kernels_.size(), -1);
  for (const Step& step : f_.steps)
    if (calls_kernel(step)) function_of_[step.kernel] = 0;
  for (int number = 0; int& f : function_of_)
    if (f >= 0) f = number++;
  const codegen::CFunctionOptions how{options_.library_math, options_.keep_lanes};
  functions_ = codegen::c_functions(used_kernels(false), how);
  for (int f : function_of_)
    scratch_bytes_.push_back(f < 0 ? 0 : functions_.functions[static_cast<size_t>(f)].scratch_bytes);
  RELAY_ASSIGN(memory_, place_arrays(graph_, scratch_bytes_));
  const std::vector<codegen::CKernel> known = used_kernels(true);
  if (std::any_of(known.begin(), known.end(), [](const codegen::CKernel& k) { return k.may_overlap; }))
    functions_ = codegen::c_functions(known, how);
  return ok();
}

void Writer::name_interface() {
  Identifiers names;
  for (const char* taken : {"state", "weights", "workspace", "workspace_bytes", "memory", "status", "repetition"})
    names.reserve(taken);
  auto named = [&](const std::string& name, uint32_t array, uint32_t port) {
    const bool ours = starts_with(name, "relay") || starts_with(name, "kernel") || starts_with(name, options_.name);
    const std::string c = names.add(ours ? "the_" + name : name);
    if (names_[array].empty()) names_[array] = c;
    return Argument{c, name, array, port};
  };
  names_.resize(f_.arrays.size());
  for (uint32_t i = 0; i < f_.inputs.size(); ++i) {
    const Argument a = named(f_.arrays[f_.inputs[i]].name, f_.inputs[i], i);
    (memory_.state[i] ? state_ : inputs_).push_back(a);
    if (memory_.state[i]) state_bytes_ += bytes_of(a);
  }
  for (uint32_t o = 0; o < f_.outputs.size(); ++o) {
    if (std::find(memory_.state.begin(), memory_.state.end(), std::optional<uint32_t>(o)) != memory_.state.end())
      continue;
    const uint32_t array = f_.outputs[o];
    const std::string name = o < f_.output_names.size() ? f_.output_names[o] : f_.arrays[array].name;
    outputs_.push_back(named(name, array, o));
  }
}

void Writer::number_weights() {
  int64_t at = weights_header_bytes;
  auto use = [&](uint32_t array) {
    const Array& a = f_.arrays[array];
    if (a.kind != Array::Kind::Constant) return;
    const auto [weight, fresh] = weights_.try_emplace(a.index);
    if (!fresh) return;
    const int64_t bytes = static_cast<int64_t>(graph_.constants[a.index].bytes());
    weight->second = {format("{}_constant_{}", options_.name, weights_.size() - 1), at};
    at += (bytes + 63) / 64 * 64;
    weight_bytes_ += bytes;
  };
  for (const Step& step : f_.steps)
    for (uint32_t i = 0; i < step.args.count; ++i) use(f_.operands[step.args.begin + i]);
  for (uint32_t output : f_.outputs) use(output);
  weights_file_bytes_ = at;
}

Result<Project> Writer::write_files() {
  name_interface();
  number_weights();
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
  out.files["main.c"] = self_test();
  out.files["test_vectors.h"] = test_data();
  out.files["CMakeLists.txt"] = cmake_lists();
  out.files["README.md"] = readme();
  out.sizes = {weight_bytes_, memory_.workspace_bytes, state_bytes_};
  return out;
}

Result<Project> write(const runtime::Program& graph, std::span<const loop::Kernel> kernels, const Recording& recording,
                      const Options& options) {
  Writer writer(graph, kernels, recording, options);
  RELAY_RETURN_IF_ERROR(writer.write_kernels());
  if (options.memory_limit == 0 || writer.memory().workspace_bytes <= options.memory_limit) return writer.write_files();
  const runtime::Program ordered = in_order_of_least_peak(graph, writer.memory(), kernels, writer.scratch_bytes());
  Writer again(ordered, kernels, recording, options);
  RELAY_RETURN_IF_ERROR(again.write_kernels());
  if (again.memory().workspace_bytes <= options.memory_limit) return again.write_files();
  const bool is_better = again.memory().workspace_bytes < writer.memory().workspace_bytes;
  const Writer& best = is_better ? again : writer;
  return over_limit(is_better ? ordered : graph, best.memory(), best.scratch_bytes(), options.memory_limit);
}

}  // namespace relay::c_project
