#include "relay/runtime/artifacts/checksums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>

#include "relay/runtime/threads/thread_pool.h"

namespace relay::runtime {

uint64_t checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

static constexpr size_t block_bytes = 1 << 20;
static std::string_view block_of(const Tensor& t, size_t block) {
  return std::string_view(static_cast<const char*>(t.data()), t.bytes()).substr(block * block_bytes, block_bytes);
}
static size_t blocks_of(const Tensor& t) { return (t.bytes() + block_bytes - 1) / block_bytes; }
static uint64_t checksum_of_blocks(std::span<const uint64_t> blocks) {
  return checksum({reinterpret_cast<const char*>(blocks.data()), blocks.size_bytes()});
}
uint64_t checksum(const Tensor& t) {
  std::vector<uint64_t> blocks;
  for (size_t b = 0; b < blocks_of(t); ++b) blocks.push_back(checksum(block_of(t, b)));
  return checksum_of_blocks(blocks);
}

bool have_checksums(const std::vector<Tensor>& constants, const std::vector<uint64_t>& checksums) {
  std::vector<const Tensor*> stored;
  std::vector<size_t> first{0};  // of each: the index of its first block among all
  for (const Tensor& t : constants)
    if (!is_prepared(t)) stored.push_back(&t), first.push_back(first.back() + blocks_of(t));
  std::vector<uint64_t> blocks(first.back());
  auto read = [&](int64_t begin, int64_t end, int) {
    size_t owner = static_cast<size_t>(std::upper_bound(first.begin(), first.end(), begin) - first.begin()) - 1;
    for (size_t b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b) {
      while (b >= first[owner + 1]) ++owner;
      blocks[b] = checksum(block_of(*stored[owner], b - first[owner]));
    }
  };
  constexpr size_t alone = 8, together = 4;  // most blocks that wake no thread; blocks per task
  if (blocks.size() <= alone) {
    read(0, static_cast<int64_t>(blocks.size()), 0);
  } else {
    std::atomic<size_t> next = 0;
    ThreadPool::Session session(ThreadPool::global());
    session.parallel(session.threads(), [&](int64_t, int64_t, int) {
      for (size_t from; (from = next.fetch_add(together)) < blocks.size();)
        read(static_cast<int64_t>(from), static_cast<int64_t>(std::min(from + together, blocks.size())), 0);
    });
  }
  for (size_t i = 0; i < stored.size(); ++i)
    if (checksum_of_blocks({blocks.data() + first[i], first[i + 1] - first[i]}) != checksums[i]) return false;
  return true;
}

}  // namespace relay::runtime
