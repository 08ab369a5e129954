#include "relay/runtime/kernel_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

// The same bits as add_one(), in another function.
void add_one_otherwise(void* const* p, const int64_t*, int64_t begin, int64_t end, void*) {
  for (int64_t i = end; i-- > begin;) static_cast<float*>(p[1])[i] = 1 + static_cast<const float*>(p[0])[i];
}

std::shared_ptr<const KernelLibrary> other_library() {
  return std::make_shared<HandLibrary>(std::map<std::string, KernelFn>{
      {"add_one", add_one_otherwise}, {"add", add}, {"less", less}, {"reverse_rows", reverse_rows}});
}

TEST(KernelCode, IsExchangedWhileThreadsRun) {
  const Result<std::shared_ptr<Executable>> made =
      Executable::create(chain_program(3), hand_library(), {.tier = Tier::Fast});
  ASSERT_TRUE(made) << render(made.errors());
  Executable& model = **made;
  EXPECT_EQ(model.tier(), Tier::Fast);
  const Tensor inputs[] = {iota({4, 5}), iota({4, 5})};
  const Result<std::vector<Tensor>> first = model.run(inputs);
  ASSERT_TRUE(first) << render(first.errors());
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        const Result<std::vector<Tensor>> results = model.run(inputs);
        wrong += !results || std::memcmp((*results)[0].data(), (*first)[0].data(), (*first)[0].bytes()) != 0;
        ++runs;
      }
    });
  for (int i = 0; i < 20; ++i) {
    const int before = runs;
    ASSERT_TRUE(model.code()->exchange(i % 2 == 0 ? other_library() : hand_library(), Tier::Full));
    while (runs < before + 10) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(model.tier(), Tier::Full);
}

TEST(KernelCode, MustHaveEveryKernel) {
  const Result<std::shared_ptr<Executable>> made = Executable::create(chain_program(3), hand_library());
  ASSERT_TRUE(made) << render(made.errors());
  const KernelCode::Table* before = (*made)->code()->now();
  const Status status = (*made)->code()->exchange(
      std::make_shared<HandLibrary>(std::map<std::string, KernelFn>{{"add_one", add_one}}), Tier::Full);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.errors()[0].message, "the code has no kernel `add`");
  EXPECT_EQ((*made)->code()->now(), before);
}

}  // namespace
}  // namespace relay::runtime
