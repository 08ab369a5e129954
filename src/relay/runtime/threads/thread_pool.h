// The thread pool of the process.
//
//   ThreadPool::Session session(ThreadPool::global(), 2);  // one inference: its workers spin between kernels ...
//   session.parallel(tasks, [&](int64_t begin, int64_t end, int worker) { ... });
//                                                                 // ... and sleep when it has ended
// A region is split into contiguous ranges, one per thread, and these into pieces. The split depends only on the number
// of tasks and threads. A thread runs the pieces of its own range and then the remaining pieces of others. So a region
// waits neither for a thread to wake up nor for one that shares its core with another program (core_watch.h): such a
// thread yields the core between pieces. Threads that meet on one core move apart. An empty region costs a fraction of
// a microsecond.
//
// Only one session owns the workers at a time. A session opened while another owns them, or inside a region, runs its
// regions on its own thread: two models at once neither wait for nor disturb each other, and nothing can deadlock.
// After fork() the child gets its own pool. A region's pieces run with the floating-point control word of its caller
// (float_control.h): where a piece runs does not matter for its results.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "relay/base/function_ref.h"
#include "relay/runtime/threads/core_watch.h"
#include "relay/runtime/threads/float_control.h"

namespace relay::runtime {

// Must not throw. `worker`: the thread's number in the session.
using RangeFn = function_ref<void(int64_t begin, int64_t end, int worker)>;

// Per range of a thread: a late or slow thread costs the others one piece.
inline constexpr int max_pieces = 8;

class ThreadPool {
 public:
  // Sized by usable_cores().
  static ThreadPool& global();
  explicit ThreadPool(int threads);  // including the caller's
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  int size() const { return size_; }

  class Session {
   public:
    // At most `threads` threads; 0: all.
    explicit Session(ThreadPool& pool, int threads = 0);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    int threads() const { return threads_; }  // 1 if the workers were not available
    // `limit`: the most threads of the session to use (0: all of them). `pieces`: the most pieces per range.
    void parallel(int64_t tasks, RangeFn fn, int limit = 0, int pieces = max_pieces);

    // Called while other code with its own threads runs: workers soon sleep, until the next region.
    void rest(bool now);

   private:
    ThreadPool& pool_;
    int threads_ = 1;
    bool owner_ = false;
  };

  // A single region.
  void parallel(int64_t tasks, int threads, RangeFn fn) { Session(*this, threads).parallel(tasks, fn); }

  // The number of pieces that another thread than their range's has run. For tests and tuning.
  int64_t stolen() const { return stolen_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> taken{0};      // a region's number, and the number of pieces of its range that are taken
    std::atomic<int> core{-1};           // the core that the thread was last seen on
    std::atomic<bool> contested{false};  // by another program
    bool late = false;                   // its thread had not arrived when the caller was done (used by the caller)
    FloatControl control{};              // of its thread (used by the thread)
  };
  struct Job {
    const RangeFn* fn = nullptr;
    int64_t tasks = 0;
    int parts = 1;
    FloatControl control{};  // of the caller
  };

  void start_workers(int count);
  void work(int worker);
  void run(int64_t tasks, int parts, int pieces, RangeFn fn);
  bool take(uint64_t word, int part, int worker);
  int64_t take_part(uint64_t word, int part, int worker);
  void help(uint64_t word, int worker, CoreWatch& watch);
  bool find_core(int worker);
  void change_core();
  void wake();

  // The word that workers watch: the number of the region, its number of threads, and the number of pieces per range.
  alignas(64) std::atomic<uint64_t> word_{0};
  alignas(64) std::atomic<bool> active_{false};  // a session owns the workers
  alignas(64) std::atomic<int> sleeping_{0};
  std::atomic<uint32_t> wakes_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> stolen_{0};
  alignas(64) std::atomic<int64_t> finished_{0};  // pieces of the region
  alignas(64) Job job_;
  uint64_t region_ = 0;
  int size_;
  std::unique_ptr<Slot[]> slots_;
  std::vector<std::thread> workers_;  // started when first needed
  std::atomic<bool> owned_{false};    // by the session that owns the workers
};

// Cores this process may use: physical cores (hwloc) within the affinity mask, at most the CPU quota of the cgroup.
// RELAY_THREADS in the environment overrides it.
int usable_cores();

// Scratch memory of the calling thread, 64-byte aligned, kept until a larger one is requested.
void* thread_scratch(size_t bytes);

}  // namespace relay::runtime
