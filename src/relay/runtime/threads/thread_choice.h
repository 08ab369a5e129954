// Chooses the number of threads for one kernel call: all, or one if the work is too small to share. The choice is
// measured: the first run is cold and not counted, then some runs use all threads, then those of short calls use one.
// The better choice is kept until it is measured again, because the machine may have been busy during the first runs.
// Results never depend on the choice (thread_pool.h), only time does.
#pragma once

#include <algorithm>

#include "relay/runtime/threads/thread_pool.h"

namespace relay::runtime {

class ThreadChoice {
 public:
  static constexpr int kept_runs = 1024;  // then it is measured again, which takes six runs

  bool decided() const { return runs_ >= serial_end; }
  void measure_again() { *this = {}, runs_ = 1; }
  // The argument for ThreadPool::Session::parallel: 0 for all, 1 for one.
  int limit() const { return serial_ ? 1 : 0; }
  // Short calls are not cut into pieces: 16 of them cost a few hundred nanoseconds.
  int pieces() const { return parallel_us_ < whole_us ? 1 : max_pieces; }
  // Records the time of a call with the current limit().
  void record(double us) {
    if (decided()) return;
    if (runs_ > 0) {
      float& best = runs_ < parallel_end ? parallel_us_ : serial_us_;
      best = std::min(best, static_cast<float>(us));
    }
    ++runs_;
    if (runs_ == parallel_end) serial_ = parallel_us_ < short_us;
    if (runs_ == serial_end && serial_) serial_ = serial_us_ <= parallel_us_;
    if (!serial_ && runs_ >= parallel_end) runs_ = serial_end;
  }

 private:
  static constexpr int parallel_end = 4, serial_end = 7;
  static constexpr float short_us = 15;  // longer calls always pay
  static constexpr float whole_us = 30;
  int runs_ = 0;
  bool serial_ = false;
  float parallel_us_ = 1e9f, serial_us_ = 1e9f;
};

}  // namespace relay::runtime
