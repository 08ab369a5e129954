// Descriptions of 64-bit ARM processors. "native" is the row of this machine's processor, by the number in its
// identification register, with the instruction sets that Linux tells of.
#include "relay/target/aarch64/aarch64.h"

#include <fstream>

#include "relay/runtime/functions/machine.h"
#include "relay/target/cores.h"
#include "relay/target/rows.h"
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace relay::target {

// The rows named after a version of the architecture are for processors without one of their own. neoverse-n1 has
// LLVM's name of the core that it is made from: LLVM's schedule for its own name begins loads too early, so that the
// sums of a convolution are moved between registers and to the stack. Code with SVE is for one length of its vectors;
// the figures are those of neoverse-n1, and for 512 bits those of A64FX.
static const Row rows[] = {
    {"armv8-a", "generic", "neon", 16, 1, 1.8, 34, 34, 22.7, 64, 64, 44.8, 32, 1024, 1024, 20, 8, 4},
    {"armv8.2-a", "generic", "neon fullfp16 dotprod", 16, 2, 2.5, 7, 7, 14.2, 7, 7, 23.6, 64, 1024, 8192, 50, 20, 12},
    {"armv8.6-a", "generic", "neon fullfp16 dotprod bf16 i8mm", 16, 4, 2.6, 5, 4.5, 7.1, 7, 7.5, 11, 64, 1024, 32768,
     70, 25, 16},
    {"cortex-a53", "cortex-a53", "neon", 16, 1, 1.4, 14, 13, 80, 29, 28, 125, 32, 512, 512, 8, 4, 2},
    {"cortex-a72", "cortex-a72", "neon", 16, 1, 1.8, 34, 34, 22.7, 64, 64, 44.8, 32, 1024, 1024, 20, 8, 4},
    {"neoverse-n1", "cortex-a76", "neon fullfp16 dotprod", 16, 2, 2.5, 7, 7, 14.2, 7, 7, 23.6, 64, 1024, 32768, 50, 20,
     12},
    {"neoverse-v1", "neoverse-v1", "neon fullfp16 dotprod bf16 i8mm", 16, 4, 2.6, 3.5, 3.5, 6.9, 3.5, 3.5, 10.6, 64,
     1024, 32768, 70, 25, 16},
    {"neoverse-v2", "neoverse-v2", "neon fullfp16 dotprod bf16 i8mm", 16, 4, 2.8, 5, 4.5, 7.1, 7, 7.5, 11, 64, 2048,
     36864, 80, 30, 20},
    {"sve-128", "generic", "neon fullfp16 sve", 16, 2, 2.5, 7, 7, 14.2, 7, 7, 23.6, 64, 1024, 32768, 50, 20, 12},
    {"sve-256", "generic", "neon fullfp16 sve", 32, 2, 2.5, 14, 14, 14.2, 14, 14, 23.6, 64, 1024, 32768, 50, 20, 12},
    {"sve-512", "generic", "neon fullfp16 sve", 64, 2, 2.2, 28, 28, 14.2, 28, 28, 23.6, 64, 8192, 32768, 50, 20, 12},
    {"apple-m1", "apple-m1", "neon fullfp16 dotprod", 16, 4, 3.2, 2, 2, 8, 2, 2, 12, 128, 3072, 8192, 100, 60, 50},
};

static Result<TargetDesc> row_of(std::string_view text) {
  RELAY_ASSIGN(TargetDesc t, describe_row(rows, "64-bit ARM", "aarch64-unknown-linux-gnu", text));
  // NEON multiplies by a lane of a register; SVE needs registers for numbers that are the same for all lanes.
  constexpr int for_broadcasts = 2;
  if (starts_with(t.name, "sve-")) t.vector_registers -= for_broadcasts;
  return t;
}

#if defined(__aarch64__)
namespace {
// A processor by the fields of its identification register, MIDR_EL1.
struct Part {
  int implementer, part;
  const char* row;
};
}  // namespace
static constexpr Part parts[] = {
    {0x41, 0xd03, "cortex-a53"},  {0x41, 0xd08, "cortex-a72"},  {0x41, 0xd0c, "neoverse-n1"},
    {0x41, 0xd40, "neoverse-v1"}, {0x41, 0xd4f, "neoverse-v2"}, {0x61, 0x022, "apple-m1"},
    {0x61, 0x023, "apple-m1"},
};

// The row of this machine's processor; null if it has none, or if Linux does not show the register. Processors with
// cores of several kinds have the row of the core that this thread is on.
static const char* row_of_this_machine() {
  if (!(getauxval(AT_HWCAP) & HWCAP_CPUID)) return nullptr;
  unsigned long id = 0;
  asm("mrs %0, midr_el1" : "=r"(id));
  for (const Part& p : parts)
    if (static_cast<int>(id >> 24 & 0xff) == p.implementer && static_cast<int>(id >> 4 & 0xfff) == p.part) return p.row;
  return nullptr;
}

// The sizes of this machine's data caches, where Linux tells them.
static void read_caches(TargetDesc& t) {
  for (int i = 0; i < 8; ++i) {
    const std::string folder = format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    std::ifstream level_file(folder + "level"), type_file(folder + "type"), size_file(folder + "size");
    int level = 0;
    int64_t kib = 0;
    std::string type;
    if (!(level_file >> level) || !(type_file >> type) || !(size_file >> kib) || type == "Instruction" || kib <= 0)
      continue;
    (level == 1 ? t.l1_bytes : level == 2 ? t.l2_bytes : t.l3_bytes) = kib << 10;
  }
}

static Result<TargetDesc> native() {
  const std::map<std::string, bool>& features = runtime::machine_features();
  auto has = [&](const char* feature) { return features.contains(feature) && features.at(feature); };
  const char* row = row_of_this_machine();
  if (!row)
    row = has("i8mm") && has("bf16") ? "armv8.6-a" : has("dotprod") && has("fullfp16") ? "armv8.2-a" : "armv8-a";
  RELAY_ASSIGN(TargetDesc t, row_of(row));
  // LLVM enables features by a processor's name, which a virtual machine may lack. Rows of real processors do without
  // SVE.
  t.features.clear();
  for (const auto& [feature, is_here] : features)
    if (!starts_with(feature, "sve-bits"))
      t.features.push_back((is_here && !starts_with(feature, "sve") ? "+" : "-") + feature);
  set_instructions(t);
  read_caches(t);
  t.cores = available_cores();
  return t;
}
#endif

static std::vector<std::string> processors() {
  std::vector<std::string> names = names_of(rows);
#if defined(__aarch64__)
  names.insert(names.begin(), "native");
#endif
  return names;
}

codegen::TargetDef aarch64() {
  return {"aarch64", processors, [](std::string_view text) {
#if defined(__aarch64__)
            if (trim(text) == "native") return native();
#endif
            return row_of(text);
          }};
}

}  // namespace relay::target
