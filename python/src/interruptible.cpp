#include "interruptible.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "relay/base/interrupt.h"

namespace relay::python {

namespace nb = nanobind;

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
  }
  std::lock_guard<std::mutex> lock(shared().mutex);
  job->done = true;
  --shared().running;
  shared().changed.notify_all();
}

static bool on_main_thread() {
  nb::object threading = nb::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

void run_interruptibly(std::function<void()> work) {
  std::shared_ptr<Job> job = std::make_shared<Job>();
  job->work = std::move(work);
  bool started = false;
  if (on_main_thread()) {  // other threads do not get signals
    std::lock_guard<std::mutex> lock(shared().mutex);
    try {
      std::thread([job] { run(job); }).detach();
      ++shared().running;
      started = true;
    } catch (const std::system_error&) {
      // No thread can be created: the work is done here, and Ctrl-C waits.
    }
  }
  if (!started) {
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
