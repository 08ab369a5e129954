// Kernels as machine code: NAME_kernels.o has them, and functions of NAME.c call them as if they were written there.
#include "relay/c_project/project_writer.h"

namespace relay::c_project {

std::string object_name(const std::string& name, const std::string& kernel) {
  return format("{}_{}", name, codegen::c_name(kernel));
}

// Machine code expects its scratch memory at a multiple of this.
static constexpr int64_t scratch_alignment = 64;

// The function of NAME.c: arrays as typed pointers, shape variables, scratch memory, and the number of tasks.
static codegen::CFunction caller(const loop::Kernel& kernel, const std::string& callee, int64_t scratch_bytes) {
  std::vector<std::string> params, arrays, sizes;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const bool is_read = kernel.params[i]->read_only;
    params.push_back(format("{}{} *a{}", is_read ? "const " : "", codegen::c_stored_type(kernel.params[i]->dtype), i));
    arrays.push_back(is_read ? format("(void *)(uintptr_t)a{}", i) : format("a{}", i));
  }
  for (size_t i = 0; i < kernel.shape_vars.size(); ++i)
    params.push_back(format("int64_t n{}", i)), sizes.push_back(format("n{}", i));
  std::string scratch = "NULL", body;
  if (scratch_bytes > 0) {
    params.push_back("void *scratch");
    scratch = format("(unsigned char *)scratch + ({0} - (uintptr_t)scratch % {0}) % {0}", scratch_alignment);
  }
  params.push_back("int64_t tasks");
  if (!sizes.empty()) body = format("  const int64_t sizes[] = {{{}}};\n", join(sizes, ", "));
  codegen::CFunction out;
  out.name = codegen::c_name(kernel.name);
  out.scratch_bytes = scratch_bytes == 0 ? 0 : scratch_bytes + scratch_alignment - workspace_alignment;
  out.text = format(
      "void {0}(void *const *, const int64_t *, int64_t, int64_t, void *);\n\n"
      "static void {1}({2}) {{\n  void *const arrays[] = {{{3}}};\n{4}  {0}(arrays, {5}, 0, tasks, {6});\n}}\n",
      callee, out.name, join(params, ", "), join(arrays, ", "), body, sizes.empty() ? "NULL" : "sizes", scratch);
  return out;
}

codegen::CFunctions ProjectWriter::callers_of_machine_code() const {
  codegen::CFunctions out;
  for (uint32_t k = 0; k < kernels_.size(); ++k)
    if (function_of_[k] >= 0)
      out.functions.push_back(
          caller(kernels_[k], object_name(options_.name, kernels_[k].name), program_.kernels[k].scratch_bytes));
  return out;
}

}  // namespace relay::c_project
