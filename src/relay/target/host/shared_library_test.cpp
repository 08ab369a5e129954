// Kernels as a shared library. Two loaders load it: the system's, and that of static programs
// (runtime/functions/elf_image.h).
#include <dlfcn.h>

#include <fstream>

#include "relay/runtime/functions/elf_image.h"
#include "relay/target/host/kernel_testing.h"

namespace relay::target {
namespace {

// Twice x, and the kernel that reads a table of constants.
std::string library() {
  const std::vector<loop::Kernel> kernels{
      testing::parse(R"(kernel twice(x: float32[n] read, y: float32[n]), shape (n), task t < 1 {
  for j in 0..(n + 15) // 16 {
    for l in 0..16 vectorised {
      if j * 16 + l < n { y[j * 16 + l] = x[j * 16 + l] * 2f }
    }
  }
}
)"),
      testing::parse(R"(kernel reversed(x: float32[16] read, y: float32[16]), shape (), task t < 1 {
  for l in 0..16 vectorised { y[l] = exp(x[15 - l]) }
}
)")};
  Result<std::string> code = codegen::shared_library(kernels, testing::describe("native"));
  EXPECT_TRUE(code) << (code ? "" : render(code.errors()));
  return code ? *code : "";
}

void expect_twice(codegen::KernelFn twice) {
  ASSERT_NE(twice, nullptr);
  float x[19], y[20] = {};
  for (int i = 0; i < 19; ++i) x[i] = static_cast<float>(i);
  void* params[] = {x, y};
  int64_t n = 19;
  twice(params, &n, 0, 1, nullptr);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(y[i], i < 19 ? 2 * x[i] : 0);
}

TEST(SharedLibrary, RunsInTheSystemsLoader) {
  const std::string path = ::testing::TempDir() + "relay_shared_library_test.so";
  std::ofstream(path, std::ios::binary) << library();
  void* handle = dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  expect_twice(reinterpret_cast<codegen::KernelFn>(dlsym(handle, "twice")));
  dlclose(handle);
  unlink(path.c_str());
}

TEST(SharedLibrary, RunsWhenItIsMapped) {
  const Result<std::shared_ptr<const codegen::KernelLibrary>> mapped = runtime::map_code(library());
  ASSERT_TRUE(mapped) << render(mapped.errors());
  expect_twice((*mapped)->find("twice"));
  EXPECT_EQ((*mapped)->find("thrice"), nullptr);
  EXPECT_EQ((*mapped)->functions(), nullptr);
  float x[16], y[16];
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i) / 4;
  void* params[] = {x, y};
  ASSERT_NE((*mapped)->find("reversed"), nullptr);
  (*mapped)->find("reversed")(params, nullptr, 0, 1, nullptr);
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(y[i], std::exp(x[15 - i]), 1e-5f * y[i]);
}

TEST(SharedLibrary, AShortFileIsRefused) {
  const std::string code = library();
  for (size_t bytes = 0; bytes < code.size(); bytes += 1 + bytes / 8)
    EXPECT_FALSE(runtime::map_code(std::string_view(code).substr(0, bytes))) << bytes << " bytes";
}

// Changed tables either are refused or describe another image, which is not run here.
TEST(SharedLibrary, ChangedTablesNeverLeaveTheFile) {
  const std::string code = library();
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string changed = code;
    for (int k = 0; k < 3; ++k) {
      const size_t near_end = code.size() - 1 - random() % std::min<size_t>(code.size(), 2048);
      changed[random() % 2 ? random() % 1024 : near_end] = static_cast<char>(random());
    }
    refused += !runtime::map_code(changed);
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace relay::target
