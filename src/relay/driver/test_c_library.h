// Kernels as C99 (codegen/c), compiled by a C compiler of this machine with all its warnings as errors and loaded.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "relay/codegen/c/c_source.h"
#include "relay/runtime/kernel.h"

namespace relay::driver {

class CLibrary : public runtime::KernelLibrary {
 public:
  explicit CLibrary(void* handle) : handle_(handle) {}
  ~CLibrary() override { dlclose(handle_); }
  runtime::KernelFn find(const std::string& name) const override {
    return reinterpret_cast<runtime::KernelFn>(dlsym(handle_, codegen::c_name(name).c_str()));
  }

 private:
  void* handle_;
};

inline std::string file_text(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// Null after a failure, which is reported.
inline std::shared_ptr<runtime::KernelLibrary> c_library(std::span<const loop::Kernel> kernels, const char* compiler) {
  const std::string base = format("{}relay_c_{}", testing::TempDir(), getpid()), source = codegen::c_source(kernels);
  std::ofstream(base + ".c") << source;
  // Without optimisation: what is asked is whether the source is right, and that takes a third of the time.
  const std::string command = format(
      "{0} -std=c99 -Wall -Wextra -Werror -pedantic -O0 -shared -fPIC {1}.c -o {1}.so -lm 2> {1}.txt", compiler, base);
  void* handle = std::system(command.c_str()) == 0 ? dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!handle) ADD_FAILURE() << file_text(base + ".txt") << "\n" << source;
  for (const char* end : {".c", ".so", ".txt"}) std::filesystem::remove(base + end);
  return handle ? std::make_shared<CLibrary>(handle) : nullptr;
}

}  // namespace relay::driver
