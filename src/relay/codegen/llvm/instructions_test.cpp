// Each line of machine/instructions.def: the machine code has the instruction, and computes what the interpreter computes.
// It runs on this machine if it has the instruction; code for AArch64 runs under QEMU's user mode, in a program without
// a C library that writes its results to standard output. Instructions on tiles are emulated where the machine lacks
// them (amx_emulator.h). Those of GPUs are run by test/cuda/warp_products.cpp.
#include <gtest/gtest.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/Program.h>
#include <llvm/TargetParser/Host.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "relay/codegen/llvm/amx_emulator.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/codegen/llvm/temporary_folder.h"
#include "relay/loop/loop.h"
#include "relay/machine/instruction.h"

namespace relay::codegen {
namespace {

using machine::Instruction;

constexpr int steps = 10, tile_steps = 3;

TargetDesc machine_with(const Instruction& instruction) {
  TargetDesc t;
  t.name = instruction.name, t.triple = format("{}-unknown-linux-gnu", instruction.architecture), t.cpu = "generic";
  if (t.triple.starts_with("x86_64"))
    t.cpu = instruction.most_bytes == 64 ? "x86-64-v4" : instruction.most_bytes == 32 ? "x86-64-v3" : "x86-64-v2";
  if (instruction.on_tiles() && !instruction.in_vectors) t.cpu = "x86-64";
  for (std::string_view f : split(instruction.features, ' ')) t.features.push_back(format("+{}", f));
  t.vector_bytes = instruction.on_tiles() ? 16 : instruction.most_bytes, t.vector_registers = 32, t.has_fma = true;
  t.instructions = {{instruction.name, 2}};
  return t;
}

// Sums over steps, with numbers that are broadcast and numbers that are adjacent in memory.
loop::Kernel kernel_for(const Instruction& i, int lanes) {
  std::string left, right;
  for (int p = 0; p < i.products; ++p) {
    left += format("a[{} * k + {}], ", i.products, p);
    right += format("{}b[k, l, {}]", p ? ", " : "", p);
  }
  const std::string text = format(
      "kernel sums(a: {0}[{4}] read, b: {1}[{5}, {6}, {3}] read, c: {2}[{6}]), shape (), task t < 1 {{\n"
      "  for k in 0..{5} {{\n    for l in 0..{6} vectorised {{\n      c[l] = c[l] + {9}dot_{2}({7}{8})\n    }}\n  "
      "}}\n}}\n",
      i.left.str(), i.right.str(), i.sum.str(), i.products, steps * i.products, steps, lanes, left, right,
      i.short_sums ? "short_" : "");
  Result<loop::Kernel> kernel = loop::parse_kernel(text);
  EXPECT_TRUE(kernel) << (kernel ? "" : render(kernel.errors())) << text;
  return kernel ? *kernel : loop::Kernel{};
}

// A product of rows x columns sums, in loops as schedules make them.
loop::Kernel tile_kernel_for(const Instruction& i, int rows, int columns) {
  std::string left, right;
  for (int p = 0; p < i.products; ++p) {
    left += format("a[i, {} * k + {} * q + {}], ", i.steps * i.products, i.products, p);
    right += format("{}b[{} * k + q, j, {}]", p ? ", " : "", i.steps, p);
  }
  const std::string elements = format("for i in 0..{} tile {{ for j in 0..{} tile {{", rows, columns);
  const std::string text = format(
      "kernel sums(a: {0}[{4}, {5}] read, b: {1}[{6}, {7}, {3}] read, c: {2}[{4}, {7}]), shape (), task t < 1 {{\n"
      "  alloc sum: {2}[{4}, {7}] in tile\n"
      "  {9} sum[i, j] = 0{8} }} }}\n"
      "  for k in 0..{10} {{\n"
      "    {9} for q in 0..{11} tile {{ sum[i, j] = sum[i, j] + dot_{2}({12}{13}) }} }} }}\n"
      "  }}\n"
      "  {9} c[i, j] = sum[i, j] }} }}\n}}\n",
      i.left.str(), i.right.str(), i.sum.str(), i.products, rows, tile_steps * i.steps * i.products,
      tile_steps * i.steps, columns, i.sum.is_float() ? "f" : "i32", elements, tile_steps, i.steps, left, right);
  Result<loop::Kernel> kernel = loop::parse_kernel(text);
  EXPECT_TRUE(kernel) << (kernel ? "" : render(kernel.errors())) << text;
  return kernel ? *kernel : loop::Kernel{};
}

// Kernels with the instruction's widest and narrower forms.
std::vector<loop::Kernel> kernels_of(const Instruction& i) {
  if (i.on_tiles())
    return {tile_kernel_for(i, i.rows, i.columns()),
            i.in_vectors ? tile_kernel_for(i, 1, 1) : tile_kernel_for(i, 5, 7)};
  std::vector<loop::Kernel> out;
  for (int bytes = i.least_bytes; bytes <= i.most_bytes; bytes *= 2)
    out.push_back(kernel_for(i, bytes / i.sum.bytes()));
  return out;
}

// Integers of the whole range. Floats are small multiples of one half, so that all sums are exact.
std::string random_numbers(DType type, int64_t count, std::mt19937& random) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    float number = static_cast<float>(random() % 9) / 2 - 2;
    uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    if (type == DType::bfloat16()) bits >>= 16;
    if (!type.is_float()) bits = static_cast<uint32_t>(random());
    bytes.append(reinterpret_cast<const char*>(&bits), static_cast<size_t>(type.bytes()));
  }
  return bytes;
}

