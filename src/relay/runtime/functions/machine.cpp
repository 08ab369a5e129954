// Checks the instruction sets of this machine, and loads code into this process.
#include "relay/runtime/functions/machine.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "relay/base/tile_permission.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/devices/cuda/cuda.h"
#include "relay/runtime/devices/opencl.h"
#include "relay/runtime/functions/elf_image.h"
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/prctl.h>
#endif

namespace relay::runtime {

// The instruction sets that generated kernels may use, by LLVM's names, and how Linux tells that this machine has them:
// on x86-64 the name in /proc/cpuinfo, which omits those whose registers the operating system does not save, as it
// should; on AArch64 a bit of the auxiliary vector, which emulators set as well.
struct FeatureName {
  const char* name;
#if defined(__aarch64__)
  unsigned long vector, bit;
#else
  const char* flag;
#endif
};
static constexpr FeatureName known_features[] = {
#if defined(__x86_64__)
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"popcnt", "popcnt"},
    {"avx", "avx"},
    {"avx2", "avx2"},
    {"fma", "fma"},
    {"f16c", "f16c"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"lzcnt", "abm"},
    {"movbe", "movbe"},
    {"avx512f", "avx512f"},
    {"avx512cd", "avx512cd"},
    {"avx512bw", "avx512bw"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"gfni", "gfni"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bitalg", "avx512_bitalg"},
    {"vaes", "vaes"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
    {"avxvnni", "avx_vnni"},
    {"amx-tile", "amx_tile"},
    {"amx-int8", "amx_int8"},
    {"amx-bf16", "amx_bf16"},
    {"amx-fp16", "amx_fp16"},
    {"vpclmulqdq", "vpclmulqdq"},
#elif defined(__aarch64__)
    {"neon", AT_HWCAP, HWCAP_ASIMD},       {"dotprod", AT_HWCAP, HWCAP_ASIMDDP}, {"fullfp16", AT_HWCAP, HWCAP_ASIMDHP},
    {"fp16fml", AT_HWCAP, HWCAP_ASIMDFHM}, {"i8mm", AT_HWCAP2, HWCAP2_I8MM},     {"bf16", AT_HWCAP2, HWCAP2_BF16},
    {"sve", AT_HWCAP, HWCAP_SVE},          {"sve2", AT_HWCAP2, HWCAP2_SVE2},
#endif
};

static constexpr const char* this_architecture =
#if defined(__x86_64__)
    "x86_64";
static constexpr uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
    "aarch64";
static constexpr uint16_t this_machine = EM_AARCH64;
#else
    "unknown";
static constexpr uint16_t this_machine = EM_NONE;
#endif

#if defined(__x86_64__)
static std::set<std::string> cpu_flags() {
  std::set<std::string> found;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!starts_with(line, "flags")) continue;
    for (std::string_view flag : split(line, ' '))
      if (!flag.empty()) found.emplace(flag);
    break;
  }
  return found;
}
#endif

const std::map<std::string, bool>& machine_features() {
  static const std::map<std::string, bool> features = [] {
    std::map<std::string, bool> found;
#if defined(__x86_64__)
    const std::set<std::string> flags = cpu_flags();
    for (const FeatureName& f : known_features) found[f.name] = flags.contains(f.flag);
#elif defined(__aarch64__)
    for (const FeatureName& f : known_features) found[f.name] = (::getauxval(f.vector) & f.bit) != 0;
    // Code with SVE is for one length of its vectors.
    const int length = found["sve"] ? ::prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK : 0;  // bytes
    for (const int bits : {128, 256, 512}) found[format("sve-bits-{}", bits)] = length * 8 == bits;
#endif
    return found;
  }();
  return features;
}

// A device must be here, with the extensions that the code uses.
static Status check_opencl(const ArtifactTarget& target) {
  RELAY_ASSIGN(const OpenClChoice choice, find_opencl_device(target.cpu));
  const OpenClInfo& device = choice.about;
  const bool needs_double = std::find(target.features.begin(), target.features.end(), "+fp64") != target.features.end();
  if (!needs_double || device.has_double) return ok();
  return Diagnostic{DiagnosticKind::incompatible_artifact,
                    format("the model is compiled for a device with float64, and `{}` lacks it", device.name),
                    {},
                    {},
                    {},
                    "compile the model for this device, or choose another with RELAY_OPENCL_DEVICE"};
}

static Status check_cuda(const ArtifactTarget& target) {
  RELAY_ASSIGN(const CudaInfo device, find_cuda_device());
  if (runs_on(target.cpu, device)) return ok();
  return Diagnostic{
      DiagnosticKind::incompatible_artifact,
      format("the model is compiled for {}, and `{}` is {}", target.cpu, device.name, cuda_processor(device)),
      {},
      {},
      {},
      "compile the model for this device: --target cuda"};
}

