// Figures of memory accesses, for kernels whose figures follow from their text.
#include "relay/loop/access_figures.h"

#include <gtest/gtest.h>

#include "relay/loop/test_kernels.h"

namespace relay::loop {
namespace {

AccessFigures figures(const std::string& text) { return access_figures(test::parsed(text)); }

// A block of 32 threads per row; thread j runs `body`.
AccessFigures of_threads(const std::string& body) {
  return figures(
      "kernel k(x: float32[n, 1024] read, y: float32[n, 1024], p: int64[1024] read), shape (n), task t < 1 {\n"
      "  for i in 0..n block {\n    for j in 0..32 thread {\n      " +
      body + "\n    }\n  }\n}\n");
}

TEST(AccessFigures, NeighboursAreCoalesced) {
  EXPECT_EQ(of_threads("y[i, j] = x[i, j]").coalesced, 1);
  EXPECT_EQ(of_threads("y[i, j] = x[i, 31 - j]").coalesced, 1);
  EXPECT_EQ(of_threads("y[i, j] = x[i, 0]").coalesced, 1);  // one sector for all threads
}

TEST(AccessFigures, StridesAreNot) {
  EXPECT_EQ(of_threads("y[i, j * 32] = x[i, j * 32]").coalesced, 4.0 / 32);
  EXPECT_EQ(of_threads("y[i, j * 2] = x[i, j * 2]").coalesced, 0.5);
  EXPECT_EQ(of_threads("y[i, j] = x[i, j * 2]").coalesced, 0.75);  // the mean of both accesses
}

TEST(AccessFigures, LoopsCountTheirIterations) {
  const char* text = "y[i, j] = 0f\nfor k in 0..9 {\n  y[i, j * 32 + k] = 1f\n}";
  EXPECT_DOUBLE_EQ(of_threads(text).coalesced, (1 + 9 * 4.0 / 32) / 10);
}

TEST(AccessFigures, OnlyThreadsThatTakeABranch) {
  EXPECT_EQ(of_threads("if j < 8 {\n  y[i, j] = 1f\n}").coalesced, 1);
  EXPECT_EQ(of_threads("if j < 0 {\n  y[i, j * 32] = 1f\n}").coalesced, -1);
}

TEST(AccessFigures, PlacesThatDependOnDataAreUnknown) {
  const AccessFigures f = of_threads("y[i, j] = x[i, p[j]]");
  EXPECT_DOUBLE_EQ(f.unknown, 1.0 / 3);
  EXPECT_EQ(f.coalesced, 1);
}

AccessFigures of_shared(const std::string& shape, const std::string& store, const std::string& load) {
  return of_threads("alloc s: float32[" + shape + "] in shared\ns[" + store + "] = x[i, j]\nbarrier\ny[i, j] = s[" +
                    load + "]");
}

TEST(AccessFigures, ConflictsOfBanks) {
  EXPECT_EQ(of_shared("32", "j", "31 - j").bank_turns, 1);
  EXPECT_EQ(of_shared("32, 32", "j, 0", "j, 1").bank_turns, 32);
  EXPECT_EQ(of_shared("32, 33", "j, 0", "j, 1").bank_turns, 1);
  EXPECT_EQ(of_shared("64", "j * 2", "j * 2").bank_turns, 2);
  EXPECT_EQ(of_shared("64", "j", "5").bank_turns, 1);  // a word for all threads
  EXPECT_EQ(of_shared("32", "j", "j").shared_bytes, 128);
  EXPECT_EQ(of_shared("32", "j", "j").threads, 32);
}

// Sixteen bytes of each thread take four turns, eight threads in each.
TEST(AccessFigures, VectorsOfSharedMemory) {
  const std::string head =
      "kernel k(y: float32[n, 1024]), shape (n), task t < 1 {\n  for i in 0..n block {\n    for j in 0..32 thread {\n"
      "      alloc s: float32[4096] in shared\n      for l in 0..4 vectorised {\n";
  const std::string tail = "\n      }\n    }\n  }\n}\n";
  for (const auto& [step, turns] : {std::pair("4", 1.0), std::pair("128", 8.0)}) {
    Result<Kernel> k = parse_kernel(head + "        s[j * " + step + " + l] = 0f" + tail);
    ASSERT_TRUE(k) << render(k.errors());
    EXPECT_EQ(access_figures(vectorise(*k)).bank_turns, turns) << step;
  }
}

// Kernels without blocks: neighbouring threads run neighbouring tasks.
TEST(AccessFigures, Tasks) {
  const AccessFigures f = figures(
      "kernel k(x: float32[n, 64] read, y: float32[n, 64]), shape (n), task t < n {\n"
      "  for j in 0..64 {\n    y[t, j] = x[t, j]\n  }\n}\n");
  EXPECT_EQ(f.coalesced, 1);  // the loop was spread over the threads
  EXPECT_EQ(f.threads, 1);
}

}  // namespace
}  // namespace relay::loop
