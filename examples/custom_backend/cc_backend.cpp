#include "cc_backend.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "relay/codegen/c/c_source.h"

using namespace relay;

namespace {

// Kernels of a shared library, which stays loaded as long as this object.
class LoadedLibrary final : public codegen::KernelLibrary {
 public:
  explicit LoadedLibrary(void* handle) : handle_(handle) {}
  ~LoadedLibrary() override { dlclose(handle_); }
  codegen::KernelFn find(const std::string& name) const override {
    return reinterpret_cast<codegen::KernelFn>(dlsym(handle_, codegen::c_name(name).c_str()));
  }

 private:
  void* handle_;
};

Diagnostic failed(const std::string& what) {
  return {
      .kind = DiagnosticKind::file_not_found, .message = what, .help = "see whether `cc` works, and TMPDIR has space"};
}

class CcBackend final : public codegen::Backend {
 public:
  // C99 has no registers that could run out.
  Status check(const loop::Kernel&, const std::string&) override { return ok(); }
  // The compiler runs once, for all kernels.
  void begin(const loop::Kernel&, const std::string&) override {}

  Result<std::shared_ptr<codegen::KernelLibrary>> compile(std::span<const loop::Kernel> kernels,
                                                          const runtime::Program* functions) override {
    RELAY_ASSIGN(const std::string source, emit(kernels, functions, codegen::CodeForm::Source));
    std::string folder = (std::filesystem::temp_directory_path() / "cc-backend-XXXXXX").string();
    if (!mkdtemp(folder.data())) return failed("no temporary folder can be made");
    std::ofstream(folder + "/kernels.c") << source;
    const std::string library = folder + "/kernels.so";
    const std::string command = "cc -std=c99 -O2 -shared -fPIC -o " + library + " " + folder + "/kernels.c -lm";
    const int status = std::system(command.c_str());
    void* handle = status == 0 ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    std::filesystem::remove_all(folder);
    if (!handle) return failed("the C compiler made no library of the kernels");
    return std::shared_ptr<codegen::KernelLibrary>(std::make_shared<LoadedLibrary>(handle));
  }

  Result<std::string> emit(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                           codegen::CodeForm form) override {
    if (functions || form != codegen::CodeForm::Source)
      return Diagnostic{.kind = DiagnosticKind::bad_option,
                        .message = "this backend writes kernels as C source only",
                        .help = "leave out --aot, or choose another form"};
    return codegen::c_source(kernels);
  }
};

}  // namespace

std::unique_ptr<codegen::Backend> cc_backend() { return std::make_unique<CcBackend>(); }
