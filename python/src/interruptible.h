// Work that Ctrl-C ends at once in Python: it runs on a thread of its own while the caller looks for signals.
#pragma once

#include <functional>

namespace relay::python {

// Runs `work` and returns, or throws what it throws. With a signal pending whose handler raises (KeyboardInterrupt),
// throws that at once; `work`, which must own all that it uses, is told to stop (base/interrupt.h) and is left to end
// by itself. Call with the GIL held.
void run_interruptibly(std::function<void()> work);

// Waits for work that was left: before the interpreter ends.
void wait_for_left_work();

}  // namespace relay::python
