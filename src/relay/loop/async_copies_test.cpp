// Asynchronous copies: their text, their meaning, what verify() refuses, and the faults that interpret() finds.
#include "relay/loop/async_copies.h"

#include <gtest/gtest.h>

#include "relay/loop/test_kernels.h"

namespace relay::loop::of_copies {
namespace {

using test::parsed;
using test::refusal;
using test::replaced;

// Rows of a matrix, reversed, through three places in shared memory: while a row is stored, two are copied.
const std::string reversed =
    R"(kernel reversed(x: float32[n, 8] read, y: float32[n, 8]), shape (n), task t < 1 {
  alloc rows: float32[3, 8] in shared
  for j in 0..2 thread {
    for s in 0..2 {
      if s < n {
        async 4 rows[s, j * 4] = x[s, j * 4]
      }
      commit
    }
    for i in 0..n {
      wait 1
      barrier
      if i + 2 < n {
        async 4 rows[(i + 2) % 3, j * 4] = x[i + 2, j * 4]
      }
      commit
      for c in 0..4 {
        y[i, j * 4 + c] = rows[i % 3, 7 - j * 4 - c]
      }
    }
  }
}
)";

std::vector<float> run(const Kernel& k, int64_t n, std::string* problem = nullptr) {
  std::vector<float> x(static_cast<size_t>(n * 8)), y(static_cast<size_t>(n * 8));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11) - 3;
  const Status status = interpret(k, {x.data(), y.data()}, {n * 32, n * 32}, {n}, 0, 1);
  if (problem)
    *problem = status ? "" : status.errors()[0].message;
  else
    EXPECT_TRUE(status) << (status ? "" : render(status.errors())) << str(k);
  return y;
}

std::string fault(const std::string& text) {
  std::string problem;
  run(parsed(text), 5, &problem);
  return problem;
}

TEST(AsyncCopies, TextAndMeaning) {
  const Kernel k = parsed(reversed);
  EXPECT_EQ(refusal(reversed), "accepted");
  EXPECT_EQ(str(parsed(str(k))), str(k));
  EXPECT_EQ(async_copy_bytes(k), std::vector<int64_t>{16});
  const Kernel simple = simplify(k);
  EXPECT_TRUE(verify(simple).empty()) << str(simple);
  EXPECT_EQ(str(parsed(str(simple))), str(simple));
  for (int64_t n : {0, 1, 2, 7}) {
    const std::vector<float> y = run(k, n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < 8; ++j)
        EXPECT_EQ(y[static_cast<size_t>(i * 8 + j)], static_cast<float>((i * 8 + 7 - j) % 11) - 3);
    EXPECT_EQ(run(simple, n), y);
  }
}

// Stores instead of the copies mean the same.
TEST(AsyncCopies, Synchronous) {
  Kernel k = parsed(reversed);
  k.body = rewrite(
      k.body, [](const Stmt& s) { return s->kind == StmtKind::AsyncCopy ? synchronous(s) : s; },
      [](const Expr& e) { return e; });
  EXPECT_TRUE(async_copy_bytes(k).empty());
  EXPECT_EQ(run(k, 5), run(parsed(reversed), 5));
}

TEST(AsyncCopies, VerifyRefuses) {
  const std::string k = "kernel reversed: ", copy = "async 4 rows[s, j * 4] = x[s, j * 4]";
  EXPECT_EQ(refusal(replaced(reversed, copy, "async 3 rows[s, j * 4] = x[s, j * 4]")),
            k + "an asynchronous copy to rows has 12 bytes, not 4, 8 or 16");
  EXPECT_EQ(
      refusal(replaced(reversed, copy, "async 4 rows[s, j * 4] = y[s, j * 4]")),
      k + "y is copied asynchronously to rows, and such copies are from arrays that are only read to shared ones");
  EXPECT_EQ(refusal(replaced(reversed, "in shared", "in stack")),
            k + "loop j is over threads, and is inside of something else than loops over blocks and threads");
  EXPECT_EQ(refusal(replaced(reversed, "x: float32", "x: int32")), k + "x, of int32, is copied to rows, of float32");
  EXPECT_EQ(refusal("kernel k(a: float32[4]), shape (), task t < 1 {\n  commit\n}\n"),
            "kernel k: a commit is outside of the loops over threads");
  EXPECT_EQ(refusal("kernel k(a: float32[4]), shape (), task t < 1 {\n  wait 0\n}\n"),
            "kernel k: a wait is outside of the loops over threads");
}

