#include "relay/target/host/host.h"

#include "relay/target/aarch64/aarch64.h"
#include "relay/target/x86/x86.h"

namespace relay::target {

codegen::TargetDef host() {
#if defined(__aarch64__)
  return aarch64();
#else
  return x86();
#endif
}

}  // namespace relay::target
