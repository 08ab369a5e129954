// Descriptions of processors, and the code for them, which is not run.
#include "relay/target/x86/x86.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relay/codegen/llvm/llvm.h"
#include "relay/loop/test_kernels.h"
#include "relay/machine/instruction.h"

namespace relay::target {
namespace {

using loop::test::parsed;

TargetDesc describe(const char* text) {
  Result<TargetDesc> t = x86().describe(text);
  EXPECT_TRUE(t) << (t ? "" : render(t.errors()));
  return t ? *t : TargetDesc{};
}

TEST(X86, Descriptions) {
  TargetDesc zen4 = describe("zen4");
  EXPECT_EQ(zen4.vector_bytes, 64);
  EXPECT_EQ(zen4.vector_registers, 32);
  EXPECT_EQ(zen4.fma_per_cycle, 1);
  EXPECT_TRUE(zen4.has_fma && zen4.has_masks);
  TargetDesc narrow = describe("zen4,-avx512f");
  EXPECT_EQ(narrow.vector_bytes, 32);
  EXPECT_EQ(narrow.vector_registers, 16);
  EXPECT_FALSE(narrow.has_masks);
  TargetDesc haswell = describe("haswell");
  EXPECT_EQ(haswell.vector_bytes, 32);
  TargetDesc old = describe("haswell,-avx");
  EXPECT_EQ(old.vector_bytes, 16);
  EXPECT_FALSE(old.has_fma);
  EXPECT_EQ(describe("generic").vector_bytes, 16);
  // A vector of half the width is divided in half of the time, and so is exp computed if it takes one of two halves.
  for (OperationCycles TargetDesc::* of : {&TargetDesc::float32_cycles, &TargetDesc::float64_cycles}) {
    EXPECT_EQ((zen4.*of).division, 2 * (narrow.*of).division);
    EXPECT_EQ((zen4.*of).root, 2 * (narrow.*of).root);
    EXPECT_EQ((zen4.*of).exp, 2 * (narrow.*of).exp);
  }
  EXPECT_EQ(haswell.float32_cycles.division, 14);
  EXPECT_EQ(old.float32_cycles.division, 7);
}

#if defined(__x86_64__)
TEST(X86, ThisMachine) {
  TargetDesc native = describe("native");
  EXPECT_GE(native.cores, 1);
  EXPECT_GE(native.l1_bytes, 16 << 10);
  // A virtual machine may state the model of an older processor: its features tell.
  const bool has_fp16 = std::count(native.features.begin(), native.features.end(), "+avx512fp16") > 0;
  if (has_fp16 && native.cpu.rfind("znver", 0) != 0) EXPECT_EQ(native.name, "sapphirerapids");
}
#endif

// LLVM enables features by a processor's name: each is either required of the machine that runs the code, or disabled.
TEST(X86, FeaturesOfTheName) {
  const std::vector<std::string> zen5 = describe("zen5").features, without = describe("zen5,-avxvnni").features;
  auto has = [](const std::vector<std::string>& all, const char* f) { return std::count(all.begin(), all.end(), f); };
  EXPECT_TRUE(has(zen5, "+avxvnni") && has(zen5, "+avx512vp2intersect") && has(zen5, "+gfni"));
  EXPECT_TRUE(has(without, "-avxvnni") && has(without, "+avx512f"));
  EXPECT_FALSE(has(describe("zen4").features, "+avxvnni"));
}

// Features required by a feature are enabled too, whatever LLVM names.
TEST(X86, NeededFeatures) {
  Result<TargetDesc> t = x86().describe("alderlake");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->vector_bytes, 32);
  std::vector<std::string> names, expected{"vpdpbusd.vex", "vpmaddwd.256", "pmaddwd", "vpmaddubsw", "pmaddubsw"};
  for (const InstructionRate& rate : t->instructions) names.push_back(rate.name);
  std::erase_if(expected, [](const std::string& name) {  // that are not in the list of instructions
    return std::ranges::none_of(machine::instructions(), [&](const machine::Instruction& i) { return i.name == name; });
  });
  EXPECT_EQ(names, expected);
}

TEST(X86, UnknownNames) {
  auto message = [](const char* text) {
    Result<TargetDesc> t = x86().describe(text);
    return t ? "accepted" : render(t.errors());
  };
  EXPECT_NE(message("zen44").find("did you mean 'zen4'?"), std::string::npos) << message("zen44");
  EXPECT_NE(message("zen4,-avx512g").find("did you mean 'avx512f'?"), std::string::npos) << message("zen4,-avx512g");
  EXPECT_NE(message("zen4,avx2").find("features have the form +name or -name"), std::string::npos)
      << message("zen4,avx2");
  EXPECT_NE(message("pentium").find("generic, avx2"), std::string::npos) << message("pentium");
}

const char* const elementwise = R"(kernel {0}(x: {1}[n] read, y: {1}[n]), shape (n), task t < 1 {{
  for j in 0..(n + 15) // 16 {{
    for l in 0..16 vectorised {{
      if j * 16 + l < n {{
        y[j * 16 + l] = {2}
      }}
    }}
  }}
}}
)";

