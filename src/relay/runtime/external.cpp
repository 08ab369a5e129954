#include "relay/runtime/external.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "relay/runtime/artifacts/load_code.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

// A diagnostic for a failure of external code.
static Diagnostic external_problem(DiagnosticKind kind, std::string message, std::string help) {
  return {kind, std::move(message), {}, {}, {}, std::move(help)};
}

static std::string text_of(const relay_external_error& error) {
  const size_t length = strnlen(error.text, sizeof(error.text));
  return length > 0 ? std::string(error.text, length) : "it gave no reason";
}

static void set_text(relay_external_error* error, std::string_view text) {
  const size_t length = std::min(text.size(), sizeof(error->text) - 1);
  std::memcpy(error->text, text.data(), length);
  error->text[length] = 0;
}

// --- "elf": the payload is a shared object with the function ---------------------------------------------------------

namespace {
struct ElfFunction {
  std::shared_ptr<const KernelLibrary> code;
  relay_external_function call;
  std::vector<relay_external_array> constants;
};
}  // namespace

static void* load_elf(const relay_external_source* source, relay_external_error* error) {
  Result<std::shared_ptr<const KernelLibrary>> code =
      load_code({static_cast<const char*>(source->payload), source->payload_bytes});
  if (!code) return set_text(error, code.errors()[0].message), nullptr;
  const KernelFn found = (*code)->find(source->symbol);
  if (found == nullptr) return set_text(error, format("its code does not export {}", source->symbol)), nullptr;
  return new ElfFunction{*code,
                         reinterpret_cast<relay_external_function>(reinterpret_cast<void*>(found)),
                         {source->constants, source->constants + source->constant_count}};
}

static int run_elf(void* function, const relay_external_array* inputs, int32_t input_count,
                   const relay_external_array* outputs, int32_t output_count, int32_t threads,
                   relay_external_error* error) {
  const ElfFunction& f = *static_cast<const ElfFunction*>(function);
  std::vector<relay_external_array> all(inputs, inputs + input_count);
  all.insert(all.end(), outputs, outputs + output_count);
  all.insert(all.end(), f.constants.begin(), f.constants.end());
  const int status = f.call(all.data(), threads);
  if (status != 0) set_text(error, format("it returned the status {}", status));
  return status;
}

static void unload_elf(void* function) { delete static_cast<ElfFunction*>(function); }

static constexpr relay_external_library elf_library{RELAY_EXTERNAL_VERSION, "elf", load_elf, run_elf, unload_elf};

// --- finding libraries -----------------------------------------------------------------------------------------------

namespace {
// Never destroyed: programs may outlive everything else.
struct Libraries {
  std::mutex mutex;
  std::map<std::string, const relay_external_library*, std::less<>> by_name{{"elf", &elf_library}};
};
}  // namespace

static Libraries& libraries() {
  static Libraries* const all = new Libraries;
  return *all;
}

// The folder of the program or shared object that contains this function; "" if unknown.
static std::string own_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The candidate paths of a plugin, most likely first.
static std::vector<std::string> plugin_paths(const std::string& name) {
  const std::string file = "librelay_external_" + name + ".so";
  std::vector<std::string> paths;
  if (const char* folders = std::getenv("RELAY_EXTERNALS"))
    for (std::string_view folder : split(folders, ':'))
      if (!folder.empty()) paths.push_back(format("{}/{}", folder, file));
  if (const std::string folder = own_folder(); !folder.empty()) {
    paths.push_back(format("{}/{}", folder, file));
    paths.push_back(format("{}/../lib/{}", folder, file));
  }
  paths.push_back(file);
  return paths;
}