std::vector<std::string> arrays_for(const loop::Kernel& kernel) {
  std::mt19937 random(7);
  std::vector<std::string> arrays;
  for (const loop::BufferRef& p : kernel.params) {
    int64_t count = 1;
    for (const scalar::Expr& e : p->shape) count *= e->ivalue;
    arrays.push_back(random_numbers(p->dtype, count, random));
  }
  return arrays;
}

std::string interpreted(const loop::Kernel& kernel, std::vector<std::string> arrays) {
  std::vector<void*> params;
  std::vector<int64_t> bytes;
  for (std::string& a : arrays) params.push_back(a.data()), bytes.push_back(static_cast<int64_t>(a.size()));
  const Status status = loop::interpret(kernel, params, bytes, {}, 0, 1);
  EXPECT_TRUE(status) << (status ? "" : render(status.errors()));
  return arrays.back();
}

std::string run_here(const loop::Kernel& kernel, const TargetDesc& target, std::vector<std::string> arrays) {
  Result<std::shared_ptr<KernelLibrary>> library = jit({&kernel, 1}, target);
  EXPECT_TRUE(library) << (library ? "" : render(library.errors()));
  if (!library) return "";
  std::vector<void*> params;
  for (std::string& a : arrays) params.push_back(a.data());
  (*library)->find(kernel.name)(params.data(), nullptr, 0, 1, nullptr);
  return arrays.back();
}

// The array as a C initialiser.
std::string initialiser(const std::string& bytes) {
  std::string text;
  for (char c : bytes) text += format("{},", static_cast<int>(static_cast<unsigned char>(c)));
  return text;
}

int execute(const std::vector<std::string>& command, const std::string& output) {
  const llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(command[0]);
  if (!program) return -1;
  std::vector<llvm::StringRef> words(command.begin(), command.end());
  const std::optional<llvm::StringRef> streams[] = {"", llvm::StringRef(output), std::nullopt};
  return llvm::sys::ExecuteAndWait(*program, words, std::nullopt, streams, 60);
}

std::string run_under_qemu(const loop::Kernel& kernel, const TargetDesc& target,
                           const std::vector<std::string>& arrays) {
  const TemporaryFolder folder;
  Result<std::string> object = object_file({&kernel, 1}, target);
  EXPECT_TRUE(object) << (object ? "" : render(object.errors()));
  if (!object) return "";
  std::ofstream(folder.file("kernel.o"), std::ios::binary) << *object;
  std::ofstream source(folder.file("main.c"));
  source << "void sums(void* const*, const long*, long, long, void*);\n";
  for (size_t a = 0; a < arrays.size(); ++a)
    source << format("static _Alignas(64) unsigned char array{}[] = {{{}}};\n", a, initialiser(arrays[a]));
  source << format(
      "static long call(long number, long a, const void* b, long c) {{\n"
      "  register long x8 __asm__(\"x8\") = number, x0 __asm__(\"x0\") = a, x2 __asm__(\"x2\") = c;\n"
      "  register const void* x1 __asm__(\"x1\") = b;\n"
      "  __asm__ volatile(\"svc 0\" : \"+r\"(x0) : \"r\"(x8), \"r\"(x1), \"r\"(x2) : \"memory\");\n"
      "  return x0;\n}}\n"
      "void _start(void) {{\n"
      "  void* params[] = {{array0, array1, array2}};\n"
      "  sums(params, 0, 0, 1, 0);\n"
      "  call(64, 1, array2, {});\n"  // write
      "  call(93, 0, 0, 0);\n}}\n",   // exit
      arrays.back().size());
  source.close();
  EXPECT_EQ(execute({"clang-22", "--target=aarch64-linux-gnu", "-O1", "-ffreestanding", "-nostdlib", "-static",
                     "-fuse-ld=lld", folder.file("main.c"), folder.file("kernel.o"), "-o", folder.file("program")},
                    folder.file("said")),
            0);
  EXPECT_EQ(execute({"qemu-aarch64", "-cpu", "max", folder.file("program")}, folder.file("results")), 0)
      << "dev/setup installs QEMU's user mode";
  std::ifstream results(folder.file("results"), std::ios::binary);
  std::ostringstream bytes;
  bytes << results.rdbuf();
  return bytes.str();
}