loop::Kernel make(const char* name, const char* type, const char* value) {
  return parsed(fmt::format(fmt::runtime(elementwise), name, type, value));
}

// Symbols that an object needs from elsewhere would be missing in a shared library, whose linking checks that.
TEST(X86, NoLibraryIsNeeded) {
  const char* functions[] = {"exp", "expm1", "log",  "log1p", "tanh",  "erf",  "erfc",  "sin",  "cos",
                             "tan", "atan",  "sqrt", "rsqrt", "floor", "ceil", "round", "trunc"};
  std::vector<loop::Kernel> kernels;
  auto add = [&](const char* f, const char* type, const char* value) {
    kernels.push_back(
        parsed(format("kernel {0}_{1}(x: {1}[64] read, y: {1}[64]), shape (), task t < 8 {{ for l in 0..8 "
                      "vectorised {{ y[t * 8 + l] = {2} }} }}",
                      f, type, value)));
  };
  for (const char* f : functions)
    for (const char* t : {"float32", "float64", "float16"}) add(f, t, format("{}(x[t * 8 + l])", f).c_str());
  for (const char* t : {"float32", "float64"})
    for (const char* f : {"power", "truncmod", "floormod", "floordiv"}) {
      const char* infix = std::string_view(f) == "floormod" ? " % " : std::string_view(f) == "floordiv" ? " // " : "";
      const std::string value =
          *infix ? format("x[t * 8 + l]{}y[t * 8 + l]", infix) : format("{}(x[t * 8 + l], y[t * 8 + l])", f);
      add(f, t, value.c_str());
    }
  add("copy", "float32", "x[t * 8 + l]");
  add("fill", "int8", "0i8");
  add("divide", "int64", "x[t * 8 + l] // y[t * 8 + l]");
  for (const char* target : {"generic", "haswell", "zen4"}) {
    Result<std::string> library = codegen::shared_library(kernels, describe(target));
    ASSERT_TRUE(library) << render(library.errors());
    EXPECT_EQ(library->substr(0, 4),
              "\x7f"
              "ELF");
  }
}

TEST(X86, SameKernelsSameBytes) {
  std::vector<loop::Kernel> kernels{make("exponential", "float32", "exp(x[j * 16 + l])"),
                                    make("twice", "int8", "x[j * 16 + l] * 2i8")};
  Result<std::string> once = codegen::shared_library(kernels, describe("zen4")),
                      again = codegen::shared_library(kernels, describe("zen4"));
  ASSERT_TRUE(once && again);
  EXPECT_EQ(*once, *again);
}

// A kernel that was checked and begun while others were lowered has the bytes of one that was not, for any number of
// threads.
TEST(X86, SameBytesInTheBackground) {
  std::vector<loop::Kernel> kernels;
  for (int i = 0; i < 9; ++i)
    kernels.push_back(make(format("k{}", i).c_str(), "float32", format("exp(x[j * 16 + l]) * {}f", i).c_str()));
  Result<std::string> once = codegen::shared_library(kernels, describe("zen4"));
  ASSERT_TRUE(once);
  for (int threads : {1, 3}) {
    const std::unique_ptr<codegen::Backend> backend = codegen::llvm_backend(describe("zen4"), threads);
    for (size_t i = 0; i < kernels.size(); ++i) {
      const std::string text = format("text {}", i);
      ASSERT_TRUE(backend->check(kernels[i], text));
      if (i % 2 == 0) backend->begin(kernels[i], text);
    }
    Result<std::string> later = backend->emit(kernels, nullptr, codegen::CodeForm::SharedLibrary);
    ASSERT_TRUE(later);
    EXPECT_EQ(*once, *later) << threads << " threads";
  }
}

