#include "relay/exec/build.h"

#include "relay/codegen/llvm/llvm.h"
#include "relay/exec/device_code.h"
#include "relay/exec/on_device.h"
#include "relay/exec/segment.h"
#include "relay/exec/signature.h"
#include "relay/exec/value_code.h"
#include "relay/ir/main_function.h"

namespace relay::exec {

using lower::LoweredFunction;

static std::shared_ptr<codegen::Backend> new_backend(const TargetDesc& target, int threads) {
  return codegen::llvm_backend(target, threads > 0 ? threads : runtime::ThreadPool::global().size());
}
std::shared_ptr<codegen::Backend> target_backend(const BuildOptions& options) {
  return options.backend ? options.backend : new_backend(options.target, options.threads);
}
std::shared_ptr<codegen::Backend> host_backend(const BuildOptions& options) {
  return options.host ? new_backend(*options.host, options.threads) : target_backend(options);
}

static Result<Built> finish(Parts parts, const BuildOptions& options) {
  if (options.all_on) RELAY_RETURN_IF_ERROR(move_to_device(parts, *options.all_on));
  Built built;
  built.kernels = std::move(parts.kernels);
  built.lowered_steps = std::move(parts.lowered_steps);
  built.constant_steps = parts.constant_steps, built.constant_ms = parts.constant_ms;
  for (const Tensor& c : parts.program.constants)
    (runtime::is_prepared(c) ? built.prepared_bytes : built.constant_bytes) += static_cast<int64_t>(c.bytes());
  built.program = std::make_shared<const runtime::Program>(std::move(parts.program));
  RELAY_RETURN_IF_ERROR(runtime::validate(*built.program));
  return built;
}

Result<Built> build_program(const LoweredFunction& lowered, const BuildOptions& options) {
  Parts parts;
  parts.program.devices = options.devices, parts.program.keeps_subnormals = options.keeps_subnormals;
  RELAY_ASSIGN(runtime::Segment segment, write_segment(lowered, options, parts));
  parts.program.segments.push_back(std::move(segment));
  return finish(std::move(parts), options);
}

Result<Built> build_program(const ir::Module& module, const std::vector<LoweredSegment>& segments,
                            const std::vector<std::string>& output_names, const std::vector<op::Condition>& conditions,
                            const BuildOptions& options) {
  const ir::FunctionRef& main = module.functions.at(ir::main_function);
  Parts parts;
  parts.program.devices = options.devices, parts.program.keeps_subnormals = options.keeps_subnormals;
  Numbers numbers(module, segments, parts);
  RELAY_ASSIGN(runtime::Function entry, value_code(ir::main_function, main, numbers));
  parts.program.functions.push_back(std::move(entry));
  for (const auto& [name, f] : module.functions) {
    if (name == ir::main_function) continue;
    RELAY_ASSIGN(runtime::Function made, value_code(name, f, numbers));
    parts.program.functions.push_back(std::move(made));
  }
  for (const LoweredSegment& s : segments) {
    RELAY_ASSIGN(runtime::Segment made, write_segment(s.lowered, options, parts));
    made.batching = s.batching;
    parts.program.segments.push_back(std::move(made));
  }
  RELAY_ASSIGN(parts.program.signature, signature(main, output_names, parts.program.types, conditions));
  return finish(std::move(parts), options);
}

const runtime::Program* native_functions(const Built& built, const BuildOptions& options) {
  return options.executor == runtime::Executor::Aot && !built.program->is_graph() ? built.program.get() : nullptr;
}

Result<std::shared_ptr<runtime::Executable>> build(const Built& built, const BuildOptions& options) {
  RELAY_ASSIGN(std::shared_ptr<codegen::KernelLibrary> library,
               target_backend(options)->compile(built.kernels, native_functions(built, options)));
  std::shared_ptr<const codegen::KernelLibrary> code = std::move(library);
  if (!code->is_source()) {
    RELAY_ASSIGN(code, with_device_source(*built.program, built.kernels, std::move(code)));
  }
  return runtime::Executable::create(built.program, code,
                                     {.threads = options.threads,
                                      .executor = options.executor,
                                      .memory_limit = options.memory_limit,
                                      .tier = options.tier});
}

Result<std::shared_ptr<runtime::Executable>> build(const LoweredFunction& lowered, const BuildOptions& options) {
  RELAY_ASSIGN(Built built, build_program(lowered, options));
  return build(built, options);
}

}  // namespace relay::exec