bool is_here(const Instruction& instruction) {
#if defined(__x86_64__)
  if (std::string_view(instruction.architecture) != "x86_64") return false;
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  for (std::string_view f : split(instruction.features, ' '))
    if (const auto found = features.find(f); found == features.end() || !found->second) return false;
  return true;
#else
  return false;
#endif
}

std::string mnemonic(const Instruction& i) { return std::string(i.name).substr(0, std::string(i.name).find('.')); }

// Makes the sums of pairs of products fit into 16 bits.
void make_pairs_fit(const Instruction& i, std::string& weights) {
  if (i.left == DType::int8()) std::replace(weights.begin(), weights.end(), '\x80', '\x81');
  if (i.left == DType::uint8())
    for (char& c : weights) c = static_cast<char>(static_cast<signed char>(c) / 2);
}

class Instructions : public ::testing::TestWithParam<const Instruction*> {};

TEST_P(Instructions, IsEmitted) {
  const Instruction& i = *GetParam();
  for (const loop::Kernel& kernel : kernels_of(i)) {
    const Result<std::string> text = assembly_text(kernel, machine_with(i));
    ASSERT_TRUE(text) << render(text.errors());
    EXPECT_NE(text->find("\t" + mnemonic(i)), text->npos) << loop::str(kernel) << *text;
  }
}

TEST_P(Instructions, ComputesItsMeaning) {
  const Instruction& i = *GetParam();
  const bool emulated = std::string_view(i.architecture) == "aarch64";
  bool runs = emulated || is_here(i);
#if defined(__x86_64__)
  std::optional<AmxEmulator> tiles;
  if (i.on_tiles() && !i.in_vectors) tiles.emplace(), runs = true;
#endif
  if (!runs) GTEST_SKIP() << "this machine does not have " << i.name;
  for (const loop::Kernel& kernel : kernels_of(i)) {
    std::vector<std::string> arrays = arrays_for(kernel);
    if (i.short_sums) make_pairs_fit(i, arrays[1]);
    const TargetDesc target = machine_with(i);
    EXPECT_EQ(emulated ? run_under_qemu(kernel, target, arrays) : run_here(kernel, target, arrays),
              interpreted(kernel, arrays))
        << loop::str(kernel);
  }
}

// Sums through 16 bits: -128 (-128 - 127) is the greatest that fits, and of bytes without signs 255 (127 + 1) and
// 255 (-127 - 1). One more, which rules refuse, does not. Dot products that are not short are exact.
TEST(ShortSums, AtTheirBound) {
  int seen = 0;
  for (const Instruction& i : machine::instructions()) {
    if (!i.short_sums) continue;
    SCOPED_TRACE(i.name);
    loop::Kernel kernel = kernels_of(i)[0];
    const TargetDesc target = machine_with(i);
    std::vector<std::string> arrays = arrays_for(kernel);
    const bool emulated = std::string_view(i.architecture) == "aarch64", has_sign = i.left == DType::int8();
    if (!emulated && !is_here(i)) continue;
    auto is_exact = [&](char data, int first, int second) {
      arrays[0].assign(arrays[0].size(), data);
      for (size_t b = 0; b < arrays[1].size(); ++b) arrays[1][b] = static_cast<char>(b % 2 == 0 ? first : second);
      const std::string got = emulated ? run_under_qemu(kernel, target, arrays) : run_here(kernel, target, arrays);
      return got == interpreted(kernel, arrays);
    };
    EXPECT_FALSE(has_sign ? is_exact('\x80', -128, -128) : is_exact('\xff', 127, 2));
    EXPECT_TRUE(has_sign ? is_exact('\x80', -128, -127) : is_exact('\xff', 127, 1));
    if (!has_sign) EXPECT_FALSE(is_exact('\xff', -127, -2));
    if (!has_sign) EXPECT_TRUE(is_exact('\xff', -127, -1) && is_exact('\xff', -128, 127) && is_exact('\xff', 0, -128));
    std::string text = loop::str(kernel);
    text.erase(text.find("short_"), std::string_view("short_").size());
    kernel = *loop::parse_kernel(text);
    EXPECT_TRUE(has_sign ? is_exact('\x80', -128, -128) : is_exact('\xff', 127, 127));
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

std::vector<const Instruction*> all() {
  std::vector<const Instruction*> out;
  for (const Instruction& i : machine::instructions())
    // Instructions without an intrinsic are for C projects: test/python/emit_c/test_smlad.py
    if (*i.intrinsic && std::string_view(i.architecture) != "nvptx64") out.push_back(&i);
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, Instructions, ::testing::ValuesIn(all()), [](const auto& info) {
  std::string name = info.param->name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace relay::codegen
