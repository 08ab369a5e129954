// What a thread of the pool knows about the core that it runs on: which one it is, and whether another program has a
// share of it.
//
// A thread whose core is contested is taken off it again and again. If that happens in the middle of a piece of work,
// all others wait for it, for as long as the other program may run: two threads are then no faster than one. So a
// thread that finds its core contested offers it between two pieces, before it is taken away. The other program gets
// the same share of the core; what is left of the work is done by the threads that run.
#pragma once

#include <cstdint>

namespace relay::runtime {

class CoreWatch {
 public:
  // Looks around once a tick of the system's coarse clock (1 to 10 ms); between ticks it costs about 5 ns. True: it
  // looked.
  bool look();
  // In the last windows of 12 ms others had at least a quarter of the time.
  bool contested() const { return contested_; }
  // It is time to offer the core. Ask between two pieces of work.
  bool should_offer() const;
  // Lets others run that wait for the core.
  void offer();

 private:
  int64_t tick_ = 0;
  int64_t wall_us_ = 0, cpu_us_ = 0, preemptions_ = 0;  // when it last looked
  int64_t total_us_ = 0, lost_us_ = 0;                  // of the window
  int windows_ = 0;                                     // since the core was found contested
  bool contested_ = false;
  int64_t offered_us_ = 0;
};

// The calling thread goes to another core than those in `taken` (numbers of CPUs; negative ones mean nothing), or to
// `core`. It may be moved on from there at any time: its affinity stays what it was. False: there is no such core.
bool move_off(const int* taken, int count);
bool move_to(int core);
int current_core();

}  // namespace relay::runtime
