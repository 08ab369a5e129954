#include "relay/runtime/threads/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <utility>

namespace relay::runtime {

using Clock = std::chrono::steady_clock;

// The time that a worker polls for the next region before it sleeps: while a session is open (a long serial kernel may
// be running), and after the last session has ended (the next inference may follow at once).
static constexpr std::chrono::microseconds spin_in_session{5000};
static constexpr std::chrono::microseconds spin_after_session{100};
// Polls (about 20 ns each) of a finished caller before it takes pieces of a worker that has not begun. Late enough not
// to compete with a worker that is about to start, early enough to hide a sleeping one.
static constexpr int polls_before_stealing = 100;
static constexpr int polls_before_stealing_again = 40;  // if the worker was late last time: the machine is busy
static constexpr int polls_between_yields = 1024;

// The word of a region: its number, parts and pieces.
static constexpr int piece_bits = 4, part_bits = 12;
static constexpr uint64_t piece_mask = (1u << piece_bits) - 1, part_mask = (1u << part_bits) - 1;
static_assert(max_pieces <= piece_mask);
static uint64_t region_of(uint64_t word) { return word >> (part_bits + piece_bits); }
static int parts_of(uint64_t word) { return static_cast<int>(word >> piece_bits & part_mask); }
static int pieces_of(uint64_t word) { return static_cast<int>(word & piece_mask); }

static inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static thread_local bool in_region = false;
static thread_local CoreWatch caller_watch;

static std::atomic<ThreadPool*> global_pool{nullptr};
static std::mutex global_mutex;

ThreadPool& ThreadPool::global() {
  if (ThreadPool* pool = global_pool.load(std::memory_order_acquire)) return *pool;
  std::lock_guard<std::mutex> lock(global_mutex);
  if (ThreadPool* pool = global_pool.load(std::memory_order_acquire)) return *pool;
  // The pool is never destroyed: its threads may outlive main(). In a forked child the threads do not exist, so the
  // child drops the pool and makes a new one on demand.
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

// Called by the owner only. If no more threads can be created (a container's limit), the existing ones do the work.
void ThreadPool::start_workers(int count) {
  while (static_cast<int>(workers_.size()) < count) {
    int worker = static_cast<int>(workers_.size()) + 1;
    try {
      workers_.emplace_back([this, worker] { work(worker); });
    } catch (const std::system_error& e) {
      static std::atomic<bool> said{false};
      if (!said.exchange(true))
        std::fprintf(stderr, "relay: only %d of %d threads can be created (%s); using these\n", worker, count + 1,
                     e.code().message().c_str());
      return;
    }
  }
}

// Runs the next piece of a part. Returns false if all are taken, or the region has ended.
bool ThreadPool::take(uint64_t word, int part, int worker) {
  Slot& slot = slots_[part];
  const uint64_t region = region_of(word);
  const int64_t pieces = pieces_of(word);
  uint64_t taken = slot.taken.load(std::memory_order_relaxed);
  int64_t piece;
  do {
    if (taken >> piece_bits > region) return false;
    piece = taken >> piece_bits == region ? static_cast<int64_t>(taken & piece_mask) : 0;
    if (piece == pieces) return false;
  } while (!slot.taken.compare_exchange_weak(taken, region << piece_bits | static_cast<uint64_t>(piece + 1),
                                             std::memory_order_acq_rel, std::memory_order_relaxed));
  // The region cannot end from here until the piece is counted, so job_ may be read. The first tasks % parts ranges are
  // one task longer.
  const int64_t each = job_.tasks / job_.parts, rest = job_.tasks % job_.parts;
  const int64_t begin = part * each + std::min<int64_t>(part, rest), size = each + (part < rest);
  const int64_t from = size * piece / pieces, to = size * (piece + 1) / pieces;
  if (worker != 0 && slots_[worker].control != job_.control) {
    slots_[worker].control = job_.control;
    job_.control.set();
  }
  if (from < to) (*job_.fn)(begin + from, begin + to, worker);
  if (part != worker) stolen_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

int64_t ThreadPool::take_part(uint64_t word, int part, int worker) {
  int64_t ran = 0;
  while (take(word, part, worker)) ++ran;
  return ran;
}

// A worker's share of a region: its own part, then the remaining pieces of others.
void ThreadPool::help(uint64_t word, int worker, CoreWatch& watch) {
  const int parts = parts_of(word);
  int64_t ran = 0;  // not yet counted
  for (int k = 0; k < parts; ++k) {
    while (take(word, (worker + k) % parts, worker)) {
      ++ran;
      if (watch.look()) {
        slots_[worker].contested.store(watch.contested(), std::memory_order_relaxed);
        find_core(worker);
      }
      if (!watch.should_yield()) continue;
      finished_.fetch_add(std::exchange(ran, 0), std::memory_order_acq_rel);
      watch.yield();
      find_core(worker);
    }
  }
  if (ran > 0) finished_.fetch_add(ran, std::memory_order_acq_rel);
}

// Leaves a core on which a thread with a lower number runs. Returns false if there is no other core.
bool ThreadPool::find_core(int worker) {
  const int core = current_core();
  slots_[worker].core.store(core, std::memory_order_relaxed);
  std::vector<int> taken;
  bool shared = false;
  for (int i = 0; i < worker; ++i) shared |= slots_[i].core.load(std::memory_order_relaxed) == core;
  if (!shared) return true;
  for (int i = 0; i < worker; ++i) taken.push_back(slots_[i].core.load(std::memory_order_relaxed));
  if (!move_to_free_core(taken.data(), worker)) return false;
  slots_[worker].core.store(current_core(), std::memory_order_relaxed);
  return true;
}

// The caller cannot yield its core: without it no region begins. It moves to the core of a worker that has one to
// itself, and the worker leaves it when it finds the caller there.
void ThreadPool::change_core() {
  const int core = current_core();
  slots_[0].core.store(core, std::memory_order_relaxed);
  if (!caller_watch.contested()) return;
  for (int i = 1; i < size_; ++i) {
    const int other = slots_[i].core.load(std::memory_order_relaxed);
    if (other == core || slots_[i].contested.load(std::memory_order_relaxed) || !move_to(other)) continue;
    slots_[0].core.store(other, std::memory_order_relaxed);
    caller_watch = {};
    return;
  }
}

void ThreadPool::work(int worker) {
  in_region = true;
  slots_[worker].control = FloatControl::now();
  CoreWatch watch;
  uint64_t seen = 0;
  while (true) {
    // Poll.
    uint64_t word = word_.load(std::memory_order_acquire);
    Clock::time_point since;
    for (int polls = 0; word == seen; word = word_.load(std::memory_order_acquire)) {
      if (stop_.load(std::memory_order_relaxed)) return;
      relax();
      if ((++polls & 63) != 0) continue;
      Clock::time_point now = Clock::now();
      if (polls == 64) since = now;
      if ((polls & (polls_between_yields - 1)) == 0 && !find_core(worker)) sched_yield();
      if (now - since < (active_.load(std::memory_order_relaxed) ? spin_in_session : spin_after_session)) continue;
      // Sleep. The publisher writes word_ and then reads sleeping_; we write sleeping_ and then read word_: one of us
      // sees the other.
      uint32_t ticket = wakes_.load();
      sleeping_.fetch_add(1);
      if (word_.load() == seen && !stop_.load()) wakes_.wait(ticket);
      sleeping_.fetch_sub(1);
      find_core(worker);
      polls = 0;
    }
    seen = word;
    if (worker < parts_of(word)) help(word, worker, watch);
  }
}

void ThreadPool::run(int64_t tasks, int parts, int pieces, RangeFn fn) {
  job_ = {&fn, tasks, parts, FloatControl::now()};
  finished_.store(0, std::memory_order_relaxed);
  const uint64_t word =
      (++region_ << part_bits | static_cast<uint64_t>(parts)) << piece_bits | static_cast<uint64_t>(pieces);
  word_.store(word);
  if (sleeping_.load() > 0) wake();
  if (caller_watch.look()) change_core();
  in_region = true;
  int64_t ran = take_part(word, 0, 0);
  for (int part = 1; part < parts; ++part) {
    Slot& slot = slots_[part];
    const int patience = slot.late ? polls_before_stealing_again : polls_before_stealing;
    auto begun = [&] { return slot.taken.load(std::memory_order_relaxed) >> piece_bits == region_; };
    for (int polls = 0; polls < patience && !begun(); ++polls) relax();
    slot.late = !begun();
    ran += take_part(word, part, 0);
  }
  const int64_t others = int64_t{parts} * pieces - ran;
  for (int polls = 1; finished_.load(std::memory_order_acquire) != others; ++polls) {
    relax();
    if ((polls & (polls_between_yields - 1)) == 0) sched_yield();
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

void ThreadPool::Session::rest(bool now) {
  if (owner_) pool_.active_.store(!now, std::memory_order_relaxed);
}

void ThreadPool::Session::parallel(int64_t tasks, RangeFn fn, int limit, int pieces) {
  if (tasks <= 0) return;
  int64_t parts = std::min<int64_t>(tasks, limit > 0 ? std::min(limit, threads_) : threads_);
  if (parts <= 1) return fn(0, tasks, 0);
  pieces = static_cast<int>(std::min<int64_t>(pieces, (tasks + parts - 1) / parts));
  pool_.run(tasks, static_cast<int>(parts), pieces, fn);
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
