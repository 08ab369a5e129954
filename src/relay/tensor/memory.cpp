#include "relay/tensor/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "relay/base/fork_guard.h"

namespace relay {

static constexpr size_t huge_page = 2 << 20;

namespace {

// AddressSanitizer detects uses of freed arrays only while they are not reused.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitizes = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool sanitizes = true;
#else
constexpr bool sanitizes = false;
#endif
#else
constexpr bool sanitizes = false;
#endif

// Freed arrays kept for reuse: of `smallest` to `largest` bytes, at most `limit` bytes in all.
class KeptArrays {
 public:
  KeptArrays(size_t smallest, size_t largest, size_t limit) : smallest_(smallest), largest_(largest), limit_(limit) {}
  bool keeps(size_t bytes) const { return !sanitizes && bytes >= smallest_ && bytes <= largest_; }
  // An array of at least `bytes` bytes and not many more, or null.
  void* take(size_t bytes, size_t alignment) {
    const ForkSafeLock lock(mutex_);
    // malloc leaves up to an alignment behind an aligned block.
    const size_t most = bytes / 4 + (alignment == huge_page ? huge_page : 0);
    std::vector<Kept>::iterator best = all_.end();
    for (std::vector<Kept>::iterator i = all_.begin(); i != all_.end(); ++i)
      if (i->bytes >= bytes && i->bytes - bytes <= most && (best == all_.end() || i->bytes < best->bytes)) best = i;
    if (best == all_.end()) return nullptr;
    void* found = best->memory;
    total_ -= best->bytes;
    all_.erase(best);
    return found;
  }
  // The oldest arrays make room.
  void keep(void* memory, size_t bytes) {
    const ForkSafeLock lock(mutex_);
    while (!all_.empty() && (total_ + bytes > limit_ || all_.size() == 64)) drop_oldest();
    all_.push_back({memory, bytes});
    total_ += bytes;
  }
  void drop_all() {
    const ForkSafeLock lock(mutex_);
    while (!all_.empty()) drop_oldest();
  }

 private:
  struct Kept {
    void* memory;
    size_t bytes;
  };
  void drop_oldest() {
    std::free(all_.front().memory);
    total_ -= all_.front().bytes;
    all_.erase(all_.begin());
  }
  const size_t smallest_, largest_, limit_;
  std::mutex mutex_;
  std::vector<Kept> all_;
  size_t total_ = 0;
};

// malloc returns memory to the system if more than some hundred KiB are free at the end of its heap: all pages of
// arrays as large as an L2 cache would be new in each run, and writing them would take twice as long.
KeptArrays& middle_arrays() {
  static KeptArrays* all = new KeptArrays(size_t{64} << 10, (size_t{32} << 20) - 1, size_t{64} << 20);
  return *all;  // never freed: arrays may be freed after static objects
}
// Sizes that malloc always maps separately.
KeptArrays& large_arrays() {
  static KeptArrays* all = new KeptArrays(size_t{32} << 20, size_t{256} << 20, size_t{256} << 20);
  return *all;
}

}  // namespace

void free_array(void* array) {
  const size_t bytes = array ? ::malloc_usable_size(array) : 0;
  if (middle_arrays().keeps(bytes)) return middle_arrays().keep(array, bytes);
  if (!large_arrays().keeps(bytes)) return std::free(array);
#ifdef MADV_FREE
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)), from = reinterpret_cast<uintptr_t>(array),
                  begin = (from + page - 1) / page * page, end = (from + bytes) / page * page;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_FREE);
#endif
  large_arrays().keep(array, bytes);
}

void give_back_memory() {
  middle_arrays().drop_all(), large_arrays().drop_all();
  ::malloc_trim(0);
}

void* allocate_array(size_t bytes) {
  size_t alignment = bytes >= huge_page ? huge_page : 64;
  size_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  if (rounded < bytes) return nullptr;
  for (KeptArrays* kept : {&middle_arrays(), &large_arrays()})
    if (kept->keeps(rounded))
      if (void* found = kept->take(rounded, alignment)) return found;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (!memory) {
    middle_arrays().drop_all(), large_arrays().drop_all();
    memory = std::aligned_alloc(alignment, rounded);
  }
#ifdef MADV_HUGEPAGE
  // Uses small pages for its end, which may be short: a huge page would waste memory.
  if (memory && alignment == huge_page) madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
  return memory;
}

std::shared_ptr<const void> zeroed_array(size_t bytes) {
  const size_t unit = bytes >= huge_page ? huge_page : 4096, rounded = (bytes + unit - 1) / unit * unit;
  if (rounded < bytes || bytes == 0) return nullptr;
  // A mapping begins at a page boundary; a huge page begins within one more huge page.
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
// The mappings of files, by address.
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, Mapping> all;
  // The mapping that contains the range; null for other memory.
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
  const ForkSafeLock lock(known.mutex);
  known.all[reinterpret_cast<uintptr_t>(memory)] = made;
  return std::shared_ptr<const void>(memory, [&known, bytes, descriptor](const void* p) {
    {
      const ForkSafeLock lock(known.mutex);
      known.all.erase(reinterpret_cast<uintptr_t>(p));
    }
    ::munmap(const_cast<void*>(p), bytes);
    ::close(descriptor);
  });
}

std::string changed_file(const void* data) {
  Mappings& known = mappings();
  const ForkSafeLock lock(known.mutex);
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
  const ForkSafeLock lock(known.mutex);
  if (known.find(from, bytes)) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace relay
