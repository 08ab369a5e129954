#include "relay/scalar/solve.h"

#include <gtest/gtest.h>

#include "relay/scalar/parts.h"

namespace relay::scalar {
namespace {

TEST(Solve, AnExtentDeterminesAVariable) {
  const Expr n = var("n"), m = var("m");
  auto value = [&](const Expr& size, int64_t extent) {
    const std::optional<Determined> found = determines(size, n);
    return found ? found->value(extent) : std::nullopt;
  };
  EXPECT_EQ(value(n, 5), 5);
  EXPECT_EQ(value(n * 3 + 2, 11), 3);
  EXPECT_EQ(value(n * 3 + 2, 10), std::nullopt);
  EXPECT_EQ(value(n + 2, 1), std::nullopt) << "a size is not negative";
  EXPECT_EQ(value(n + n - 4, 0), 2);
  for (const Expr& other : {n + m, m, floordiv(n, 2), n * m, n * n, imm(4) - n, any_dim(), imm(3)})
    EXPECT_FALSE(determines(other, n)) << str(other);
  EXPECT_EQ(Determined({1, -1}).value(INT64_MAX), std::nullopt);
}

TEST(Parts, SharedNodesCountEachTime) {
  const Expr n = var("n");
  Expr size = n;
  for (int i = 0; i < 10; ++i) size = size * size + size;
  EXPECT_EQ(count_parts(n, 10), 1);
  EXPECT_EQ(count_parts(n + 1, 10), 3);
  EXPECT_EQ(count_parts(size, 100), 100);
  EXPECT_TRUE(is_too_large(size));
  Expr sum = n;
  while (!is_too_large(sum)) sum = sum + var("m");
  EXPECT_EQ(count_parts(sum, INT64_MAX), max_size_parts + 1);
}

}  // namespace
}  // namespace relay::scalar
