#include "relay/base/tile_permission.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#endif

namespace relay {

#if defined(__x86_64__) && defined(__linux__)

static TilePermission ask() {
  constexpr unsigned features_leaf = 7, tile_bit = 1U << 24;
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA (Linux 5.16)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(features_leaf, 0, &a, &b, &c, &d) || (d & tile_bit) == 0) return {};
  if (syscall(SYS_arch_prctl, request, tile_data) == 0) return {true, true};
  // ENOSPC: a thread's alternative stack for signals has no room for tiles.
  const int error = errno;
  return {true, false,
          error == EINVAL   ? "the kernel of the system is older than Linux 5.16, or has tiles switched off"
          : error == ENOSPC ? "the stack for signals of a thread is too small for tiles"
                            : std::strerror(error)};
}

const TilePermission& tile_permission() {
  static const TilePermission permission = ask();
  return permission;
}

#else

const TilePermission& tile_permission() {
  static const TilePermission none;
  return none;
}

#endif

}  // namespace relay
