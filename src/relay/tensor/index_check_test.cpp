#include "relay/tensor/index_check.h"

#include <gtest/gtest.h>

namespace relay {
namespace {

std::optional<int64_t> first(const Tensor& t, std::vector<int64_t> extents) {
  const int64_t inner = t.elements() / static_cast<int64_t>(extents.size());
  return first_out_of_range(t.data(), t.dtype(), t.elements(), extents, inner);
}

TEST(IndexCheck, FindsTheFirstOfEveryType) {
  for (int bits : {8, 16, 32, 64})
    for (DType::Code code : {DType::Code::Int, DType::Code::UInt}) {
      const DType dtype{code, static_cast<uint8_t>(bits)};
      for (int64_t bad : {-1, 0, 31, 99}) {
        Tensor t = Tensor::full({100}, dtype, 4);
        EXPECT_FALSE(first(t, {5}));
        if (bad >= 0) t.set_int(bad, 5);
        EXPECT_EQ(first(t, {5}), bad < 0 ? std::nullopt : std::optional(bad)) << dtype.str();
        EXPECT_FALSE(first(t, {int64_t{1} << 40})) << dtype.str();
        EXPECT_EQ(first(t, {0}), 0);
      }
    }
}

TEST(IndexCheck, OfNoAxisNothingIsBelowZero) {
  for (int bits : {8, 16, 32, 64}) {
    const DType dtype{DType::Code::Int, static_cast<uint8_t>(bits)};
    Tensor t = Tensor::full({100}, dtype, 4);
    for (int64_t extent : {int64_t{5}, int64_t{127}, int64_t{1} << 40}) {
      t.set_int(50, 4);
      EXPECT_FALSE(first_out_of_range(t.data(), dtype, 100, {&extent, 1}, 100, false));
      t.set_int(50, -1);
      EXPECT_EQ(first_out_of_range(t.data(), dtype, 100, {&extent, 1}, 100, false), 50) << dtype.str();
    }
  }
}

TEST(IndexCheck, CountsFromTheEnd) {
  Tensor t = Tensor::full({3}, DType::int8(), -128);
  EXPECT_FALSE(first(t, {128}));
  EXPECT_FALSE(first(t, {1000}));
  EXPECT_EQ(first(t, {127}), 0);
  // All bits set: 255, not -1.
  Tensor u = Tensor::full({3}, DType{DType::Code::UInt, 8}, 255);
  EXPECT_EQ(first(u, {255}), 0);
  EXPECT_FALSE(first(u, {256}));
  Tensor w = Tensor::empty({1}, DType{DType::Code::UInt, 64});
  w.set_int(0, -1);
  EXPECT_EQ(first(w, {INT64_MAX}), 0);
}

TEST(IndexCheck, SlicesHaveExtentsOfTheirOwn) {
  Tensor t = Tensor::full({2, 3}, DType::int64(), 4);
  EXPECT_FALSE(first(t, {5, 6}));
  EXPECT_EQ(first(t, {5, 4}), 3);
  EXPECT_EQ(extent_of(3, 2, 3), 1u);
  EXPECT_EQ(coordinates(3, {2, 3}), (Shape{1, 0}));
  EXPECT_FALSE(first(Tensor::empty({2, 0}, DType::int64()), {0, 0}));
}

}  // namespace
}  // namespace relay
