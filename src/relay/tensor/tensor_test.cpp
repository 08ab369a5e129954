#include "relay/tensor/tensor.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "relay/base/sanitizer.h"
#include "relay/tensor/half.h"
#include "relay/tensor/memory.h"

namespace relay {
namespace {

TEST(Half, every_float16_reads_back) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint16_t h = static_cast<uint16_t>(bits);
    float value = float16_to_float(h);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(std::bit_cast<_Float16>(h))) &&
                  std::isnan(float16_to_float(float_to_float16(value))));
    } else {
      EXPECT_EQ(value, static_cast<float>(std::bit_cast<_Float16>(h)));
      EXPECT_EQ(float_to_float16(value), h);
    }
    if (HasFailure()) return;
  }
}

TEST(Half, rounds_to_nearest_even) {
  for (uint32_t i = 0; i < 2'000'000; ++i) {
    float value = std::bit_cast<float>(i * 2147u);
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_float16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
  EXPECT_EQ(float_to_bfloat16(1.0f), 0x3F80);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3F808000)), 0x3F80);  // a tie goes to even
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x3F818000)), 0x3F82);
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::nanf("")))));
}

TEST(Tensor, values_and_shapes) {
  std::vector<double> values{1, 2, 3, 4, 5, 6};
  Tensor t = Tensor::from_doubles({2, 3}, DType::float32(), values);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
  EXPECT_EQ(t.bytes(), 24u);
  EXPECT_EQ(t.span<float>()[5], 6);
  EXPECT_EQ(t.reshaped({3, 2}).data(), t.data());
  EXPECT_EQ(str(t, 3), "Tensor[(2, 3), float32] [1, 2, 3, ...]");
  EXPECT_TRUE(equal(t, t.cast(DType::int8()).cast(DType::float32())));
  EXPECT_FALSE(equal(t, t.reshaped({6})));
  EXPECT_NE(hash(t), hash(t.reshaped({6})));
  EXPECT_FALSE(Tensor());
  EXPECT_TRUE(Tensor::empty({0}, DType::int8()));
}

TEST(Tensor, integers_are_exact_and_floats_saturate) {
  std::vector<int64_t> big{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), -1};
  Tensor t = Tensor::from_ints({3}, DType::int64(), big);
  EXPECT_EQ(t.to_ints(), big);
  EXPECT_EQ(t.cast(DType::uint64()).cast(DType::int64()).to_ints(), big);
  EXPECT_EQ(Tensor::scalar(1e30, DType::int32()).int_at(0), 2147483647);
  EXPECT_EQ(Tensor::scalar(-1e30, DType::uint8()).int_at(0), 0);
  EXPECT_EQ(Tensor::scalar(std::nan(""), DType::int64()).int_at(0), 0);
  EXPECT_EQ(Tensor::scalar(3.9, DType::boolean()).int_at(0), 1);
}

TEST(Memory, large_arrays_are_used_again) {
  const size_t bytes = 48 << 20;
  char* first = static_cast<char*>(allocate_array(bytes));
  ASSERT_NE(first, nullptr);
  first[0] = first[bytes - 1] = 1;
  free_array(first);
  void* little_less = allocate_array(bytes - 4096);
  EXPECT_EQ(little_less, first);
  void* other = allocate_array(bytes);
  EXPECT_NE(other, first);
  free_array(little_less);
  void* half = allocate_array(bytes / 3 * 2);  // would waste more than a quarter
  EXPECT_NE(half, first);
  free_array(half), free_array(other), free_array(nullptr);
}

TEST(Memory, a_forked_child_has_arrays_while_threads_use_them) {
  if (has_thread_sanitizer) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  constexpr size_t bytes = 100 << 10;
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) free_array(allocate_array(bytes));
  });
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      free_array(allocate_array(bytes));
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << i;
  }
  stop = true;
  other.join();
}

TEST(Tensor, counts_do_not_overflow) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({int64_t{1} << 40, 0, int64_t{1} << 40}), std::nullopt);
  EXPECT_EQ(element_count({5, 0}), 0);
  EXPECT_EQ(element_count({-1}), std::nullopt);
  EXPECT_THROW(Tensor::empty({int64_t{1} << 62, 4}, DType::float32()), CompileError);
}

TEST(Tensor, full_fills_all) {
  Tensor t = Tensor::full({7, 11}, DType::float16(), 0.5);
  for (int64_t i = 0; i < t.elements(); ++i) EXPECT_EQ(t.at(i), 0.5);
}

}  // namespace
}  // namespace relay
