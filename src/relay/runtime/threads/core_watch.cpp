#include "relay/runtime/threads/core_watch.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

namespace relay::runtime {

static constexpr int64_t window_us = 12000;  // a few time slices of two programs that share a core: 1 to 4 ms each
// between two measurements of a working thread; longer means that it slept
static constexpr int64_t longest_us = 50000;
static constexpr int64_t min_share = 4;  // contested: others have at least one quarter of the time
// then contention must be established again, because yielding costs as much as it saves
static constexpr int windows_until_doubt = 64;
// Half of the 4 ms time slice of Linux on a contested core at 250 ticks per second, and below its 2.8 ms at 1000.
static constexpr int64_t yield_after_us = 2000;

static int64_t us(const timespec& t) { return t.tv_sec * 1000000 + t.tv_nsec / 1000; }

static int64_t clock_us(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return us(t);
}

bool CoreWatch::look() {
  const int64_t tick = clock_us(CLOCK_MONOTONIC_COARSE);
  if (tick == tick_) return false;
  tick_ = tick;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const int64_t wall = clock_us(CLOCK_MONOTONIC), cpu = clock_us(CLOCK_THREAD_CPUTIME_ID);
  const int64_t passed = wall - wall_us_, ran = cpu - cpu_us_;
  const bool preempted = usage.ru_nivcsw != preemptions_;  // otherwise it waited for something
  wall_us_ = wall, cpu_us_ = cpu, preemptions_ = usage.ru_nivcsw;
  if (passed > longest_us) {
    total_us_ = lost_us_ = 0;
    return true;
  }
  total_us_ += passed;
  if (preempted) lost_us_ += passed - ran;
  if (total_us_ >= window_us) {
    contested_ = lost_us_ * min_share >= total_us_;
    windows_ = contested_ ? windows_ + 1 : 0;
    if (windows_ == windows_until_doubt) contested_ = false, windows_ = 0;
    total_us_ = lost_us_ = 0;
  }
  return true;
}

bool CoreWatch::should_yield() const { return contested_ && clock_us(CLOCK_MONOTONIC) - yielded_us_ >= yield_after_us; }

void CoreWatch::yield() {
  sched_yield();
  yielded_us_ = clock_us(CLOCK_MONOTONIC);
}

int current_core() { return sched_getcpu(); }

// Moves the thread to `wanted` by setting its affinity, and then restores the affinity.
static bool move(const cpu_set_t& allowed, const cpu_set_t& wanted) {
  if (CPU_COUNT(&wanted) == 0 || sched_setaffinity(0, sizeof wanted, &wanted) != 0) return false;
  sched_setaffinity(0, sizeof allowed, &allowed);
  return true;
}

bool move_to_free_core(const int* taken, int count) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  cpu_set_t wanted = allowed;
  for (int i = 0; i < count; ++i)
    if (taken[i] >= 0) CPU_CLR(taken[i], &wanted);
  return move(allowed, wanted);
}

bool move_to(int core) {
  cpu_set_t allowed, wanted;
  if (core < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0 || !CPU_ISSET(core, &allowed)) return false;
  CPU_ZERO(&wanted);
  CPU_SET(core, &wanted);
  return move(allowed, wanted);
}

}  // namespace relay::runtime
