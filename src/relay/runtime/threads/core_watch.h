// Tracks the core that a thread of the pool runs on, and whether another program shares that core.
//
// A thread on a contested core is preempted repeatedly. If that happens in the middle of a piece of work, all others
// wait for it, for the time slice of the other program: two threads are then no faster than one. So a thread that finds
// its core contested yields it between two pieces, before it is preempted. The other program gets the same share of the
// core; the running threads do the rest of the work.
#pragma once

#include <cstdint>

namespace relay::runtime {

class CoreWatch {
 public:
  // Measures once per tick of the system's coarse clock (1 to 10 ms); between ticks it costs about 5 ns. Returns true
  // if it measured.
  bool look();
  // True if other programs had at least a quarter of the time in the last windows of 12 ms.
  bool contested() const { return contested_; }
  // True if it is time to yield the core. Called between two pieces of work.
  bool should_yield() const;
  // Yields the core to other programs that wait for it.
  void yield();

 private:
  int64_t tick_ = 0;
  int64_t wall_us_ = 0, cpu_us_ = 0, preemptions_ = 0;  // at the last measurement
  int64_t total_us_ = 0, lost_us_ = 0;                  // in the window
  int windows_ = 0;                                     // since the core was found contested
  bool contested_ = false;
  int64_t yielded_us_ = 0;
};

// Moves the calling thread to a core other than those in `taken` (CPU numbers; negative ones are ignored), or to
// `core`. The scheduler may move it from there at any time: its affinity is unchanged. Returns false if there is no
// such core.
bool move_to_free_core(const int* taken, int count);
bool move_to(int core);
int current_core();

}  // namespace relay::runtime
