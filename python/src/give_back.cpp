#include "give_back.h"

#include <atomic>
#include <memory>
#include <utility>

#include "core.h"

namespace relay::python {

namespace {
struct Waiting {
  std::function<void()> release;
  Waiting* next = nullptr;
};
}  // namespace

// A list without a lock, which fork() could leave locked in the child.
static std::atomic<Waiting*> waiting = nullptr;

static int release_waiting(void*) {
  for (Waiting* one = waiting.exchange(nullptr); one;) {
    const std::unique_ptr<Waiting> released(one);
    one = released->next;
    released->release();
  }
  return 0;
}

static bool is_thread_of_python() { return PyGILState_GetThisThreadState() != nullptr; }

void give_back(std::function<void()> release) {
  if (!Py_IsInitialized()) return;
  if (is_thread_of_python()) {
    nb::gil_scoped_acquire held;
    release_waiting(nullptr);
    return release();
  }
  Waiting* const one = new Waiting{std::move(release), waiting.load()};
  while (!waiting.compare_exchange_weak(one->next, one)) {
  }
  Py_AddPendingCall(release_waiting, nullptr);  // if it has no place, the next give_back() does it
}

void without_gil(const std::function<void()>& body) {
  if (!Py_IsInitialized() || !is_thread_of_python()) return body();
  nb::gil_scoped_acquire held;
  nb::gil_scoped_release released;
  body();
}

}  // namespace relay::python
