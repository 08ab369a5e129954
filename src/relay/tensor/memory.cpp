#include "relay/tensor/memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

namespace relay {

static constexpr size_t huge_page = 2 << 20;

void* allocate_array(size_t bytes) {
  size_t alignment = bytes >= huge_page ? huge_page : 64;
  size_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  if (rounded < bytes) return nullptr;
  void* memory = std::aligned_alloc(alignment, rounded);
#ifdef MADV_HUGEPAGE
  // Its end, which may be short, in small pages: a huge one would take memory that nobody uses.
  if (memory && alignment == huge_page) madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
  return memory;
}

std::shared_ptr<const void> zeroed_array(size_t bytes) {
  const size_t unit = bytes >= huge_page ? huge_page : 4096, rounded = (bytes + unit - 1) / unit * unit;
  if (rounded < bytes || bytes == 0) return nullptr;
  // A mapping begins at a page; a huge page begins within one more.
  const size_t all = rounded + (unit == huge_page ? huge_page : 0);
  void* memory = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::shared_ptr<const void> mapping(memory, [all](const void* p) { ::munmap(const_cast<void*>(p), all); });
  uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + unit - 1) / unit * unit;
#ifdef MADV_HUGEPAGE
  if (unit == huge_page) ::madvise(reinterpret_cast<void*>(begin), rounded, MADV_HUGEPAGE);
#endif
  return {mapping, reinterpret_cast<const void*>(begin)};
}

namespace {
struct Mapping {
  size_t bytes = 0;
  int descriptor = -1;
  struct stat about{};
};
// The mappings of files, by where they begin.
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, Mapping> all;
  // That of `from`; null if it is other memory.
  const Mapping* find(uintptr_t from, size_t bytes) const {
    std::map<uintptr_t, Mapping>::const_iterator behind = all.upper_bound(from);
    if (behind == all.begin()) return nullptr;
    const auto& [begin, mapping] = *std::prev(behind);
    return from + bytes <= begin + mapping.bytes ? &mapping : nullptr;
  }
};
Mappings& mappings() {
  static Mappings* all = new Mappings;  // models may be freed after static objects
  return *all;
}
}  // namespace

std::shared_ptr<const void> own_mapping(void* memory, size_t bytes, int descriptor) {
  Mapping made{bytes, descriptor, {}};
  ::fstat(descriptor, &made.about);
  Mappings& known = mappings();
  std::lock_guard<std::mutex> lock(known.mutex);
  known.all[reinterpret_cast<uintptr_t>(memory)] = made;
  return std::shared_ptr<const void>(memory, [&known, bytes, descriptor](const void* p) {
    {
      std::lock_guard<std::mutex> forget(known.mutex);
      known.all.erase(reinterpret_cast<uintptr_t>(p));
    }
    ::munmap(const_cast<void*>(p), bytes);
    ::close(descriptor);
  });
}

std::string changed_file(const void* data) {
  Mappings& known = mappings();
  std::lock_guard<std::mutex> lock(known.mutex);
  const Mapping* mapping = known.find(reinterpret_cast<uintptr_t>(data), 1);
  struct stat now{};
  if (!mapping || ::fstat(mapping->descriptor, &now) != 0) return "";
  const struct stat& then = mapping->about;
  if (now.st_size == then.st_size && now.st_mtim.tv_sec == then.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == then.st_mtim.tv_nsec)
    return "";
  char path[4096];
  const ssize_t length =
      ::readlink(("/proc/self/fd/" + std::to_string(mapping->descriptor)).c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "a file";
}

void drop_pages(const void* data, size_t bytes) {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)), from = reinterpret_cast<uintptr_t>(data),
                  begin = (from + page - 1) / page * page, end = (from + bytes) / page * page;
  if (begin >= end) return;
  Mappings& known = mappings();
  std::lock_guard<std::mutex> lock(known.mutex);
  if (known.find(from, bytes)) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace relay