static Result<const relay_external_library*> open_plugin(const std::string& name) {
  // The name becomes part of a path.
  const bool is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
  std::vector<std::string> reasons;
  for (const std::string& path : is_plain ? plugin_paths(name) : std::vector<std::string>()) {
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = ::dlerror();
      reasons.emplace_back(why ? why : path);
      continue;
    }
    using Entry = const relay_external_library* (*)();
    const Entry entry = reinterpret_cast<Entry>(::dlsym(handle, "relay_external_plugin"));
    const relay_external_library* library = entry ? entry() : nullptr;
    if (library != nullptr && library->version == RELAY_EXTERNAL_VERSION) return library;  // never closed
    reasons.push_back(
        format("{} is a plugin for {}", path,
               library ? format("version {} of the interface, and this is {}", library->version, RELAY_EXTERNAL_VERSION)
                       : "something else: it does not export relay_external_plugin()"));
    ::dlclose(handle);
  }
  Diagnostic d = external_problem(
      DiagnosticKind::incompatible_artifact, format("the library '{}', which was not found", name),
      name == "python"
          ? "Python functions run only in the Python process that has defined them: load the program there"
          : format("put librelay_external_{}.so next to the program, or set RELAY_EXTERNALS to its folder", name));
  d.notes = std::move(reasons);
  return d;
}

static Result<const relay_external_library*> find_library(const std::string& name) {
  Libraries& known = libraries();
  std::lock_guard<std::mutex> lock(known.mutex);
  if (auto it = known.by_name.find(name); it != known.by_name.end()) return it->second;
  RELAY_ASSIGN(const relay_external_library* opened, open_plugin(name));
  known.by_name[name] = opened;
  return opened;
}

// --- functions -------------------------------------------------------------------------------------------------------

relay_external_array external_array(void* data, const Shape& shape, DType dtype) {
  // DLPack's numbers, as a table.
  static constexpr uint8_t codes[] = {0, 1, 2, 4, 6};
  return {data, shape.data(), static_cast<int32_t>(shape.size()), codes[static_cast<int>(dtype.code)],
          static_cast<uint8_t>(dtype.bits)};
}

Result<std::shared_ptr<const External>> load_external(const ExternalEntry& entry,
                                                      const std::vector<Tensor>& constants) {
  Result<const relay_external_library*> library = find_library(entry.library);
  if (!library) {
    Diagnostics errors = library.errors();
    errors[0].message = format("the program calls `{}` of {}", entry.symbol, errors[0].message);
    return errors;
  }
  std::shared_ptr<External> made = std::make_shared<External>(**library, entry);
  for (uint32_t c : entry.constants) made->constants_.push_back(constants[c]);
  for (const Tensor& t : made->constants_)
    made->arrays_.push_back(external_array(const_cast<void*>(t.data()), t.shape(), t.dtype()));
  const relay_external_source source{made->entry_.symbol.c_str(), made->entry_.payload.data(),
                                     made->entry_.payload.size(), made->arrays_.data(),
                                     static_cast<int32_t>(made->arrays_.size())};
  relay_external_error error{};
  made->function_ = (*library)->load(&source, &error);
  if (made->function_ == nullptr)
    return external_problem(
        DiagnosticKind::incompatible_artifact,
        format("the library '{}' cannot load `{}`: {}", entry.library, entry.symbol, text_of(error)),
        entry.library == "python" ? "define the function before the program is loaded, in the same process"
                                  : "compile the program again for this machine");
  return std::shared_ptr<const External>(std::move(made));
}

External::~External() {
  if (function_ != nullptr) library_.unload(function_);
}

Status External::run(std::span<const relay_external_array> arrays, int threads) const {
  relay_external_error error{};
  const int status =
      library_.run(function_, arrays.data(), static_cast<int32_t>(entry_.inputs), arrays.data() + entry_.inputs,
                   static_cast<int32_t>(arrays.size() - entry_.inputs), threads, &error);
  if (status == 0) return ok();
  return external_problem(DiagnosticKind::wrong_input,
                          format("`{}` of the library '{}' failed: {}", entry_.symbol, entry_.library, text_of(error)),
                          entry_.library == "python"
                              ? "handle these inputs in the Python function, or give other inputs"
                              : "give other inputs, or compile the program without this library");
}

}  // namespace relay::runtime

int relay_external_register(const relay_external_library* library) {
  if (library == nullptr || library->version != RELAY_EXTERNAL_VERSION) return -1;
  relay::runtime::Libraries& known = relay::runtime::libraries();
  std::lock_guard<std::mutex> lock(known.mutex);
  known.by_name[library->name] = library;
  return 0;
}
