// Empty functions for parts of LLVM that its archives refer to and that we do without. The build makes sure that they
// are linked before LLVM's archives are searched (see relay_llvm_standins in cmake/layers.cmake).
#include <llvm/Plugins/PassPlugin.h>
#include <sys/random.h>

// lld starts every back end that LLVM was configured with, to be ready for link-time optimisation. We link the few that
// we generate code for; the build lists the others in RELAY_ABSENT_TARGETS.
#define ABSENT(target)                         \
  void LLVMInitialize##target##TargetInfo() {} \
  void LLVMInitialize##target##Target() {}     \
  void LLVMInitialize##target##TargetMC() {}   \
  void LLVMInitialize##target##AsmPrinter() {} \
  void LLVMInitialize##target##AsmParser() {}

extern "C" {
RELAY_ABSENT_TARGETS
}

// LLVM's pass builder asks for the polyhedral optimiser, which is packaged apart; our loops are scheduled already.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "polly", "absent", [](llvm::PassBuilder&) {}};
}

// LLVM calls arc4random, which glibc has since 2.36; with this one, programs run on glibc 2.35.
extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}
