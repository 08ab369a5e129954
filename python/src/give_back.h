// Memory and objects of Python that threads of the compiler hold last, and the ends of objects that wait for such
// threads.
//
// A thread that Python did not start must not wait for the GIL to give something back: a thread that holds the GIL may
// be waiting for it, at the end of a compilation in the background, in a pass, or in fork().
#pragma once

#include <functional>

namespace relay::python {

// Calls `release` with the GIL held: now in a thread of Python; from another thread, when the main thread next runs
// Python, or at the next give_back() of a thread of Python. At the end of the process nothing is called.
void give_back(std::function<void()> release);

// Calls `body` without the GIL, whether this thread holds it or not.
void without_gil(const std::function<void()>& body);

}  // namespace relay::python
