#include "relay/target/others/others.h"

#include "relay/target/rows.h"

namespace relay::target {

// Processors without vectors, for C projects: a vector is one float32. The vectors of Cortex-M55 add products of bytes;
// for the rest, C compilers use them. Clocks are those of common boards, and rates those of the reference manuals (Arm
// DDI 0403, DDI 0489: VFMA 3 cycles on Cortex-M4, VDIV and VSQRT 14); none is measured.
#define RELAY_SCALAR_CORE(fma, ghz) 4, fma, ghz, 14, 14, 60, 60, 60, 240, 16, 256, 512, 1, 0.5, 0.3
// Without a float unit: functions of the C library, of about 50 instructions for a product or a sum.
#define RELAY_INTEGER_CORE(ghz) 4, 0.01, ghz, 200, 300, 900, 500, 700, 2500, 16, 256, 512, 1, 0.5, 0.3

// Unmeasured figures: those of a mid-range core. Only vectors, registers and multiply-adds matter here.
#define RELAY_MIDDLING 1, 1.5, 20, 20, 24, 40, 40, 40, 32, 512, 2048, 15, 8, 4

namespace {
struct Other {
  Row row;
  const char* triple;
  bool has_fma;
  int vector_registers;
  bool has_floats = true;
};
}  // namespace

// LLVM's other targets cannot run kernels: AMDGPU, NVPTX and SPIRV have other memories, BPF has no floating point,
// XCore no object files; for M68k, VE and Xtensa, LLVM 22 itself fails on a convolution.
static const Other others_table[] = {
    {{"portable", "generic", "", RELAY_SCALAR_CORE(1, 1)}, "portable-unknown-unknown", false, 16},
    {{"cortex-m0", "cortex-m0", "", RELAY_INTEGER_CORE(0.05)}, "thumbv6m-none-eabi", false, 16, false},
    {{"cortex-m3", "cortex-m3", "", RELAY_INTEGER_CORE(0.1)}, "thumbv7m-none-eabi", false, 16, false},
    {{"rv32imac", "generic-rv32", "m a c", RELAY_INTEGER_CORE(0.1)}, "riscv32-unknown-elf", false, 16, false},
    {{"cortex-m4", "cortex-m4", "vfp4d16sp dsp", RELAY_SCALAR_CORE(0.33, 0.1)}, "thumbv7em-none-eabihf", true, 32},
    {{"cortex-m7", "cortex-m7", "fp-armv8d16 dsp", RELAY_SCALAR_CORE(0.5, 0.4)}, "thumbv7em-none-eabihf", true, 32},
    {{"cortex-m33", "cortex-m33", "fp-armv8d16sp dsp", RELAY_SCALAR_CORE(0.33, 0.1)},
     "thumbv8m.main-none-eabihf",
     true,
     32},
    {{"cortex-m55", "cortex-m55", "mve mve.fp fp-armv8d16sp dsp", RELAY_SCALAR_CORE(0.5, 0.4)},
     "thumbv8.1m.main-none-eabihf",
     true,
     32},
    {{"riscv64", "generic-rv64", "m a f d c", RELAY_SCALAR_CORE(0.5, 1)}, "riscv64-unknown-linux-gnu", true, 32},
    {{"armv7-neon", "generic", "v7 neon vfp4", 16, RELAY_MIDDLING}, "armv7a-unknown-linux-gnueabihf", true, 16},
    {{"avr", "avr6", "", 16, RELAY_MIDDLING}, "avr-unknown-unknown", false, 16},
    {{"hexagon", "hexagonv68", "", 16, RELAY_MIDDLING}, "hexagon-unknown-linux-musl", true, 16},
    {{"lanai", "generic", "", 16, RELAY_MIDDLING}, "lanai-unknown-unknown", false, 16},
    {{"loongarch64-lsx", "generic-la64", "f d lsx", 16, RELAY_MIDDLING}, "loongarch64-unknown-linux-gnu", true, 32},
    {{"mips64-msa", "mips64r5", "msa fp64", 16, RELAY_MIDDLING}, "mips64el-unknown-linux-gnuabi64", true, 32},
    {{"msp430", "generic", "", 16, RELAY_MIDDLING}, "msp430-unknown-unknown", false, 16},
    {{"powerpc64le", "pwr9", "vsx", 16, RELAY_MIDDLING}, "powerpc64le-unknown-linux-gnu", true, 64},
    {{"riscv32", "generic-rv32", "m a f d", 16, RELAY_MIDDLING}, "riscv32-unknown-linux-gnu", true, 32},
    {{"s390x", "z15", "vector", 16, RELAY_MIDDLING}, "s390x-unknown-linux-gnu", true, 32},
    {{"sparcv9", "niagara4", "", 16, RELAY_MIDDLING}, "sparcv9-unknown-linux-gnu", false, 16},
};
#undef RELAY_MIDDLING
#undef RELAY_INTEGER_CORE
#undef RELAY_SCALAR_CORE

static std::vector<Row> rows() {
  std::vector<Row> all;
  for (const Other& other : others_table) all.push_back(other.row);
  return all;
}

static Result<TargetDesc> describe(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  RELAY_ASSIGN(TargetDesc described, describe_row(rows(), "other", "", parts[0]));
  for (const Other& other : others_table)
    if (described.name == other.row.name)
      described.triple = other.triple, described.has_fma = other.has_fma,
      described.vector_registers = other.vector_registers;
  std::erase(described.features, "+");
  set_instructions(described);
  RELAY_RETURN_IF_ERROR(leave_out(described, std::span(parts).subspan(1)));
  return described;
}

bool has_float_unit(const TargetDesc& target) {
  return std::ranges::none_of(others_table,
                              [&](const Other& other) { return !other.has_floats && target.name == other.row.name; });
}

codegen::TargetDef others() {
  return {"others", [] { return names_of(rows()); }, describe};
}

}  // namespace relay::target
