#include "relay/driver/c_project.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "relay/base/output_file.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/driver/targets.h"
#include "relay/driver/version.h"
#include "relay/input/inputs.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/runtime/preparations.h"
#include "relay/typing/typing.h"

namespace relay::driver {

namespace {
// A construct of the language, in words, and the way to do without it.
struct Construct {
  std::string what;
  const char* help;
};

Construct construct_of(const ir::Expr& e) {
  switch (e->kind) {
    case ir::ExprKind::If:
      return {"a branch", "compute both sides and choose with `where`, or export without control flow"};
    case ir::ExprKind::Match: return {"a match", "give the network tensors instead of values of data types"};
    case ir::ExprKind::Constructor:
      return {"a value of a data type", "give the network tensors instead of values of data types"};
    case ir::ExprKind::RefCreate:
    case ir::ExprKind::RefRead:
    case ir::ExprKind::RefWrite:
      return {"a reference", "pass the value as an input and return the new one; --donate keeps it between runs"};
    case ir::ExprKind::GlobalVar:
      return {format("a call of @{} that is not expanded", static_cast<const ir::GlobalVar&>(*e).name),
              "unroll the recursion to a fixed number of steps before the import"};
    default: return {};
  }
}

Diagnostic not_in_c(std::string message, const Span& span, std::string help) {
  return {DiagnosticKind::not_supported, std::move(message), span, {}, {}, std::move(help)};
}
}  // namespace

static Diagnostics constructs_without_c(const ir::Module& module) {
  Diagnostics out;
  std::set<std::pair<std::string, std::string>> seen;  // message, place
  auto add = [&](const std::string& message, const Span& span, const char* help) {
    if (seen.emplace(message, place_text(span)).second) out.push_back(not_in_c(message, span, help));
  };
  const std::string straight = "a C project has no control flow or functions, but the program has ";
  for (const auto& [name, f] : module.functions) {
    ir::visit(f, [&](const ir::Expr& e) {
      if (const Construct c = construct_of(e); !c.what.empty()) add(straight + c.what, e->span, c.help);
      const ir::Function* inner = ir::as<ir::Function>(e);
      if (inner && inner != f.get() && !inner->attrs.count(ir::attribute::primitive))
        add(straight + "a function value", e->span, "call the function where it is made, so that it is expanded");
      const ir::Call* call = ir::as<ir::Call>(e);
      const ir::Op* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
      if (op && op->def && op->def->part_of)
        add(format("a C project has constant sizes, but that of the result of `{}` depends on values",
                   op->def->part_of->name),
            e->span, "use an operator whose result has a constant size, such as `where`");
    });
  }
  if (out.empty())
    out.push_back(not_in_c("a C project has one straight line of kernels, but the program needs the virtual machine",
                           {}, "compile it to an artifact: leave out --emit c-project"));
  return out;
}

Status check_c_project(const Compiled& compiled) {
  Diagnostics errors;
  if (!compiled.built.program->is_graph()) errors = constructs_without_c(compiled.module);
  for (Diagnostic& d : c_project::refusals(*compiled.built.program)) errors.push_back(std::move(d));
  if (errors.empty()) return ok();
  return errors;
}

// This machine without multiply-adds: its results have the bits of C that does not contract. It has at least as many
// registers as the kernels were scheduled for; spilled ones only cost time.
static Result<TargetDesc> recorder(const TargetDesc& target) {
  RELAY_ASSIGN(TargetDesc host, find_target("native"));
  host.has_fma = false;
  host.vector_registers = std::max({host.vector_registers, target.vector_registers, 64});
  return host;
}

Result<std::vector<Tensor>> recorded_inputs(const ir::Module& module, const std::vector<std::string>& texts) {
  RELAY_ASSIGN(const ir::Module typed, typing::infer(module));
  RELAY_ASSIGN(const std::vector<input::Port> ports, input::input_ports(typed));
  RELAY_ASSIGN(const input::Inputs inputs, input::make_inputs(ports, {.inputs = texts, .shapes = {}}, typed));
  return input::tensors_of(inputs.values);
}

Result<Recorded> record(const Compiled& compiled, std::vector<Tensor> inputs) {
  RELAY_ASSIGN(const TargetDesc host, recorder(compiled.report.target));
  RELAY_ASSIGN(std::shared_ptr<codegen::KernelLibrary> library,
               codegen::jit(compiled.built.kernels, host, compiled.report.threads));
  Recorded out;
  RELAY_ASSIGN(out.program, runtime::with_constants(compiled.built.program, library.get()));
  runtime::Program lent = *out.program;
  lent.donations.clear();  // the recorded inputs are still needed
  RELAY_ASSIGN(const std::shared_ptr<runtime::Executable> executable,
               runtime::Executable::create(std::make_shared<const runtime::Program>(std::move(lent)), library,
                                           {.threads = compiled.report.threads}));
  out.run.inputs = std::move(inputs);
  Result<std::vector<Tensor>> outputs = executable->run(out.run.inputs);
  if (!outputs) {
    Diagnostics errors = outputs.errors();
    errors[0].notes.push_back("the self-test records a run; --input NAME=VALUE gives it other inputs than random ones");
    return errors;
  }
  out.run.outputs = *std::move(outputs);
  return out;
}

Result<CProject> c_project(const Compiled& compiled, std::vector<Tensor> inputs, c_project::Options options) {
  RELAY_RETURN_IF_ERROR(check_c_project(compiled));
  const TargetDesc& target = compiled.report.target;
  RELAY_ASSIGN(Recorded recorded, record(compiled, std::move(inputs)));
  options.target = target.name, options.version = version;
  options.big_endian = starts_with(target.triple, "s390x") || starts_with(target.triple, "powerpc64-");
  options.keep_lanes = target.vector_bytes > 8;
  CProject out;
  out.recording = std::move(recorded.run);
  RELAY_ASSIGN(out.project, c_project::write(*recorded.program, compiled.built.kernels, out.recording, options));
  return out;
}

Status save(const std::map<std::string, std::string>& files, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("cannot make the folder {}: {}", folder, error.message()),
                      {},
                      {},
                      {},
                      "give a folder that exists or can be made"};
  for (const auto& [name, text] : files)
    RELAY_RETURN_IF_ERROR(write_file((std::filesystem::path(folder) / name).string(), text));
  return ok();
}

}  // namespace relay::driver
