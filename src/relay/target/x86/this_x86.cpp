#include "relay/target/x86/this_x86.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#endif

namespace relay::target {

#if defined(__x86_64__)

// Sizes by level, from the deterministic cache leaf of the vendor.
static void read_caches(ThisX86& x) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return;
  unsigned leaf = b == signature_AMD_ebx ? 0x8000001D : 4;
  for (unsigned i = 0; i < 8 && __get_cpuid_count(leaf, i, &a, &b, &c, &d) && (a & 31) != 0; ++i) {
    if ((a & 31) == 2) continue;  // instructions
    int64_t size = int64_t{(b >> 22) + 1} * (((b >> 12) & 1023) + 1) * ((b & 4095) + 1) * (int64_t{c} + 1);
    unsigned level = (a >> 5) & 7;
    (level == 1 ? x.l1_bytes : level == 2 ? x.l2_bytes : x.l3_bytes) = size;
  }
}

std::optional<ThisX86> this_x86() {
  ThisX86 x;
  x.cpu = llvm::sys::getHostCPUName().str();
  for (const llvm::StringMapEntry<bool>& f : llvm::sys::getHostCPUFeatures())
    if (f.getValue()) x.features.insert(f.getKey().str());
  read_caches(x);
  return x;
}

#else

std::optional<ThisX86> this_x86() { return std::nullopt; }

#endif

}  // namespace relay::target
