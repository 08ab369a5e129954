// The OpenCL devices of this machine.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "relay/runtime/devices/opencl_handles.h"

namespace relay::runtime {

static std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <class Function, class Handle>
static std::string text_of(Function query, Handle handle, cl_uint what) {
  size_t bytes = 0;
  if (query(handle, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, 0);
  if (query(handle, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  while (!text.empty() && (text.back() == 0 || text.back() == ' ')) text.pop_back();
  return text;
}

template <class T>
static T number_of(const OpenClLibrary& cl, cl_device_id device, cl_device_info what) {
  T value{};
  return cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : T{};
}

// The reason why kernels cannot run on the device.
static std::optional<std::string> refusal(const OpenClLibrary& cl, cl_device_id device, const std::string& version) {
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
    return format("its version is `{}`, and kernels need OpenCL 1.2", version);
  if (!number_of<cl_bool>(cl, device, CL_DEVICE_AVAILABLE)) return "it is not available";
  if (!number_of<cl_bool>(cl, device, CL_DEVICE_COMPILER_AVAILABLE)) return "its driver has no compiler";
  if (!number_of<cl_bool>(cl, device, CL_DEVICE_ENDIAN_LITTLE)) return "it is big-endian";
  return {};
}

static OpenClInfo describe(const OpenClLibrary& cl, cl_platform_id platform, cl_device_id device) {
  OpenClInfo d;
  d.platform = text_of(cl.clGetPlatformInfo, platform, CL_PLATFORM_NAME);
  d.name = text_of(cl.clGetDeviceInfo, device, CL_DEVICE_NAME);
  d.version = text_of(cl.clGetDeviceInfo, device, CL_DEVICE_VERSION);
  d.driver = text_of(cl.clGetDeviceInfo, device, CL_DRIVER_VERSION);
  const cl_device_type type = number_of<cl_device_type>(cl, device, CL_DEVICE_TYPE);
  d.kind = type & CL_DEVICE_TYPE_GPU ? "GPU" : type & CL_DEVICE_TYPE_CPU ? "CPU" : "accelerator";
  d.has_double = number_of<cl_device_fp_config>(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  const cl_device_fp_config single = number_of<cl_device_fp_config>(cl, device, CL_DEVICE_SINGLE_FP_CONFIG);
  d.has_fma = (single & CL_FP_FMA) != 0;
  d.rounds_division = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  d.memory_bytes = static_cast<int64_t>(number_of<cl_ulong>(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE));
  d.allocation_bytes = static_cast<int64_t>(number_of<cl_ulong>(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  d.argument_bytes = static_cast<int64_t>(number_of<size_t>(cl, device, CL_DEVICE_MAX_PARAMETER_SIZE));
  d.units = std::max(1, static_cast<int>(number_of<cl_uint>(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS)));
  d.group_size =
      std::max<int64_t>(1, static_cast<int64_t>(number_of<size_t>(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE)));
  d.shared_bytes = static_cast<int64_t>(number_of<cl_ulong>(cl, device, CL_DEVICE_LOCAL_MEM_SIZE));
  d.refused = refusal(cl, device, d.version);
  return d;
}

std::vector<FoundDevice> found_devices(const OpenClLibrary& cl) {
  cl_uint count = 0;
  const cl_int code = cl.clGetPlatformIDs(0, nullptr, &count);
  std::vector<FoundDevice> out;
  if (code != CL_SUCCESS || count == 0) return out;  // a loader without drivers
  std::vector<cl_platform_id> platforms(count);
  if (cl.clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return out;
  for (cl_platform_id platform : platforms) {
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0) continue;
    std::vector<cl_device_id> devices(count);
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS) continue;
    for (cl_device_id device : devices) out.push_back({describe(cl, platform, device), device});
  }
  auto rank = [](const FoundDevice& d) {
    return d.about.refused ? 3 : d.about.kind == "GPU" ? 0 : d.about.kind == "accelerator" ? 1 : 2;
  };
  std::vector<FoundDevice> sorted;
  for (int r = 0; r <= 3; ++r)
    std::copy_if(out.begin(), out.end(), std::back_inserter(sorted),
                 [&](const FoundDevice& d) { return rank(d) == r; });
  return sorted;
}

Result<std::vector<OpenClInfo>> opencl_devices() {
  RELAY_ASSIGN(const OpenClLibrary* cl, opencl_library());
  std::vector<OpenClInfo> out;
  for (const FoundDevice& d : found_devices(*cl)) out.push_back(d.about);
  return out;
}

Result<OpenClChoice> find_opencl_device(const std::string& given) {
  RELAY_ASSIGN(const std::vector<OpenClInfo> all, opencl_devices());
  const char* preferred = std::getenv("RELAY_OPENCL_DEVICE");
  const std::string text = !given.empty() ? given : preferred ? preferred : "", wanted = lower_case(text);
  Diagnostic none{DiagnosticKind::unknown_target, all.empty() ? "OpenCL finds no device on this machine"
                                                              : format("no OpenCL device matches '{}'", text)};
  for (size_t i = 0; i < all.size(); ++i) {
    const OpenClInfo& d = all[i];
    const bool matches = lower_case(d.platform + " " + d.name).find(wanted) != std::string::npos;
    if (matches && !d.refused) return OpenClChoice{static_cast<int64_t>(i), d};
    if (matches && text.empty()) none.message = "no OpenCL device of this machine can be used";
    if (matches && !text.empty()) none.message = format("`{}` cannot be used: {}", d.name, *d.refused);
    none.notes.push_back(format("{}, {}, {}{}", d.name, d.platform, d.version, d.refused ? ": " + *d.refused : ""));
  }
  none.help = all.empty() ? "install a driver of your device, such as Debian's package pocl-opencl-icd for CPUs"
                          : "give a part of the name of one of these devices or platforms, as in opencl:pocl";
  return none;
}

}  // namespace relay::runtime
