#include "relay/runtime/devices/opencl_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace relay::runtime {

static Result<OpenClLibrary> load() {
  const char* given = std::getenv("RELAY_OPENCL_LIBRARY");
  const std::string file = given && *given ? given : "libOpenCL.so.1";
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Diagnostic{DiagnosticKind::unknown_target,
                      format("OpenCL is not installed: {}", why ? why : file),
                      {},
                      {},
                      {},
                      "install the OpenCL loader and a driver of your device, such as Debian's packages "
                      "ocl-icd-libopencl1 and pocl-opencl-icd"};
  }
  OpenClLibrary found;
  const char* missing = nullptr;
#define RELAY_OPENCL_FUNCTION(name)                                          \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(handle, #name)); \
  if (found.name == nullptr && missing == nullptr) missing = #name;
#include "relay/runtime/devices/opencl_functions.def"
#undef RELAY_OPENCL_FUNCTION
  if (missing == nullptr) return found;
  return Diagnostic{
      DiagnosticKind::unknown_target, format("{} lacks {}, a function of OpenCL 1.2", file, missing), {}, {}, {},
      "install a newer OpenCL loader"};
}

Result<const OpenClLibrary*> opencl_library() {
  static const Result<OpenClLibrary> library = load();
  if (!library) return library.errors();
  return &*library;
}

std::string opencl_error(cl_int code) {
  static const std::pair<cl_int, const char*> names[] = {
      {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
      {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
      {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};
  for (const auto& [known, name] : names)
    if (known == code) return format("{} ({})", name, code);
  return format("error {}", code);
}

}  // namespace relay::runtime