TEST(AsyncCopies, ParseErrors) {
  for (const auto& [text, message] :
       {std::pair<const char*, const char*>{"async 4 row[0] = 1f", "an element of an array"},
        {"async j row[0] = x[0]", "expected a number"},
        {"async 4 row[0, 1] = x[0]", "row has 1 dimension, 2 given"},
        {"wait", "expected an expression"}}) {
    const Result<Kernel> k =
        parse_kernel(format("kernel k(x: float32[8] read), shape (), task t < 1 {{\n  alloc row: "
                            "float32[8] in shared\n  for j in 0..2 thread {{\n    {}\n  }}\n}}\n",
                            text));
    ASSERT_FALSE(k) << text;
    EXPECT_NE(k.errors()[0].message.find(message), std::string::npos) << k.errors()[0].message;
  }
}

// Faults planted in a kernel that is right. Each is found.
TEST(AsyncCopies, FaultsAreFound) {
  EXPECT_EQ(fault(reversed), "");
  // A missing wait, and one that leaves too many groups under way.
  const std::string unwaited =
      "kernel reversed: `y[i, j * 4 + c] = rows[i % 3, 7 - j * 4 - c]` of thread 0 touches rows[0, 7] before thread 1 "
      "waits for `async 4 rows[s, j * 4] = x[s, j * 4]`";
  EXPECT_EQ(fault(replaced(reversed, "      wait 1\n", "")), unwaited);
  EXPECT_EQ(fault(replaced(reversed, "wait 1", "wait 2")), unwaited);
  // A missing commit: nothing is waited for.
  EXPECT_EQ(fault(replaced(reversed, "      commit\n    }\n    for i", "    }\n    for i")), unwaited);
  // A missing barrier: the copies of other threads are not ordered with the reads.
  EXPECT_EQ(fault(replaced(reversed, "      barrier\n", "")),
            "kernel reversed: two threads touch rows[0, 4] without a barrier between them, and one writes it: "
            "`y[i, j * 4 + c] = rows[i % 3, 7 - j * 4 - c]` of thread 0 and `async 4 rows[s, j * 4] = x[s, j * 4]` of "
            "thread 1");
  // The place that is filled is still read.
  const std::string problem = fault(replaced(reversed, "rows[(i + 2) % 3, j * 4]", "rows[(i + 1) % 3, j * 4]"));
  EXPECT_NE(problem.find("touches rows[1, 0] before thread 0 waits for"), std::string::npos) << problem;
  // A copy that nothing waits for.
  EXPECT_EQ(fault(replaced(reversed, "i + 2 < n", "i + 2 <= n")).substr(0, 20), "kernel reversed: x[5");
  const std::string late = replaced(reversed, "    for i in 0..n {\n", "    for i in 0..n - 1 {\n");
  EXPECT_NE(fault(late).find("a block ends before `async 4 rows[(i + 2) % 3, j * 4] = x[i + 2, j * 4]`"),
            std::string::npos)
      << fault(late);
  // A copy that does not begin at a multiple of its bytes.
  EXPECT_EQ(fault(replaced(reversed, "async 4 rows[s, j * 4] = x[s, j * 4]", "async 4 rows[s, j * 4] = x[s, 2]")),
            "kernel reversed: `async 4 rows[s, j * 4] = x[s, 2]` begins at x[0, 2], which is not at a multiple of its "
            "16 bytes");
}

}  // namespace
}  // namespace relay::loop::of_copies
