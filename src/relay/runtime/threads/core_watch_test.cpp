#include "relay/runtime/threads/core_watch.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace relay::runtime {
namespace {

using Clock = std::chrono::steady_clock;

void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

TEST(CoreWatch, FindsTheCoreContestedWhileAnotherThreadLoadsIt) {
  const int core = current_core();
  std::atomic<bool> stop{false};
  std::thread neighbour([&] {
    stay_on(core);
    while (!stop) {
    }
  });
  bool found = false;
  std::thread worker([&] {
    stay_on(core);
    CoreWatch watch;
    const Clock::time_point since = Clock::now();
    while (!watch.contested() && Clock::now() - since < std::chrono::seconds(20)) watch.look();
    found = watch.contested();
    EXPECT_TRUE(watch.should_yield()) << "it never has";
    watch.yield();
    EXPECT_FALSE(watch.should_yield()) << "it just has";
  });
  worker.join();
  stop = true;
  neighbour.join();
  EXPECT_TRUE(found);
}

TEST(CoreWatch, MovesAThreadAndLeavesItsAffinityAlone) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &before)) cores.push_back(core);
  for (int core : cores) EXPECT_TRUE(move_to(core));
  EXPECT_FALSE(move_to_free_core(cores.data(), static_cast<int>(cores.size()))) << "there is no other core";
  EXPECT_FALSE(move_to(-1));
  if (cores.size() > 1) EXPECT_TRUE(move_to_free_core(cores.data(), 1));
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace relay::runtime
