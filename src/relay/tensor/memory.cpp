#include "relay/tensor/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace relay {

static constexpr size_t huge_page = 2 << 20;

void* allocate_array(size_t bytes) {
  size_t alignment = bytes >= huge_page ? huge_page : 64;
  size_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  if (rounded < bytes) return nullptr;
  void* memory = std::aligned_alloc(alignment, rounded);
#ifdef MADV_HUGEPAGE
  if (memory && alignment == huge_page) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace relay