// Code with tiles needs the system's permission, which this asks for.
static Status check_tiles(const ArtifactTarget& target) {
  if (std::find(target.features.begin(), target.features.end(), "+amx-tile") == target.features.end()) return ok();
  const TilePermission& tiles = tile_permission();
  if (tiles.granted) return ok();
  return Diagnostic{DiagnosticKind::incompatible_artifact,
                    format("the model is compiled for {} with tiles (AMX), which {}", target.name,
                           tiles.on_processor ? "the system does not allow: " + tiles.reason : "this processor lacks"),
                    {},
                    {},
                    {},
                    "compile the model for this machine, or without tiles: sapphirerapids,-amx"};
}

Status check_machine(const ArtifactTarget& target) {
  if (target.triple == "opencl") return check_opencl(target);
  if (target.triple == "nvptx64-nvidia-cuda") return check_cuda(target);
  std::string architecture = target.triple.substr(0, target.triple.find('-'));
  if (!architecture.empty() && architecture != this_architecture)
    return Diagnostic{DiagnosticKind::incompatible_artifact,
                      format("the model is compiled for {} ({}), but this machine is {}", architecture, target.name,
                             this_architecture),
                      {},
                      {},
                      {},
                      "compile the model on this machine, or with a --target for it"};
  std::vector<std::string> missing;
  for (const std::string& feature : target.features) {
    std::string_view name = starts_with(feature, "+") ? std::string_view(feature).substr(1) : std::string_view(feature);
    if (starts_with(name, "-")) continue;
    const auto known = machine_features().find(std::string(name));
    // Names that are not in the table only tune the code and require nothing.
    if (known != machine_features().end() && !known->second) missing.emplace_back(name);
  }
  if (missing.empty()) return check_tiles(target);
  Diagnostic d{DiagnosticKind::incompatible_artifact,
               format("the model is compiled for {}, but this machine lacks {}", target.name, join(missing, ", "))};
  d.help = "compile the model for this machine, or for a target with fewer features";
  return d;
}

namespace {

class LoadedLibrary : public KernelLibrary {
 public:
  LoadedLibrary(int file, void* handle) : file_(file), handle_(handle) {}
  ~LoadedLibrary() override {
    ::dlclose(handle_);
    ::close(file_);
  }
  KernelFn find(const std::string& name) const override {
    return reinterpret_cast<KernelFn>(::dlsym(handle_, name.c_str()));
  }
  const relay_functions* functions() const override {
    return static_cast<const relay_functions*>(::dlsym(handle_, RELAY_FUNCTIONS));
  }

 private:
  int file_;  // stays open: the loader identifies libraries by path, and the path contains the descriptor's number
  void* handle_;
};

}  // namespace

Result<std::shared_ptr<const KernelLibrary>> load_code(std::string_view elf) {
  auto failed = [](const std::string& why) {
    return Diagnostic{DiagnosticKind::corrupt_file, "the code cannot be loaded: " + why, {}, {}, {},
                      "compile the model again"};
  };
  Elf64_Ehdr header;
  if (elf.size() < sizeof(header)) return failed("it is too short");
  std::memcpy(&header, elf.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_DYN)
    return failed("it is not a 64-bit shared object");
  if (header.e_machine != this_machine)
    return Diagnostic{DiagnosticKind::incompatible_artifact,
                      format("the code is for ELF machine {}, but this machine is {} ({})", header.e_machine,
                             this_machine, this_architecture),
                      {},
                      {},
                      {},
                      "compile the model on this machine, or with a --target for it"};
  if (::getauxval(AT_BASE) == 0) return map_code(elf);  // no loader: this program is linked statically
  int file = ::memfd_create("relay-kernels", MFD_CLOEXEC);
  if (file < 0) {  // an old kernel or a strict sandbox
    std::string path = "/tmp/relay-kernels-XXXXXX";
    file = ::mkstemp(path.data());
    if (file < 0) return failed(std::strerror(errno));
    ::unlink(path.c_str());
  }
  for (size_t at = 0; at < elf.size();) {
    ssize_t n = ::write(file, elf.data() + at, elf.size() - at);
    if (n <= 0) {
      ::close(file);
      return failed(std::strerror(errno));
    }
    at += static_cast<size_t>(n);
  }
  void* handle = ::dlopen(format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    ::close(file);
    return failed(why ? why : "unknown reason");
  }
  return std::shared_ptr<const KernelLibrary>(std::make_shared<LoadedLibrary>(file, handle));
}

}  // namespace relay::runtime
