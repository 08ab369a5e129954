#include "relay/runtime/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <numeric>
#include <set>

#include "relay/base/sanitizer.h"
#include "relay/runtime/threads/thread_choice.h"

namespace relay::runtime {
namespace {

TEST(ThreadPool, EveryTaskRunsOnce) {
  ThreadPool pool(4);
  for (int64_t tasks : {0, 1, 2, 3, 4, 5, 7, 64, 1001}) {
    for (int threads : {0, 1, 2, 3, 4, 9}) {
      std::vector<std::atomic<int>> runs(tasks);
      pool.parallel(tasks, threads, [&](int64_t begin, int64_t end, int worker) {
        EXPECT_LE(0, worker);
        EXPECT_LT(worker, 4);
        for (int64_t i = begin; i < end; ++i) ++runs[i];
      });
      for (int64_t i = 0; i < tasks; ++i)
        EXPECT_EQ(runs[i], 1) << tasks << " tasks, " << threads << " threads, task " << i;
    }
  }
}

TEST(ThreadPool, TheSplitDependsOnTasksAndThreadsOnly) {
  ThreadPool pool(3);
  for (int turn = 0; turn < 100; ++turn) {
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> pieces;
    pool.parallel(40, 3, [&](int64_t begin, int64_t end, int) {
      std::lock_guard<std::mutex> lock(mutex);
      pieces.insert({begin, end});
    });
    // Ranges of 14, 13 and 13 tasks, of eight pieces each.
    const std::set<std::pair<int64_t, int64_t>> expected{{0, 1},   {1, 3},   {3, 5},   {5, 7},   {7, 8},   {8, 10},
                                                         {10, 12}, {12, 14}, {14, 15}, {15, 17}, {17, 18}, {18, 20},
                                                         {20, 22}, {22, 23}, {23, 25}, {25, 27}, {27, 28}, {28, 30},
                                                         {30, 31}, {31, 33}, {33, 35}, {35, 36}, {36, 38}, {38, 40}};
    EXPECT_EQ(pieces, expected);
  }
}

TEST(ThreadPool, AnIdleThreadTakesOverPieces) {
  ThreadPool pool(2);
  for (int slow : {0, 1}) {
    // The first piece that thread `slow` runs does not end before all others have ended: 15 of 16.
    std::atomic<int> ended{0}, held{0};
    std::atomic<bool> in_time{true};
    const auto begun = std::chrono::steady_clock::now();
    while (held == 0 && std::chrono::steady_clock::now() - begun < std::chrono::seconds(20)) {
      ended = 0;
      pool.parallel(16, 2, [&](int64_t begin, int64_t end, int worker) {
        const auto since = std::chrono::steady_clock::now();
        if (worker == slow && held++ == 0)
          while (ended < 15 && in_time)
            if (std::chrono::steady_clock::now() - since > std::chrono::seconds(20)) in_time = false;
        ended += static_cast<int>(end - begin);
      });
    }
    EXPECT_GT(held, 0) << "thread " << slow << " never came";
    EXPECT_TRUE(in_time) << "nobody took the pieces of thread " << slow;
    EXPECT_EQ(ended, 16);
  }
}

TEST(ThreadPool, ManyRegionsInASession) {
  ThreadPool pool(3);
  int64_t sums[3] = {};
  ThreadPool::Session session(pool);
  for (int i = 0; i < 20000; ++i)
    session.parallel(30, [&](int64_t begin, int64_t end, int worker) { sums[worker] += end - begin; });
  EXPECT_EQ(sums[0] + sums[1] + sums[2], 20000 * 30);
}

TEST(ThreadPool, NestedRegionsAndSessionsRunSerially) {
  ThreadPool pool(2);
  std::atomic<int64_t> total = 0;
  ThreadPool::Session outer(pool);
  EXPECT_EQ(outer.threads(), 2);
  ThreadPool::Session inner(pool);
  EXPECT_EQ(inner.threads(), 1);
  outer.parallel(8, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) pool.parallel(10, 0, [&](int64_t b, int64_t e, int) { total += e - b; });
  });
  inner.parallel(5, [&](int64_t b, int64_t e, int) { total += e - b; });
  EXPECT_EQ(total, 85);
}

TEST(ThreadPool, TwoCallersAtOnce) {
  ThreadPool pool(2);
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        ThreadPool::Session session(pool);
        for (int k = 0; k < 10; ++k) session.parallel(4, [&](int64_t b, int64_t e, int) { total += e - b; });
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total, 3 * 500 * 10 * 4);
}

int64_t cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

TEST(ThreadPool, IdleCostsNothing) {
  ThreadPool pool(2);
  pool.parallel(2, 2, [](int64_t, int64_t, int) {});
  usleep(20000);
  int64_t before = cpu_us();
  usleep(200000);
  EXPECT_LT(cpu_us() - before, 2000);  // 1 %
}

TEST(ThreadPool, WorksInAForkedChild) {
  if (has_thread_sanitizer) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  std::atomic<int64_t> total = 0;
  ThreadPool::global().parallel(10, 0, [&](int64_t b, int64_t e, int) { total += e - b; });
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    ThreadPool::global().parallel(10, 0, [&](int64_t b, int64_t e, int) { total += e - b; });
    _exit(total == 20 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ThreadPool, ScratchIsAlignedAndGrows) {
  void* small = thread_scratch(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(small) % 64, 0u);
  EXPECT_EQ(thread_scratch(50), small);
  void* large = thread_scratch(1 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 64, 0u);
  static_cast<char*>(large)[(1 << 20) - 1] = 1;
}

TEST(ThreadPool, UsableCoresIsWithinTheMachine) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

// Records times of `parallel` us on all threads and `serial` us on one until a choice is made; returns the number of
// runs.
int measure(ThreadChoice& choice, double parallel, double serial) {
  int runs = 0;
  for (; !choice.decided(); ++runs) choice.record(choice.limit() == 1 ? serial : parallel);
  return runs;
}

TEST(ThreadChoice, ShortCallsUseWhatIsFasterAndAreMeasuredAgain) {
  ThreadChoice choice;
  choice.record(900);  // cold
  EXPECT_EQ(measure(choice, 9, 4), 6);
  EXPECT_EQ(choice.limit(), 1);
  choice.record(1e6);
  EXPECT_EQ(choice.limit(), 1) << "decided";
  choice.measure_again();
  EXPECT_EQ(measure(choice, 3, 4), 6);
  EXPECT_EQ(choice.limit(), 0);
  EXPECT_EQ(choice.pieces(), 1) << "pieces would cost more than they save";
  choice.measure_again();
  EXPECT_EQ(measure(choice, 40, 4), 3) << "a longer call is not tried on one thread";
  EXPECT_EQ(choice.limit(), 0);
  EXPECT_EQ(choice.pieces(), max_pieces);
}

}  // namespace
}  // namespace relay::runtime