// A backend may be dropped while it compiles, for example if lowering fails.
TEST(X86, BackendIsDropped) {
  for (int i = 0; i < 4; ++i) {
    const std::unique_ptr<codegen::Backend> backend = codegen::llvm_backend(describe("zen4"), 2);
    for (int k = 0; k < 5; ++k)
      backend->begin(make(format("k{}", k).c_str(), "float32", "exp(x[j * 16 + l])"), format("text {}", k));
  }
}

// Instructions cannot scale an index by 12 bytes, so the loop increments a pointer; 4 bytes are part of the instruction.
// Three arrays with the same step share a product of the index.
TEST(X86, AddressesStepThroughInnermostLoops) {
  auto pointers = [](const char* text) {
    Result<std::string> ir = codegen::llvm_text(parsed(text), describe("zen4"));
    int count = 0;
    for (size_t at = 0; (at = ir->find("phi ptr", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(pointers(R"(kernel step(x: float32[n, 64, 3] read, y: float32[n, 64]), shape (n), task i < n {
  for j in 0..64 { y[i, j] = x[i, j, 0] + x[i, j, 2] }
})"),
            1);
  EXPECT_EQ(pointers(R"(kernel two(x: float32[n, 64, 3] read, y: float32[n, 64, 3]), shape (n), task i < n {
  for j in 0..64 { y[i, j, 0] = x[i, j, 0] }
})"),
            2);
  EXPECT_EQ(
      pointers(
          R"(kernel three(x: float32[n, 64, 3] read, z: float32[n, 64, 3] read, y: float32[n, 64, 3]), shape (n), task i < n {
  for j in 0..64 { y[i, j, 0] = x[i, j, 0] + z[i, j, 1] }
})"),
      0);
}

TEST(X86, TextForPeople) {
  loop::Kernel k = make("add", "float32", "x[j * 16 + l] + 1f");
  Result<std::string> ir = codegen::llvm_text(k, describe("zen4")),
                      assembly = codegen::assembly_text(k, describe("zen4"));
  ASSERT_TRUE(ir && assembly);
  EXPECT_NE(ir->find("define dso_local void @add("), std::string::npos);
  EXPECT_NE(ir->find("llvm.masked.load"), std::string::npos);
  EXPECT_NE(assembly->find("{%k"), std::string::npos) << "a tail by predicate registers";
  Result<std::string> haswell = codegen::assembly_text(k, describe("haswell"));
  ASSERT_TRUE(haswell);
  EXPECT_NE(haswell->find("vmaskmovps"), std::string::npos) << *haswell;
}

// Without predicate registers, a tail of constant size is stored as vectors of fewer lanes.
TEST(X86, KnownTailsAreStoredInParts) {
  Result<loop::Kernel> k = loop::parse_kernel(R"(kernel tail(y: float32[n, 7]), shape (n), task i < n {
  for l in 0..8 vectorised { if l < 7 { y[i, l] = 1f } }
})");
  ASSERT_TRUE(k) << render(k.errors());
  Result<std::string> haswell = codegen::assembly_text(*k, describe("haswell"));
  ASSERT_TRUE(haswell);
  EXPECT_EQ(haswell->find("vmaskmov"), std::string::npos) << *haswell;
}

// Instead of float32 between two conversions each.
TEST(X86, HalvesAreAddedAndMultipliedAsSuch) {
  Result<loop::Kernel> k = loop::parse_kernel(
      R"(kernel halves(x: float16[64] read, z: float16[64] read, y: float16[64]), shape (), task i < 1 {
  for l in 0..32 vectorised { y[l] = (x[l] + z[l]) * x[l] }
})");
  ASSERT_TRUE(k) << render(k.errors());
  Result<std::string> native = codegen::assembly_text(*k, describe("sapphirerapids")),
                      widened = codegen::assembly_text(*k, describe("icelake-server"));
  ASSERT_TRUE(native && widened);
  EXPECT_NE(native->find("vaddph"), std::string::npos) << *native;
  EXPECT_EQ(native->find("vcvt"), std::string::npos) << *native;
  EXPECT_NE(widened->find("vcvtph2ps"), std::string::npos) << *widened;
}

}  // namespace
}  // namespace relay::target
