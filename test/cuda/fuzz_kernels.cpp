// Random kernels as PTX, interpreted, against the interpreter of loops:
//
//   relay_fuzz_ptx [--seed N] [--cases N]
//
// The products of warps come first. The results must be equal bit for bit: on these inputs, every operation is exact.
// Ends with 1 at the first difference.
#include <CLI/CLI.hpp>
#include <cstring>
#include <iostream>

#include "mock/ptx_machine.h"
#include "relay/codegen/codegen.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/loop/random_kernel.h"
#include "warp_products.h"

namespace relay {
namespace {

constexpr uint64_t spacing = uint64_t{1} << 32;  // of the arrays' addresses on the device

struct Array {
  std::vector<uint8_t> bytes;
};

std::vector<Array> arrays_for(const loop::Kernel& kernel, int64_t rows, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  auto next = [&] { return state = state * 6364136223846793005 + 1442695040888963407, state >> 33; };
  std::vector<Array> out;
  for (const loop::BufferRef& b : kernel.params) {
    const size_t elements = static_cast<size_t>(b->shape.size() == 1 ? 24 : rows * 24);
    Array& array = out.emplace_back();
    array.bytes.resize(elements * 4);
    for (size_t i = 0; i < elements; ++i) {
      const int value = static_cast<int>(b->name == "index" ? next() % 24 : next() % 17 - 8);
      const float half = static_cast<float>(value) / 2;
      std::memcpy(array.bytes.data() + 4 * i, b->dtype.is_float() ? static_cast<const void*>(&half) : &value, 4);
    }
  }
  return out;
}

std::string run_ptx(const loop::Kernel& kernel, std::vector<Array>& arrays, int64_t rows, const std::string& text,
                    mock::Grid grid) {
  const mock::PtxModule module(text);
  const mock::Entry* entry = module.find("kernel_" + kernel.name);
  if (!entry) return "the module has no entry for the kernel";
  const uint64_t scratch_bytes = static_cast<uint64_t>(codegen::scratch_bytes(kernel));
  arrays.push_back({std::vector<uint8_t>(scratch_bytes * grid.blocks * grid.threads)});
  std::vector<uint64_t> arguments;
  for (size_t i = 0; i + 1 < arrays.size(); ++i) arguments.push_back((i + 1) * spacing);
  arguments.insert(arguments.end(),
                   {static_cast<uint64_t>(rows), static_cast<uint64_t>(rows), arrays.size() * spacing, scratch_bytes});
  std::vector<uint8_t> bytes(arguments.size() * 8);
  std::memcpy(bytes.data(), arguments.data(), bytes.size());
  module.run(*entry, bytes, grid, [&](uint64_t address, size_t size) -> void* {
    const uint64_t which = address / spacing, offset = address % spacing;
    if (which == 0 || which > arrays.size()) return nullptr;
    std::vector<uint8_t>& memory = arrays[which - 1].bytes;
    return offset + size <= memory.size() ? memory.data() + offset : nullptr;
  });
  arrays.pop_back();
  return {};
}

std::string check(uint64_t seed) {
  const loop::Kernel kernel = loop::random_kernel(seed);
  const int64_t rows = static_cast<int64_t>(seed % 5);
  const char* const processors[] = {"sm_75", "sm_80", "sm_90a"};
  const Result<std::string> text = codegen::ptx_text({&kernel, 1}, codegen::ptx_target(processors[seed % 3]));
  if (!text) return render(text.errors());
  std::vector<Array> want = arrays_for(kernel, rows, seed), got = want;
  std::vector<void*> params;
  std::vector<int64_t> sizes;
  for (Array& a : want) params.push_back(a.bytes.data()), sizes.push_back(static_cast<int64_t>(a.bytes.size()));
  const Status meant = loop::interpret(kernel, params, sizes, {rows}, 0, rows);
  if (!meant) return render(meant.errors());
  try {
    const mock::Grid grid{static_cast<unsigned>(1 + seed % 3), static_cast<unsigned>(1 + seed % 7)};
    if (std::string problem = run_ptx(kernel, got, rows, *text, grid); !problem.empty()) return problem;
  } catch (const mock::PtxError& e) {
    return e.what();
  }
  for (size_t i = 0; i < want.size(); ++i)
    if (want[i].bytes != got[i].bytes) return format("array {} differs", kernel.params[i]->name);
  return {};
}

}  // namespace
}  // namespace relay

int main(int argc, char** argv) {
  uint64_t seed = 1, cases = 200;
  CLI::App app("Random kernels as PTX");
  app.add_option("--seed", seed);
  app.add_option("--cases", cases);
  CLI11_PARSE(app, argc, argv);
  int products = 0;
  if (const std::string problem = relay::check_warp_products(products); !problem.empty()) {
    std::cout << problem << "\n";
    return 1;
  }
  for (uint64_t i = seed; i < seed + cases; ++i) {
    const std::string problem = relay::check(i);
    if (problem.empty()) continue;
    std::cout << "seed " << i << ": " << problem << "\n" << relay::loop::str(relay::loop::random_kernel(i));
    return 1;
  }
  std::cout << products << " products of warps and " << cases << " kernels agree\n";
}
