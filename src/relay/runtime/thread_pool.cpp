#include "relay/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>

namespace relay::runtime {

using Clock = std::chrono::steady_clock;

// How long a worker watches for the next region before it sleeps: while a session is open (a long serial kernel may be
// running), and after the last one has ended (the next inference may follow at once).
static constexpr std::chrono::microseconds spin_in_session{5000};
static constexpr std::chrono::microseconds spin_after_session{100};
// Polls (about 20 ns each) of a finished caller before it takes over the ranges of workers that have not begun. Late
// enough not to compete with a worker on its way, early enough to hide a sleeping one.
static constexpr int polls_before_stealing = 100;
static constexpr int polls_before_stealing_again = 40;  // when the worker was late last time: the machine is busy
static constexpr int polls_between_yields = 1024;

static constexpr int part_bits = 12;
static constexpr uint64_t part_mask = (1u << part_bits) - 1;

static inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static thread_local bool in_region = false;

static std::atomic<ThreadPool*> global_pool{nullptr};
static std::mutex global_mutex;

ThreadPool& ThreadPool::global() {
  if (ThreadPool* pool = global_pool.load(std::memory_order_acquire)) return *pool;
  std::lock_guard<std::mutex> lock(global_mutex);
  if (ThreadPool* pool = global_pool.load(std::memory_order_acquire)) return *pool;
  // The pool is never destroyed: its threads may outlive main(). In a forked child the threads are gone, so the child
  // forgets the pool and makes a new one when it needs it.
  static std::once_flag at_fork;
  std::call_once(at_fork, [] {
    pthread_atfork([] { global_mutex.lock(); }, [] { global_mutex.unlock(); },
                   [] {
                     global_pool.store(nullptr);
                     in_region = false;
                     global_mutex.unlock();
                   });
  });
  ThreadPool* pool = new ThreadPool(usable_cores());
  global_pool.store(pool, std::memory_order_release);
  return *pool;
}

ThreadPool::ThreadPool(int threads)
    : size_(std::clamp(threads, 1, static_cast<int>(part_mask))), slots_(std::make_unique<Slot[]>(size_)) {}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  wake();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::wake() {
  wakes_.fetch_add(1);
  wakes_.notify_all();
}

// Called by the owner only. Where no more threads can be created (a container's limit), those that there are do the
// work.
void ThreadPool::start_workers(int count) {
  while (static_cast<int>(workers_.size()) < count) {
    int worker = static_cast<int>(workers_.size()) + 1;
    try {
      workers_.emplace_back([this, worker] { work(worker); });
    } catch (const std::system_error& e) {
      static std::atomic<bool> said{false};
      if (!said.exchange(true))
        std::fprintf(stderr, "relay: %d of %d threads can be created (%s): going on with these\n", worker, count + 1,
                     e.code().message().c_str());
      return;
    }
  }
}

void ThreadPool::run_range(int part) {
  // The first tasks % parts ranges are one longer.
  int64_t each = job_.tasks / job_.parts, rest = job_.tasks % job_.parts;
  int64_t begin = part * each + std::min<int64_t>(part, rest);
  (*job_.fn)(begin, begin + each + (part < rest), part);
}

void ThreadPool::work(int worker) {
  in_region = true;
  Slot& slot = slots_[worker];
  uint64_t seen = 0;
  while (true) {
    // Watch.
    uint64_t word = word_.load(std::memory_order_acquire);
    Clock::time_point since;
    for (int polls = 0; word == seen; word = word_.load(std::memory_order_acquire)) {
      if (stop_.load(std::memory_order_relaxed)) return;
      relax();
      if ((++polls & 63) != 0) continue;
      Clock::time_point now = Clock::now();
      if (polls == 64) since = now;
      if ((polls & (polls_between_yields - 1)) == 0) sched_yield();
      if (now - since < (active_.load(std::memory_order_relaxed) ? spin_in_session : spin_after_session)) continue;
      // Sleep. The publisher writes word_ and then reads sleeping_; we write sleeping_ and then read word_: one of us
      // sees the other.
      uint32_t ticket = wakes_.load();
      sleeping_.fetch_add(1);
      if (word_.load() == seen && !stop_.load()) wakes_.wait(ticket);
      sleeping_.fetch_sub(1);
      polls = 0;
    }
    seen = word;
    if (static_cast<uint64_t>(worker) >= (word & part_mask)) continue;
    // Take our range, unless the caller did. From here until done_ is set the region cannot end, so job_ is ours to
    // read.
    uint64_t claimed = slot.claimed.load(std::memory_order_relaxed);
    if (claimed >= word || !slot.claimed.compare_exchange_strong(claimed, word, std::memory_order_acq_rel)) continue;
    run_range(worker);
    slot.done.store(word, std::memory_order_release);
  }
}

void ThreadPool::run(const Job& job) {
  job_ = job;
  uint64_t word = ++region_ << part_bits | static_cast<uint64_t>(job.parts);
  word_.store(word);
  if (sleeping_.load() > 0) wake();
  in_region = true;
  run_range(0);
  for (int part = 1; part < job.parts; ++part) {
    Slot& slot = slots_[part];
    int patience = slot.late ? polls_before_stealing_again : polls_before_stealing;
    slot.late = false;
    for (int polls = 1; slot.done.load(std::memory_order_acquire) != word; ++polls) {
      relax();
      if (polls == patience) {
        uint64_t claimed = slot.claimed.load(std::memory_order_relaxed);
        if (claimed < word && slot.claimed.compare_exchange_strong(claimed, word, std::memory_order_acq_rel)) {
          run_range(part);
          slot.late = true;
          stolen_.fetch_add(1, std::memory_order_relaxed);
          break;
        }
      }
      if ((polls & (polls_between_yields - 1)) == 0) sched_yield();
    }
  }
  in_region = false;
}

ThreadPool::Session::Session(ThreadPool& pool, int threads) : pool_(pool) {
  int wanted = threads <= 0 ? pool.size_ : std::min(threads, pool.size_);
  if (wanted <= 1 || in_region || pool.owned_.exchange(true, std::memory_order_acquire)) return;
  owner_ = true;
  pool.start_workers(wanted - 1);
  threads_ = std::min(wanted, static_cast<int>(pool.workers_.size()) + 1);
  pool.active_.store(true, std::memory_order_relaxed);
  if (pool.sleeping_.load() > 0) pool.wake();
}

ThreadPool::Session::~Session() {
  if (!owner_) return;
  pool_.active_.store(false, std::memory_order_relaxed);
  pool_.owned_.store(false, std::memory_order_release);
}

void ThreadPool::Session::parallel(int64_t tasks, RangeFn fn, int limit) {
  if (tasks <= 0) return;
  int64_t parts = std::min<int64_t>(tasks, limit > 0 ? std::min(limit, threads_) : threads_);
  if (parts <= 1) return fn(0, tasks, 0);
  pool_.run({&fn, tasks, static_cast<int>(parts)});
}

namespace {
struct Scratch {
  void* memory = nullptr;
  size_t bytes = 0;
  ~Scratch() { std::free(memory); }
};
}  // namespace

void* thread_scratch(size_t bytes) {
  static thread_local Scratch scratch;
  if (bytes > scratch.bytes) {
    std::free(scratch.memory);
    scratch.bytes = 0;
    size_t rounded = (bytes + 4095) / 4096 * 4096;
    scratch.memory = std::aligned_alloc(64, rounded);
    if (scratch.memory == nullptr) return nullptr;
    scratch.bytes = rounded;
  }
  return scratch.memory;
}

}  // namespace relay::runtime
