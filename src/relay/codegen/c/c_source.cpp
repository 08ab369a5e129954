#include "relay/codegen/c/c_source.h"

#include "relay/codegen/c/c_kernel.h"
#include "relay/codegen/scalar_form.h"

namespace relay::codegen {

// Other compilers do not contract in C99.
static constexpr const char* no_contraction =
    "#ifdef __clang__ /* other compilers do not contract in C99 */\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n";

std::string c_source(std::span<const loop::Kernel> kernels) {
  CHelpers helpers(c99);
  std::string functions;
  for (const loop::Kernel& kernel : kernels) functions += "\n" + CKernelWriter(without_dots(kernel), helpers).run();
  return "/* Kernels, each over tasks [begin, end). cc -std=c99 -O2; no other file is needed. */\n"
         "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n" +
         std::string(no_contraction) + helpers.text_for(functions) + functions;
}

// The helper functions and the kernels, each an entry of a device.
static std::string device_functions(std::span<const loop::Kernel> kernels, const Dialect& dialect, bool fine_tasks) {
  CHelpers helpers(dialect);
  std::string functions;
  for (const loop::Kernel& one : kernels) {
    const DeviceForm form = device_form(one, fine_tasks);
    functions += "\n" + CKernelWriter(form.kernel, helpers,
                                      {.entry = CKernelForm::Entry::WorkItems,
                                       .dialect = &dialect,
                                       .per_task = form.per_task,
                                       .thread = form.thread,
                                       .threads = form.threads,
                                       .fuses_products = true})
                            .run();
  }
  return helpers.text_for(functions) + functions;
}

std::string opencl_source(std::span<const loop::Kernel> kernels, bool fine_tasks) {
  const std::string all = device_functions(kernels, opencl_c, fine_tasks);
  const bool doubles = all.find("double") != std::string::npos;
  return std::string("/* Kernels, each over tasks [begin, end) that the work-items share. */\n") +
         (doubles ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "") + "#pragma OPENCL FP_CONTRACT OFF\n\n" +
         all;
}

std::string hip_source(std::span<const loop::Kernel> kernels) {
  return "/* Kernels, each over tasks [begin, end) that the threads share. As CUDA C++: nvcc -fmad=false. */\n"
         "#ifdef __HIP__\n#include <hip/hip_runtime.h>\n#endif\n"
         "#ifdef __clang__\n#pragma clang fp contract(off)\n#endif\n\n" +
         device_functions(kernels, hip_c, true);
}

std::string metal_source(std::span<const loop::Kernel> kernels) {
  return "/* Kernels, each over tasks [begin, end) that the threads share. `sizes`: the shape variables, begin, end. "
         "*/\n"
         "#include <metal_stdlib>\nusing namespace metal;\n"
         "#if __METAL_VERSION__ >= 320 /* older ones: xcrun metal -fno-fast-math -ffp-contract=off */\n"
         "#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n#endif\n\n" +
         device_functions(kernels, metal, true);
}

std::optional<std::string> missing_in(const loop::Kernel& kernel, const Dialect& dialect, bool (*has_type)(DType)) {
  using scalar::BinaryOp;
  std::string found;
  auto note = [&](const scalar::Expr& e) {
    const DType t = e->dtype;
    if (!has_type(t) && !t.is_bool() && !(t == DType::int64() && e->index)) found = t.str();
    const bool by_function =
        e->kind == scalar::Kind::Binary && (e->binary == BinaryOp::FloorDiv || e->binary == BinaryOp::Pow);
    if (by_function && dialect.binary_body(e->binary, e->args[0]->dtype) == nullptr)
      found = format("{} of {}", scalar::name(e->binary), e->args[0]->dtype.str());
  };
  loop::visit(
      kernel.body,
      [&](const loop::Stmt& s) {
        if (s->kind == loop::StmtKind::Alloc && !has_type(s->buffer->dtype) && !s->buffer->dtype.is_bool())
          found = s->buffer->dtype.str();
      },
      [&](const scalar::Expr& root) {
        if (found.empty()) scalar::visit(root, note);
      });
  if (found.empty()) return {};
  return format("it computes {}", found);
}

std::optional<std::string> metal_problem(const loop::Kernel& kernel) {
  constexpr size_t most_buffers = 31, others = 2;  // sizes and scratch memory
  if (kernel.params.size() + others > most_buffers)
    return format("it has {} arrays, and Metal allows {} with sizes and scratch memory", kernel.params.size(),
                  most_buffers);
  const DeviceForm device = device_form(kernel, true);
  return missing_in(device.kernel, metal, [](DType t) { return t != DType::float64(); });
}

CFunctions c_functions(std::span<const CKernel> kernels, const CFunctionOptions& options) {
  CHelpers helpers(c99);
  CFunctions out;
  std::string all;
  for (const CKernel& one : kernels) {
    loop::Kernel kernel =
        with_scalar_tiles(options.keep_lanes ? without_dots(*one.kernel) : *one.kernel, options.keep_lanes);
    if (!options.library_math) kernel = loop::expand_math(kernel);
    kernel = loop::simplify(kernel);
    CKernelWriter writer(kernel, helpers,
                         {.entry = CKernelForm::Entry::Static,
                          .may_overlap = one.may_overlap,
                          .fuses_products = true,
                          .is_scalar = !options.keep_lanes});
    CFunction& function = out.functions.emplace_back();
    function.name = c_name(kernel.name);
    function.text = writer.run();
    function.scratch_bytes = writer.scratch_bytes();
    all += function.text;
  }
  out.helpers =
      "/* A kernel keeps its frame: not inlined, so that memory that arrays of two types share is never reordered. */\n"
      "#ifdef __GNUC__\n#define RELAY_KERNEL __attribute__((noinline)) static\n#else\n#define RELAY_KERNEL static\n"
      "#endif\n\n" +
      std::string(no_contraction) + helpers.text_for(all);
  return out;
}

}  // namespace relay::codegen
