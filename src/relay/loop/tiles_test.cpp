// Steps on tiles: their text, their meaning before and after the operands are in tiles, and what is refused.
#include "relay/loop/tiles.h"

#include <gtest/gtest.h>

#include "relay/loop/test_kernels.h"

namespace relay::loop {
namespace {

Kernel parse_tiles(const std::string& text) {
  Kernel k = test::parsed(text);
  const Diagnostics errors = verify(k);
  EXPECT_TRUE(errors.empty()) << render(errors);
  return k;
}

// Two rows of tiles times one column: 20 rows of 5 numbers in groups of four, in loops as schedules make them.
const std::string product =
    R"(kernel product(a: int8[20, 8] read, b: uint8[2, 7, 4] read, c: int32[20, 7]), shape (), task t < 1 {
  alloc sum: int32[20, 7] in tile
  for i in 0..2 unrolled {
    for x in 0..10 tile { for j in 0..7 tile { sum[i * 10 + x, j] = 0i32 } }
  }
  for i in 0..2 unrolled {
    for x in 0..10 tile { for j in 0..7 tile { for q in 0..2 tile {
      sum[i * 10 + x, j] = sum[i * 10 + x, j] + dot_int32(a[i * 10 + x, q * 4], a[i * 10 + x, q * 4 + 1],
        a[i * 10 + x, q * 4 + 2], a[i * 10 + x, q * 4 + 3], b[q, j, 0], b[q, j, 1], b[q, j, 2], b[q, j, 3])
    } } }
  }
  for i in 0..2 unrolled {
    for x in 0..10 tile { for j in 0..7 tile { c[i * 10 + x, j] = sum[i * 10 + x, j] } }
  }
}
)";

std::vector<int32_t> run(const Kernel& k) {
  std::vector<int8_t> a(160);
  std::vector<uint8_t> b(56);
  std::vector<int32_t> c(140);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int8_t>(i * 37);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<uint8_t>(i * 91);
  const Status status = interpret(k, {a.data(), b.data(), c.data()}, {160, 56, 560}, {}, 0, 1);
  EXPECT_TRUE(status) << (status ? "" : render(status.errors()));
  return c;
}

std::vector<int32_t> expected() {
  std::vector<int32_t> c(140);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 7; ++j)
      for (int k = 0; k < 8; ++k)
        c[i * 7 + j] += static_cast<int8_t>((i * 8 + k) * 37) * static_cast<uint8_t>((k / 4 * 28 + j * 4 + k % 4) * 91);
  return c;
}

TEST(Tiles, TextAndMeaning) {
  const Kernel k = parse_tiles(product);
  EXPECT_EQ(str(parse_tiles(str(k))), str(k));
  EXPECT_EQ(run(k), expected());
  EXPECT_EQ(run(without_tiles(k)), expected());
  EXPECT_FALSE(has_tiles(without_tiles(k)));
}

