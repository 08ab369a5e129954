#include "relay/runtime/devices/cuda/cuda_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace relay::runtime {

static constexpr int oldest_version = 12000;  // the code of kernels is PTX 8.0

std::string cuda_error(const CudaLibrary& cuda, cu::Result code) {
  const char* name = nullptr;
  if (cuda.error_name && cuda.error_name(code, &name) == cu::success && name) return format("{} ({})", name, code);
  return format("error {}", code);
}

static Diagnostic absent(std::string message) {
  return {DiagnosticKind::unknown_target,
          std::move(message),
          {},
          {},
          {},
          "leave the target out to compile for this machine's CPU, or compile only, for a named processor: cuda:sm_80"};
}

static Diagnostic old_driver(const std::string& reason) {
  return {DiagnosticKind::unknown_target,
          format("the CUDA driver is too old: {}", reason),
          {},
          {},
          {},
          "install a driver of CUDA 12.0 or newer (525 or newer), or leave the target out to use the CPU"};
}

static Result<CudaLibrary> load() {
  const char* given = std::getenv("RELAY_CUDA_LIBRARY");
  const std::string file = given && *given ? given : "libcuda.so.1";
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return absent(format("there is no CUDA driver on this machine: {}", why ? why : file));
  }
  CudaLibrary found;
  const char* missing = nullptr;
#define RELAY_CUDA_FUNCTION(name, symbol, params)                              \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(handle, #symbol)); \
  if (found.name == nullptr && missing == nullptr) missing = #symbol;
#include "relay/runtime/devices/cuda/cuda_functions.def"
#undef RELAY_CUDA_FUNCTION
  int version = 0;
  if (found.driver_version && found.driver_version(&version) == cu::success && version < oldest_version)
    return old_driver(format("it is of CUDA {}.{}, and kernels need 12.0", version / 1000, version % 1000 / 10));
  if (missing) return old_driver(format("{} lacks {}", file, missing));
  const cu::Result started = found.init(0);
  if (started == cu::no_device) return absent("the CUDA driver finds no GPU on this machine");
  if (started != cu::success) return absent(format("the CUDA driver does not start: {}", cuda_error(found, started)));
  return found;
}

Result<const CudaLibrary*> cuda_library() {
  static const Result<CudaLibrary> library = load();
  if (!library) return library.errors();
  return &*library;
}

}  // namespace relay::runtime
