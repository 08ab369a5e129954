// Kernels with blocks of threads: their text, their meaning, what verify() refuses, and the races that interpret() finds.
#include "relay/loop/blocks.h"

#include <gtest/gtest.h>

#include "relay/loop/test_kernels.h"

namespace relay::loop {
namespace {

using test::parsed;
using test::refusal;
using test::replaced;

// Rows of a matrix, reversed: each block reverses a row through shared memory.
const std::string reversed =
    R"(kernel reversed(x: float32[n, 6] read, y: float32[n, 6]), shape (n), task t < 1 {
  for i in 0..n block {
    alloc row: float32[6] in shared
    for j in 0..6 thread {
      row[j] = x[i, j]
      barrier
      y[i, j] = row[5 - j]
    }
  }
}
)";

// The sum of each pair of rows by a tree, in blocks of 2 x 4 threads; the loop and the conditions around barriers are the
// same for all of them.
const std::string tree =
    R"(kernel tree(x: float32[n, 16] read, y: float32[n]), shape (n), task t < (n + 1) // 2 {
  alloc part: float32[2, 4] in shared
  for r in 0..2 thread {
    for l in 0..4 thread {
      alloc sum: float32[1] in register
      sum[0] = 0f
      if t * 2 + r < n {
        for c in 0..4 {
          sum[0] = sum[0] + x[t * 2 + r, c * 4 + l]
        }
      }
      part[r, l] = sum[0]
      barrier
      for step in 0..2 {
        let half = select(step == 0, 2, 1)
        if l < half {
          part[r, l] = part[r, l] + part[r, l + half]
        }
        barrier
      }
      if l == 0 {
        y[t * 2 + r] = part[r, 0] if t * 2 + r < n
      }
    }
  }
}
)";

std::vector<float> run(const Kernel& k, int64_t n, int64_t row, int64_t results, std::string* problem = nullptr) {
  std::vector<float> x(static_cast<size_t>(n * row)), y(static_cast<size_t>(results));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2;
  const int64_t tasks = scalar::evaluate(k.tasks, {{k.shape_vars[0], n}}).value();
  const Status status = interpret(k, {x.data(), y.data()}, {n * row * 4, results * 4}, {n}, 0, tasks);
  if (problem)
    *problem = status ? "" : status.errors()[0].message;
  else
    EXPECT_TRUE(status) << (status ? "" : render(status.errors())) << str(k);
  return y;
}

TEST(Blocks, TextAndMeaning) {
  for (const std::string& text : {reversed, tree}) {
    const Kernel k = parsed(text);
    EXPECT_EQ(str(k), text);
    EXPECT_TRUE(verify(k).empty()) << render(verify(k));
    const Kernel simple = simplify(k);
    EXPECT_TRUE(verify(simple).empty()) << render(verify(simple)) << str(simple);
    EXPECT_EQ(str(parsed(str(simple))), str(simple));
  }
  for (int64_t n : {0, 1, 5}) {
    const std::vector<float> y = run(parsed(reversed), n, 6, n * 6), z = run(parsed(tree), n, 16, n);
    EXPECT_EQ(run(simplify(parsed(reversed)), n, 6, n * 6), y);
    EXPECT_EQ(run(simplify(parsed(tree)), n, 16, n), z);
    for (int64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (int64_t j = 0; j < 6; ++j)
        EXPECT_EQ(y[static_cast<size_t>(i * 6 + j)], static_cast<float>((i * 6 + 5 - j) % 7) - 2);
      for (int64_t j = 0; j < 16; ++j) sum += static_cast<float>((i * 16 + j) % 7) - 2;
      EXPECT_EQ(z[static_cast<size_t>(i)], sum);
    }
  }
}

TEST(Blocks, Facts) {
  const Kernel k = parsed(tree);
  EXPECT_EQ(threads_of(k), 8);
  EXPECT_EQ(shared_bytes(k), 64);
  EXPECT_EQ(bound_loops(k).size(), 2u);
  EXPECT_FALSE(has_blocks(parsed("kernel k(a: float32[4]), shape (), task t < 4 { a[t] = 1f }")));
}

TEST(Blocks, BoundByNumbers) {
  const BoundKernel bound = bind(parsed(R"(kernel k(a: float32[n, m, 8, 4]), shape (n, m), task t < n {
  for i in 0..m block {
    for x in 0..8 thread {
      for y in 0..4 thread {
        a[t, i, x, y] = 1f
      }
    }
  }
})"));
  EXPECT_EQ(str(bound.kernel), R"(kernel k(a: float32[n, m, 8, 4]), shape (n, m), task block < m * n {
  let t = block // m
  let i = block % m
  let x = thread // 4
  let y = thread % 4
  a[t, i, x, y] = 1f
}
)");
  EXPECT_EQ(scalar::str(bound.per_task), "m");
  EXPECT_EQ(bound.threads, 32);
}

