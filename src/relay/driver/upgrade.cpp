#include "relay/driver/upgrade.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "relay/base/fork_guard.h"
#include "relay/base/interrupt.h"

namespace relay::driver {

namespace {

constexpr int runs_before = 1;     // as many runs need no better code
constexpr int priority_step = 10;  // of `nice`: a tenth of a core that is busy otherwise

// Shared with the thread. In a forked child, the work of the parent is left as it is.
struct Work {
  std::shared_ptr<runtime::KernelCode> code;
  CompileFull compile;
  InterruptFlag stop = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex{};  // guards the following
  std::condition_variable ended{};
  bool is_done = false;
  Status status = ok();
  std::exception_ptr failure{};
};

Status exchange(Work& work) {
  InterruptScope scope(work.stop);
  try {
    RELAY_ASSIGN(std::shared_ptr<const runtime::KernelLibrary> library, work.compile());
    check_interrupt();
    return work.code->exchange(std::move(library), runtime::Tier::Full);
  } catch (...) {
    work.failure = std::current_exception();
    return ok();
  }
}

void run(const std::shared_ptr<Work>& work) {
  Status status = exchange(*work);
  std::lock_guard<std::mutex> lock(work->mutex);
  if (status && !work->failure) {
    const ForkGuard guard;
    work->compile = nullptr;  // it holds the program
  }
  work->status = std::move(status), work->is_done = true;
  work->ended.notify_all();
}

class CodeUpgrade final : public runtime::Upgrade {
 public:
  CodeUpgrade(std::shared_ptr<runtime::KernelCode> code, CompileFull compile, bool fills_cache)
      : fills_cache_(fills_cache), work_(new Work{.code = std::move(code), .compile = std::move(compile)}) {
    if (fills_cache) remember(this);
  }
  ~CodeUpgrade() override {
    forget(this);
    stop();
  }

  void before_run() override {
    if (generation_.load(std::memory_order_acquire) == fork_generation()) return;
    if (runs_.fetch_add(1, std::memory_order_relaxed) >= runs_before) begin();
  }

  Status wait() override {
    begin();
    std::shared_ptr<Work> work;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (generation_.load(std::memory_order_relaxed) != fork_generation()) return ok();  // stopped
      work = work_;
    }
    std::unique_lock<std::mutex> lock(work->mutex);
    work->ended.wait(lock, [&] { return work->is_done; });
    if (work->failure) std::rethrow_exception(work->failure);
    return work->status;
  }

  void stop() {
    std::lock_guard<std::mutex> lock(mutex_);
    work_->stop->store(true);
    if (generation_.load(std::memory_order_relaxed) != fork_generation())
      (void)thread_.release();  // not in this process
    if (thread_) thread_->join();
    thread_.reset();
  }

 private:
  static constexpr uint64_t never = UINT64_MAX;

  void begin() {
    ForkGuard guard;
    remember(this);
    std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t now = fork_generation();
    if (generation_.load(std::memory_order_relaxed) == now || work_->stop->load()) return;
    if (generation_.load(std::memory_order_relaxed) != never) {  // begun by the parent, in a thread that is not here
      (void)thread_.release();
      const bool is_done = work_->code->now()->tier == runtime::Tier::Full;
      work_ = std::shared_ptr<Work>(new Work{.code = work_->code, .compile = work_->compile, .is_done = is_done});
      if (is_done) return generation_.store(now);
    }
    try {
      thread_ = std::make_unique<std::thread>([work = work_] {
        setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), priority_step);  // and of threads made here
        run(work);
      });
    } catch (const std::system_error&) {  // no thread can be created: this one does the work
      run(work_);
    }
    generation_.store(now, std::memory_order_release);
  }

  // --- all that have begun, or will at the end of the process --------------------------------------------------------
  struct All {
    std::mutex mutex;
    std::set<CodeUpgrade*> begun;
  };
  static All& all() {
    static All* const one = new All;
    return *one;
  }

 public:
  static std::vector<CodeUpgrade*> filling_cache() {
    std::lock_guard<std::mutex> lock(all().mutex);
    std::vector<CodeUpgrade*> out;
    for (CodeUpgrade* one : all().begun)
      if (one->fills_cache_) out.push_back(one);
    return out;
  }

 private:
  // At the end of the process, static objects that the work uses are destroyed.
  static void remember(CodeUpgrade* one) {
    static std::once_flag at_exit;
    std::call_once(at_exit, [] {
      std::atexit([] {
        std::lock_guard<std::mutex> lock(all().mutex);
        for (CodeUpgrade* u : all().begun) u->stop();
      });
    });
    std::lock_guard<std::mutex> lock(all().mutex);
    all().begun.insert(one);
  }
  static void forget(CodeUpgrade* one) {
    ForkGuard guard;
    std::lock_guard<std::mutex> lock(all().mutex);
    all().begun.erase(one);
  }

  const bool fills_cache_;
  std::atomic<uint64_t> generation_{never};  // of the process in which the work has begun
  std::atomic<int> runs_{0};
  std::mutex mutex_;  // guards the following
  std::shared_ptr<Work> work_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace

std::unique_ptr<runtime::Upgrade> upgrade(std::shared_ptr<runtime::KernelCode> code, CompileFull compile) {
  return std::make_unique<CodeUpgrade>(std::move(code), std::move(compile), false);
}

std::unique_ptr<runtime::Upgrade> upgrade_with_cache(std::shared_ptr<runtime::KernelCode> code, CompileFull compile) {
  return std::make_unique<CodeUpgrade>(std::move(code), std::move(compile), true);
}

void finish_upgrades() {
  for (CodeUpgrade* one : CodeUpgrade::filling_cache()) {
    try {
      (void)one->wait();  // errors are of no use at the end of the process
    } catch (const std::exception&) {
    }
  }
}

}  // namespace relay::driver