TEST(Tiles, OperandsAreLoadedOnceForARunOfProducts) {
  const Result<Kernel> k = with_operand_tiles(unroll(parse_tiles(product)));
  ASSERT_TRUE(k) << render(k.errors());
  const std::string text = str(*k), loads = R"(
  {
    alloc a_tile: int8[10, 2, 4] in tile
    alloc b_tile: uint8[2, 7, 4] in tile
    alloc a_tile_1: int8[10, 2, 4] in tile
    for r in 0..10 tile {
      for q in 0..2 tile {
        for p in 0..4 tile {
          a_tile[r, q, p] = a[r, q * 4 + p]
        }
      }
    }
    for r in 0..2 tile {
      for q in 0..7 tile {
        for p in 0..4 tile {
          b_tile[r, q, p] = b[r, q, p]
        }
      }
    }
    for r in 0..10 tile {
      for q in 0..2 tile {
        for p in 0..4 tile {
          a_tile_1[r, q, p] = a[10 + r, q * 4 + p]
        }
      }
    }
    for i in 0..10 tile {
)";
  EXPECT_NE(text.find(loads), text.npos) << text;
  EXPECT_NE(text.find("  alloc sum0: int32[10, 7] in tile\n  alloc sum1: int32[10, 7] in tile\n"), text.npos) << text;
  EXPECT_NE(text.find("      c[10 + i, j] = sum1[i, j]\n"), text.npos) << text;
  EXPECT_TRUE(verify(*k).empty()) << render(verify(*k));
  EXPECT_EQ(str(parse_tiles(str(*k))), str(*k));
  EXPECT_EQ(run(*k), expected());
  const Kernel finished = hoist(simplify(expand_math(vectorise(*k))));
  EXPECT_EQ(run(finished), expected());
  const Result<Kernel> again = with_operand_tiles(finished);
  ASSERT_TRUE(again) << render(again.errors());
  EXPECT_EQ(str(*again), str(finished));
}

std::string refused(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = what.empty() ? text.npos : text.find(what); at != text.npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  const Result<Kernel> k = with_operand_tiles(unroll(parse_tiles(text)));
  return k ? "accepted:\n" + str(*k) : k.errors()[0].message;
}

TEST(Tiles, Refusals) {
  const std::string k = "kernel product: ";
  EXPECT_EQ(refused(product, "b[q, j, 3]", "b[q, j, 2]"), k + "an operand of sum does not lie in rows of 4 numbers");
  EXPECT_EQ(refused(product, "a[i * 10 + x, q * 4]", "a[x * 2, q * 4]"),
            k + "an operand of sum does not lie in rows of 4 numbers");
  EXPECT_EQ(refused(product, "= 0i32", "= 1i32"), k + "a nest of tile loops that stores to sum is not a step on tiles");
  EXPECT_EQ(refused(product, "0..10 tile { for j in 0..7 tile { for q", "0..9 tile { for j in 0..7 tile { for q"),
            k + "tiles of sum overlap");
  // Nine sums at once.
  std::string many = "kernel many(c: int32[9, 1]), shape (), task t < 1 {\n  alloc sum: int32[9, 1] in tile\n";
  for (const char* step : {"sum[i + x, j] = 0i32", "c[i + x, j] = sum[i + x, j]"})
    many += format("  for i in 0..9 unrolled {{ for x in 0..1 tile {{ for j in 0..1 tile {{ {} }} }} }}\n", step);
  EXPECT_EQ(refused(many + "}\n", "", ""), "kernel many: more than 8 tiles are needed at once");
  // Rows that no machine has.
  EXPECT_EQ(refused("kernel long(c: int32[17, 2]), shape (), task t < 1 {\n  alloc sum: int32[17, 2] in tile\n"
                    "  for x in 0..17 tile { for j in 0..2 tile { sum[x, j] = 0i32 } }\n"
                    "  for x in 0..17 tile { for j in 0..2 tile { c[x, j] = sum[x, j] } }\n}\n",
                    "", ""),
            "kernel long: tile sum has 17 rows of 8 bytes; the machine's have 16 rows of 64");
}

TEST(Tiles, AreAccessedInTheirLoopsOnly) {
  const Result<Kernel> k = parse_kernel(
      "kernel bad(c: int32[2, 2]), shape (), task t < 1 {\n  alloc sum: int32[2, 2] in tile\n  sum[0, 0] = 0i32\n"
      "  for i in 0..t tile { c[i, 0] = 1i32 }\n}\n");
  ASSERT_TRUE(k) << render(k.errors());
  const std::string errors = render(verify(*k));
  EXPECT_NE(errors.find("tile sum is accessed outside of the loops of a tile"), std::string::npos) << errors;
  EXPECT_NE(errors.find("loop i is of a tile but its extent t is not constant"), std::string::npos) << errors;
}

}  // namespace
}  // namespace relay::loop
