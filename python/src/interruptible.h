// Work that Ctrl-C interrupts immediately in Python: it runs on a separate thread while the caller checks for signals.
#pragma once

#include <functional>

namespace relay::python {

// Runs `work` and returns, or throws its exception. If a signal is pending whose handler raises (KeyboardInterrupt),
// throws that immediately; `work`, which must own everything that it uses, is asked to stop (base/interrupt.h) and ends
// by itself later. Call with the GIL held.
void run_interruptibly(std::function<void()> work);

// Waits for abandoned work, before the interpreter ends.
void wait_for_left_work();

}  // namespace relay::python
