#include "interruptible.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>

#include "callback.h"
#include "relay/base/interrupt.h"

namespace relay::python {

namespace {
struct Job {
  std::function<void()> work;
  std::exception_ptr failure;
  bool done = false;
  std::shared_ptr<std::atomic<bool>> stop = std::make_shared<std::atomic<bool>>(false);
};
// Data of all jobs: never destroyed, since an abandoned job may outlive everything else.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
};
}  // namespace

static Shared& shared() {
  static Shared* one = new Shared;
  return *one;
}

static void run(const std::shared_ptr<Job>& job) {
  {
    InterruptScope scope(job->stop);
    try {
      job->work();
    } catch (...) {
      job->failure = std::current_exception();
    }
    if (*job->stop) job->failure = nullptr;
    job->work = nullptr;
    if (std::optional<nb::python_error> stop = take_stop()) job->failure = std::make_exception_ptr(*stop);
  }
  std::lock_guard<std::mutex> lock(shared().mutex);
  job->done = true;
  --shared().running;
  shared().changed.notify_all();
}

// Starts a thread with a stack as the main thread usually has: the caller's may be far smaller. False if there is none.
static bool start(const std::shared_ptr<Job>& job) {
  constexpr size_t stack = size_t{8} << 20;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  size_t usual = 0;
  pthread_attr_getstacksize(&attributes, &usual);
  pthread_attr_setstacksize(&attributes, std::max(usual, stack));
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  auto* given = new std::shared_ptr<Job>(job);
  auto body = [](void* p) -> void* {
    const std::unique_ptr<std::shared_ptr<Job>> mine(static_cast<std::shared_ptr<Job>*>(p));
    run(*mine);
    return nullptr;
  };
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, given) == 0;
  if (!started) delete given;
  pthread_attr_destroy(&attributes);
  return started;
}

void run_interruptibly(std::function<void()> work) {
  std::shared_ptr<Job> job = std::make_shared<Job>();
  job->work = std::move(work);
  bool started = false;
  {
    std::lock_guard<std::mutex> lock(shared().mutex);
    started = start(job);
    shared().running += started;
  }
  if (!started) {  // No thread can be created: the work is done here, and Ctrl-C waits.
    nb::gil_scoped_release released;
    job->work();
    return;
  }
  for (bool done = false; !done;) {
    {
      nb::gil_scoped_release released;
      std::unique_lock<std::mutex> lock(shared().mutex);
      done = shared().changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return job->done; });
    }
    if (!done && PyErr_CheckSignals() != 0) {
      *job->stop = true;
      throw nb::python_error();
    }
  }
  if (job->failure) std::rethrow_exception(job->failure);
}

void wait_for_left_work() {
  nb::gil_scoped_release released;
  std::unique_lock<std::mutex> lock(shared().mutex);
  shared().changed.wait(lock, [] { return shared().running == 0; });
}

}  // namespace relay::python
