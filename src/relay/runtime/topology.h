// What may be asked of the runtime about threads.
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::runtime {

constexpr int max_threads = 1024;

// Of an option: 0 (the cores this process may use) to max_threads.
Status check_threads(int threads);
// RELAY_THREADS: not set, empty, or a number that check_threads() takes.
Status check_thread_setting();

}  // namespace relay::runtime
