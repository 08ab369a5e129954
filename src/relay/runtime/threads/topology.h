// Checks of requested numbers of threads.
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::runtime {

constexpr int max_threads = 1024;

// For an option: 0 (the cores this process may use) to max_threads.
Status check_threads(int threads);
// RELAY_THREADS: unset, empty, or a number that check_threads() accepts.
Status check_thread_setting();

}  // namespace relay::runtime