TEST(Blocks, VerifyRefuses) {
  const std::string k = "kernel reversed: ", t = "kernel tree: ";
  EXPECT_EQ(refusal(replaced(reversed, "      barrier\n", "      if j < 3 {\n        barrier\n      }\n")),
            k + "threads may part at condition j < 3, which has a barrier inside");
  EXPECT_EQ(refusal(replaced(reversed, "      barrier\n", "      for s in 0..j {\n        barrier\n      }\n")),
            k + "threads may part at loop s, which has a barrier inside");
  EXPECT_EQ(refusal(replaced(reversed, "      barrier\n",
                             "      let odd = j % 2\n      for s in odd ..+ 2 {\n        barrier\n      }\n")),
            k + "threads may part at loop s, which has a barrier inside");
  EXPECT_EQ(refusal(replaced(reversed, "      barrier\n", "      if x[i, 0] < 0f {\n        barrier\n      }\n")),
            k + "threads may part at condition x[i, 0] < 0f, which has a barrier inside");
  EXPECT_EQ(refusal(replaced(reversed, "      barrier\n", "      if i < 3 {\n        barrier\n      }\n")), "accepted");
  EXPECT_EQ(refusal(replaced(reversed, "alloc row: float32[6] in shared", "alloc row: float32[6] in stack")),
            k + "loop j is over threads, and is inside of something else than loops over blocks and threads");
  EXPECT_EQ(refusal(replaced(reversed, "0..6 thread", "0..n thread")),
            k + "loop j is over threads but its extent n is not constant");
  EXPECT_EQ(refusal(replaced(reversed, "0..6 thread", "1 ..+ 5 thread")),
            k + "loop j is over threads and begins at 1, not at 0");
  EXPECT_EQ(refusal(replaced(reversed, "0..6 thread", "0..2000 thread")),
            k + "a block has 0 threads, or more than 1024");
  EXPECT_EQ(refusal(replaced(reversed, "0..n block", "0..t block")),
            k + "the extent t of loop i over blocks is not known when the kernel is launched");
  EXPECT_EQ(refusal("kernel k(a: float32[4]), shape (), task t < 1 {\n  barrier\n}\n"),
            "kernel k: a barrier is outside of the loops over threads");
  EXPECT_EQ(refusal(replaced(tree, "  for r in 0..2 thread {\n", "  part[0, 0] = 0f\n  for r in 0..2 thread {\n")),
            t + "loop r is over threads, and is inside of something else than loops over blocks and threads");
}

// Faults planted in kernels that are right. Each is found, with both statements.
TEST(Blocks, RacesAreFound) {
  auto found = [](const std::string& text, int64_t row, int64_t results) {
    std::string problem;
    run(parsed(text), 5, row, results, &problem);
    return problem;
  };
  // A missing barrier.
  EXPECT_EQ(found(replaced(reversed, "      barrier\n", ""), 6, 30),
            "kernel reversed: two threads touch row[3] without a barrier between them, and one writes it: "
            "`y[i, j] = row[5 - j]` of thread 2 and `row[j] = x[i, j]` of thread 3");
  // A barrier that a loop lacks: a step reads what the one before adds.
  EXPECT_EQ(found(replaced(tree, "        barrier\n", ""), 16, 5),
            "kernel tree: two threads touch part[0, 1] without a barrier between them, and one writes it: "
            "`part[r, l] = part[r, l] + part[r, l + half]` of thread 0 and "
            "`part[r, l] = part[r, l] + part[r, l + half]` of thread 1");
  // A wrong index: all threads write one element.
  EXPECT_EQ(found(replaced(reversed, "row[j] = x", "row[j // 2] = x"), 6, 30),
            "kernel reversed: two threads touch row[0] without a barrier between them, and one writes it: "
            "`row[j // 2] = x[i, j]` of thread 0 and `row[j // 2] = x[i, j]` of thread 1");
  // Overlapping blocks.
  EXPECT_EQ(found(replaced(reversed, "y[i, j] = row", "y[i // 2, j] = row"), 6, 30),
            "kernel reversed: two blocks touch y[0, 0], and one writes it: `y[i // 2, j] = row[5 - j]` of block 0 and "
            "`y[i // 2, j] = row[5 - j]` of block 1");
  // A result that another thread of the block reads without a barrier.
  EXPECT_EQ(found(replaced(reversed, "      y[i, j] = row[5 - j]\n",
                           "      y[i, j] = row[5 - j]\n      y[i, j] = y[i, 5 - j]\n"),
                  6, 30),
            "kernel reversed: two threads touch y[0, 5] without a barrier between them, and one writes it: "
            "`y[i, j] = row[5 - j]` of thread 5 and `y[i, j] = y[i, 5 - j]` of thread 0");
}

TEST(Blocks, ThreadsThatPartAreFound) {
  std::string problem;
  run(parsed(replaced(reversed, "      barrier\n", "      if j < 3 {\n        barrier\n      }\n")), 1, 6, 6, &problem);
  EXPECT_EQ(
      problem,
      "kernel reversed: threads 0 and 3 part at `if j < 3`, which has a barrier or a shared array inside: j < 3 is "
      "1 and 0");
  run(parsed(replaced(reversed, "      barrier\n", "      for s in 0..j {\n        barrier\n      }\n")), 1, 6, 6,
      &problem);
  EXPECT_EQ(
      problem,
      "kernel reversed: threads 0 and 1 part at `for s in 0..j`, which has a barrier or a shared array inside: j is "
      "0 and 1");
}

}  // namespace
}  // namespace relay::loop
