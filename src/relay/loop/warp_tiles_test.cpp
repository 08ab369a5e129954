// Steps on tiles by warps: their text, their meaning before and after the operands are in tiles, what verify() refuses,
// and the races that interpret() finds.
#include "relay/loop/warp_tiles.h"

#include <gtest/gtest.h>

#include <map>

#include "relay/loop/test_kernels.h"
#include "relay/loop/tiles.h"

namespace relay::loop::of_warps {
namespace {

using test::parsed;
using test::refusal;
using test::replaced;

// Two warps multiply 16 x 32 by 32 x 13 numbers in groups of four, through shared memory, in loops as schedules make
// them. The second warp has five columns.
const std::string product =
    R"(kernel product(a: int8[16, 64] read, b: int8[13, 64] read, c: int32[16, 13]), shape (), task t < 1 {
  alloc left: int8[16, 48] in shared
  alloc right: int8[16, 48] in shared
  for w in 0..2 thread {
    for lane in 0..32 thread {
      alloc sum: int32[1, 16, 8] in tile
      for i in 0..16 tile { for j in 0..8 tile { sum[0, i, j] = 0i32 } }
      for k in 0..2 {
        barrier
        for r in 0..16 {
          left[r, w * 32 + lane] = a[r, k * 32 + lane] if w == 0
          if w == 1 {
            if r < 13 {
              right[r, lane] = b[r, k * 32 + lane]
            }
          }
        }
        barrier
        for i in 0..16 tile { for j in 0..8 tile { for q in 0..8 tile {
          sum[0, i, j] = sum[0, i, j] + dot_int32(left[i, q * 4], left[i, q * 4 + 1], left[i, q * 4 + 2],
            left[i, q * 4 + 3], right[w * 8 + j, q * 4], right[w * 8 + j, q * 4 + 1], right[w * 8 + j, q * 4 + 2],
            right[w * 8 + j, q * 4 + 3])
        } } }
      }
      for i in 0..16 tile { for j in 0..8 tile {
        if w * 8 + j < 13 {
          c[i, w * 8 + j] = max(sum[0, i, j], 5i32)
        }
      } }
    }
  }
}
)";

int8_t number(size_t i, size_t factor) { return static_cast<int8_t>(i * factor); }

std::vector<int32_t> run(const Kernel& k, std::string* problem = nullptr) {
  std::vector<int8_t> a(16 * 64), b(13 * 64);
  std::vector<int32_t> c(16 * 13);
  for (size_t i = 0; i < a.size(); ++i) a[i] = number(i, 37);
  for (size_t i = 0; i < b.size(); ++i) b[i] = number(i, 91);
  const Status status = interpret(k, {a.data(), b.data(), c.data()}, {16 * 64, 13 * 64, 16 * 13 * 4}, {}, 0, 1);
  if (problem)
    *problem = status ? "" : status.errors()[0].message;
  else
    EXPECT_TRUE(status) << (status ? "" : render(status.errors())) << str(k);
  return c;
}

std::vector<int32_t> expected() {
  std::vector<int32_t> c(16 * 13);
  for (size_t i = 0; i < 16; ++i)
    for (size_t j = 0; j < 13; ++j) {
      int32_t& sum = c[i * 13 + j];
      for (size_t k = 0; k < 64; ++k) sum += number(i * 64 + k, 37) * number(j * 64 + k, 91);
      sum = std::max(sum, 5);
    }
  return c;
}

TEST(WarpTiles, TextAndMeaning) {
  const Kernel k = parsed(product);
  const Diagnostics errors = verify(k);
  EXPECT_TRUE(errors.empty()) << render(errors);
  EXPECT_EQ(str(parsed(str(k))), str(k));
  EXPECT_EQ(run(k), expected());
}

TEST(WarpTiles, OperandsInTiles) {
  const Result<Kernel> k = with_operand_tiles(parsed(product));
  ASSERT_TRUE(k) << render(k.errors());
  const Diagnostics errors = verify(*k);
  EXPECT_TRUE(errors.empty()) << render(errors) << str(*k);
  EXPECT_EQ(run(*k), expected()) << str(*k);
  EXPECT_EQ(str(parsed(str(*k))), str(*k));
  std::map<TileRole, int> roles;
  for (const auto& [tile, role] : tile_roles(*k)) ++roles[role];
  EXPECT_EQ(roles, (std::map<TileRole, int>{{TileRole::Left, 1}, {TileRole::Right, 1}, {TileRole::Sums, 1}}));
}

// The lanes of a warp hold each element of a tile once.
TEST(WarpTiles, LanesHoldAllElements) {
  struct Case {
    TileRole role;
    int64_t rows, columns;
    size_t registers;
  };
  for (const Case& c : {Case{TileRole::Left, 16, 8, 4}, Case{TileRole::Right, 8, 8, 2}, Case{TileRole::Sums, 16, 8, 4},
                        Case{TileRole::Left, 8, 4, 1}, Case{TileRole::Right, 4, 8, 1}, Case{TileRole::Sums, 8, 8, 2}}) {
    const BufferRef tile = buffer("t", DType::float32(), {scalar::imm(c.rows), scalar::imm(c.columns)}, Scope::Tile);
    const Lane lane{scalar::var("row"), scalar::var("column")};
    const std::vector<Exprs> held = elements_of(*tile, c.role, lane);
    EXPECT_EQ(held.size(), c.registers);
    std::map<std::pair<int64_t, int64_t>, int> seen;
    for (int64_t l = 0; l < warp_lanes; ++l)
      for (const Exprs& e : held) {
        auto at = [&](const Expr& index) {
          return scalar::evaluate(index, {{lane.row, l / 4}, {lane.column, l % 4}}).value();
        };
        ++seen[{at(e[0]), at(e[1])}];
      }
    EXPECT_EQ(seen.size(), static_cast<size_t>(c.rows * c.columns));
    for (const auto& [element, times] : seen) EXPECT_EQ(times, 1) << element.first << ", " << element.second;
  }
}

TEST(WarpTiles, RefusalsOfVerify) {
  EXPECT_EQ(refusal(product), "accepted");
  EXPECT_NE(refusal(replaced(product, "right[w * 8 + j, q * 4]", "right[lane, q * 4]")).find("depends on lane"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(product, "for lane in 0..32 thread", "for lane in 0..16 thread")).find("16 iterations"),
            std::string::npos);
  const std::string apart =
      replaced(product, "for i in 0..16 tile { for j in 0..8 tile { sum[0, i, j] = 0i32 } }",
               "if w < 1 {\n for i in 0..16 tile { for j in 0..8 tile { sum[0, i, j] = 0i32 } }\n }");
  EXPECT_NE(refusal(apart).find("threads may part at"), std::string::npos) << refusal(apart);
}

// A warp reads what other threads wrote, and is not ordered with them but by barriers.
TEST(WarpTiles, RacesAreFound) {
  std::string problem;
  std::string text = product;
  const size_t last = text.rfind("        barrier\n");
  run(parsed(text.erase(last, 16)), &problem);
  EXPECT_NE(problem.find("of a step on tiles"), std::string::npos) << problem;
  text = replaced(product, "        barrier\n", "");
  run(parsed(text), &problem);
  EXPECT_NE(problem.find("of a step on tiles"), std::string::npos) << problem;
  // Both warps store the same columns.
  run(parsed(replaced(product, "c[i, w * 8 + j] = max", "c[i, j] = max")), &problem);
  EXPECT_NE(problem.find("c[0, 0]"), std::string::npos) << problem;
}

}  // namespace
}  // namespace relay::loop::of_warps
