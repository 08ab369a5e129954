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

std::string opencl_source(std::span<const loop::Kernel> kernels, bool fine_tasks) {
  CHelpers helpers(opencl_c);
  std::string functions;
  for (const loop::Kernel& one : kernels) {
    const DeviceForm form = device_form(one, fine_tasks);
    functions += "\n" + CKernelWriter(form.kernel, helpers,
                                      {.entry = CKernelForm::Entry::WorkItems,
                                       .dialect = &opencl_c,
                                       .per_task = form.per_task,
                                       .thread = form.thread,
                                       .threads = form.threads,
                                       .fuses_products = true})
                            .run();
  }
  const std::string all = helpers.text_for(functions) + functions;
  const bool doubles = all.find("double") != std::string::npos;
  return std::string("/* Kernels, each over tasks [begin, end) that the work-items share. */\n") +
         (doubles ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "") + "#pragma OPENCL FP_CONTRACT OFF\n\n" +
         all;
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
