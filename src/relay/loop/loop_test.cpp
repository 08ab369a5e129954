// Tests of the text form of kernels, and of every pass against the interpreter: the arrays must be equal before and
// after.
#include "relay/loop/loop.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "relay/loop/random_kernel.h"
#include "relay/loop/spread.h"
#include "relay/loop/test_kernels.h"

namespace relay::loop {
namespace {

using test::parsed;

// Runs all tasks on arrays filled from `seed` and returns their bytes.
std::string run(const Kernel& k, const std::vector<int64_t>& shape, int seed) {
  std::vector<std::pair<Expr, int64_t>> sizes;
  for (size_t i = 0; i < shape.size(); ++i) sizes.push_back({k.shape_vars[i], shape[i]});
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<std::vector<char>> arrays;
  std::vector<void*> params;
  std::vector<int64_t> bytes;
  for (const BufferRef& p : k.params) {
    int64_t n = 1;
    for (const Expr& e : p->shape) n *= *scalar::evaluate(e, sizes);
    std::vector<char> data(static_cast<size_t>(n * p->dtype.bytes()));
    for (int64_t i = 0; i < n; ++i) {
      int value = static_cast<int>(random() % 9) - 4;
      if (p->dtype == DType::float32()) {
        float f = static_cast<float>(value) / 2;
        std::memcpy(&data[static_cast<size_t>(i * 4)], &f, 4);
      } else {
        int64_t bits = p->dtype.is_bool() ? value > 0 : p->name == "index" ? value + 4 : value;
        std::memcpy(&data[static_cast<size_t>(i * p->dtype.bytes())], &bits, static_cast<size_t>(p->dtype.bytes()));
      }
    }
    arrays.push_back(std::move(data));
    params.push_back(arrays.back().data());
    bytes.push_back(static_cast<int64_t>(arrays.back().size()));
  }
  Status status = interpret(k, params, bytes, shape, 0, *scalar::evaluate(k.tasks, sizes));
  EXPECT_TRUE(status) << (status ? "" : render(status.errors())) << str(k);
  std::string all;
  for (const std::vector<char>& a : arrays) all.append(a.begin(), a.end());
  return all;
}

struct Case {
  const char* name;
  std::vector<int64_t> shape;
  const char* text;
};

const Case cases[] = {
    {"relu", {3, 37}, R"(kernel relu(x: float32[h, w] read, y: float32[h, w]), shape (h, w), task i < h {
  for j in 0..(w + 7) // 8 {
    for l in 0..8 vectorised {
      if j * 8 + l < w {
        y[i, j * 8 + l] = max(x[i, j * 8 + l], 0f)
      }
    }
  }
}
)"},
    {"tile",
     {5},
     R"(kernel tile(a: float32[6, k] read, b: float32[k, 8] read, c: float32[6, 8]), shape (k), task t < 2 {
  alloc acc: float32[3, 8] in register
  for i in 0..3 unrolled {
    for l in 0..8 vectorised {
      acc[i, l] = 0f
    }
  }
  for p in 0..k {
    for i in 0..3 unrolled {
      for l in 0..8 vectorised {
        acc[i, l] = acc[i, l] + a[t * 3 + i, p] * b[p, l]
      }
    }
  }
  for i in 0..3 unrolled {
    for l in 0..8 vectorised {
      c[t * 3 + i, l] = acc[i, l]
    }
  }
}
)"},
    {"padded", {9}, R"(kernel padded(x: float32[n] read, y: float32[n]), shape (n), task t < 1 {
  for j in 0..3 {
    for l in 0..4 vectorised {
      if j * 4 + l < n {
        y[j * 4 + l] = select(1 <= j * 4 + l, x[j * 4 + l - 1], 0f) + select(j * 4 + l + 1 < n, x[j * 4 + l + 1], -1f)
      }
    }
  }
}
)"},
    {"lets",
     {4, 6},
     R"(kernel lets(x: float32[n, m, 2] read, y: float32[n, m], flag: bool[m]), shape (n, m), task i < n {
  for j in 0..m {
    for l in 0..2 unrolled {
      let v = x[i, j, l] * 2f
      if flag[j] {
        y[i, j] = v + select(l == 0, 1f, y[i, j])
      } else {
        y[i, j] = exp(v - v)
      }
    }
  }
}
)"},
    {"gather",
     {8},
     R"(kernel gather(x: float32[9, n] read, index: uint8[n] read, y: float32[n]), shape (n), task t < 1 {
  for l in 0..8 vectorised {
    let c = 7 - l
    y[c] = x[int64(index[l]), c] + x[l // 4, l % 4 * 2]
  }
}
)"},
    {"locals", {3}, R"(kernel locals(x: float32[n, 8] read, y: float32[n, 8], z: int32[n]), shape (n), task i < n {
  for l in 0..8 vectorised {
    alloc t: float32[2] in register
    t[0] = x[i, l]
    t[1] = t[0] * 3f
    y[i, l] = t[1] - t[0]
  }
  {
    alloc s: int32[4] in scratch
    for j in 0..4 {
      s[j] = z[i] + int32(j)
    }
    z[i] = s[3] - s[1] * 2i32
  }
  for l in 0..8 vectorised {
    y[i, 0] = y[i, 0] + float32(l)
  }
  for j in i * 2 ..+ 2 {
    prefetch x[i, j]
  }
}
)"},
    {"hoisted",
     {6, 5},
     R"(kernel hoisted(x: float32[n, 8] read, v: float32[n] read, y: float32[n, 8]), shape (n, m), task i < n {
  for j in 0..8 {
    y[i, j] = x[i, j] * sqrt(abs(v[i]) + 1f) + select(m < 3, v[i + 100], 0f)
  }
  for j in 0..m - 5 {
    y[i, j] = v[i + 100]
  }
}
)"},
};

TEST(LoopText, RoundTrip) {
  for (const Case& c : cases) {
    Kernel k = parsed(c.text);
    EXPECT_EQ(str(k), c.text);
    EXPECT_TRUE(verify(k).empty()) << render(verify(k));
  }
}

TEST(LoopText, ClashingNamesAreNumbered) {
  Kernel k = parsed("kernel k(a: float32[4]), shape (), task t < 1 { for i in 0..2 { a[i] = 1f } }");
  Expr i = scalar::var("i"), again = scalar::var("i");
  k.body = for_(i, scalar::imm(0), scalar::imm(2), ForKind::Serial,
                for_(again, scalar::imm(0), scalar::imm(2), ForKind::Serial,
                     store(k.params[0], {i * 2 + again}, scalar::fimm(1))));
  EXPECT_EQ(str(k.body), "for i in 0..2 {\n  for i_1 in 0..2 {\n    a[i * 2 + i_1] = 1f\n  }\n}\n");
  Kernel read = parsed(str(k));
  EXPECT_EQ(str(read), str(k));
}

TEST(LoopText, Mistakes) {
  const char* texts[] = {
      "kernel k(a: float32[4]), shape (), task t < 1 { a[j] = 1f }",
      "kernel k(a: float32[4]), shape (), task t < 1 { b[0] = 1f }",
      "kernel k(a: float32[4]), shape (), task t < 1 { a[0] = 1f + 1 }",
      "kernel k(a: float99[4]), shape (), task t < 1 { }",
      "kernel k(a: float32[4]), shape (), task t < 1 { a[0, 1] = 1f }",
      "kernel k(a: float32[4]), shape (), task t < 1 { a[0] = foo(1f) }",
      "kernel k(a: float32[4]), shape (), task t < 1 { a[0] = ",
      "kernel",
      "",
  };
  for (const char* text : texts) {
    Result<Kernel> k = parse_kernel(text);
    EXPECT_FALSE(k) << text;
  }
}

TEST(LoopVerify, Mistakes) {
  Kernel k =
      parsed("kernel k(a: float32[4], b: float32[n] read), shape (n), task t < 1 { for i in 0..4 { a[i] = b[i] } }");
  EXPECT_TRUE(verify(k).empty());
  Kernel bad = k;
  bad.body = store(k.params[1], {scalar::imm(0)}, scalar::fimm(1));
  EXPECT_EQ(verify(bad).size(), 1u) << "stores to a read-only array";
  bad.body = store(k.params[0], {scalar::imm(0)}, scalar::imm(1));
  EXPECT_EQ(verify(bad).size(), 1u) << "stores an integer to floats";
  bad.body = store(k.params[0], {scalar::var("x")}, scalar::fimm(1));
  EXPECT_EQ(verify(bad).size(), 1u) << "unbound variable";
  bad.body = for_(scalar::var("x"), scalar::imm(0), k.shape_vars[0], ForKind::Unrolled, block({}));
  EXPECT_EQ(verify(bad).size(), 1u) << "unrolled without a constant extent";
}

TEST(LoopPasses, KeepTheMeaning) {
  struct Pass {
    const char* name;
    Kernel (*run)(const Kernel&);
  };
  const Pass passes[] = {{"unroll", unroll}, {"vectorise", vectorise}, {"simplify", simplify}, {"hoist", hoist}};
  for (const Case& c : cases) {
    Kernel k = parsed(c.text);
    std::string expected = run(k, c.shape, 7);
    Kernel all = k;
    for (const Pass& p : passes) {
      Kernel after = p.run(k);
      EXPECT_TRUE(verify(after).empty()) << render(verify(after)) << str(after);
      EXPECT_EQ(run(after, c.shape, 7), expected) << p.name << " of " << c.name << "\n" << str(after);
      all = p.run(all);
      EXPECT_EQ(run(all, c.shape, 7), expected) << "up to " << p.name << " of " << c.name << "\n" << str(all);
    }
    // The result of the passes can be parsed, too.
    EXPECT_EQ(str(parsed(str(all))), str(all));
  }
}

TEST(LoopPasses, KeepTheMeaningOfRandomKernels) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Kernel k = random_kernel(seed);
    ASSERT_TRUE(verify(k).empty()) << render(verify(k)) << str(k);
    std::string expected = run(k, {3}, static_cast<int>(seed));
    Kernel read = parsed(str(k));
    ASSERT_EQ(str(read), str(k));
    ASSERT_EQ(run(read, {3}, static_cast<int>(seed)), expected) << str(k);
    Kernel before = k;
    for (Kernel (*pass)(const Kernel&) : {unroll, vectorise, simplify, hoist, simplify}) {
      Kernel after = pass(before);
      ASSERT_TRUE(verify(after).empty()) << render(verify(after)) << str(after);
      ASSERT_EQ(run(after, {3}, static_cast<int>(seed)), expected) << "seed " << seed << "\n"
                                                                   << str(before) << "became\n"
                                                                   << str(after);
      before = after;
    }
  }
}

TEST(LoopPasses, VectoriseMakesRampsAndMasks) {
  Kernel k = vectorise(parsed(cases[0].text));
  EXPECT_EQ(str(k.body), R"(for j in 0..(w + 7) // 8 {
  y[i, ramp(j * 8, 1, 8)] = max(x[i, ramp(j * 8, 1, 8)], broadcast(0f, 8)) if ramp(j * 8, 1, 8) < broadcast(w, 8)
}
)");
}

TEST(LoopPasses, HoistMovesWhatIsSafe) {
  Kernel k = hoist(simplify(parsed(cases[6].text)));
  EXPECT_EQ(str(k.body), R"({
  let h = sqrt(abs(v[i]) + 1f)
  let h_1 = select(m < 3, v[i + 100], 0f)
  for j in 0..8 {
    y[i, j] = x[i, j] * h + h_1
  }
}
for j in 0..m - 5 {
  y[i, j] = v[i + 100]
}
)");
}

// Runs the tasks of the spread kernel from the last to the first: their order must not matter.
std::string run_backwards(const Kernel& k, const std::vector<int64_t>& shape, int seed) {
  Kernel turned = k;
  turned.task = scalar::var("turned");
  turned.body = let(k.task, k.tasks - 1 - turned.task, k.body);
  return run(turned, shape, seed);
}

TEST(LoopPasses, SpreadKeepsTheMeaning) {
  int spread_kernels = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Kernel k = random_kernel(seed);
    const FineTasks fine = spread(k);
    if (scalar::is_int(fine.per_task, 1)) continue;
    ++spread_kernels;
    ASSERT_TRUE(verify(fine.kernel).empty()) << render(verify(fine.kernel)) << str(fine.kernel);
    ASSERT_EQ(run_backwards(fine.kernel, {3}, static_cast<int>(seed)), run(k, {3}, static_cast<int>(seed)))
        << "seed " << seed << "\n"
        << str(k) << "became\n"
        << str(fine.kernel);
  }
  EXPECT_GT(spread_kernels, 50);
}

TEST(LoopPasses, SpreadMovesIndependentLoopsIntoTheTask) {
  const FineTasks fine = spread(parsed(R"(kernel k(x: float32[n, 8, 4], y: float32[n, 8, 4]), shape (n), task i < n {
  for j in 0..4 {
    for c in 0..2 {
      for l in 0..4 {
        y[i, j * 2 + c, l] = x[i, j * 2 + c, 3 - l]
      }
    }
  }
})"));
  EXPECT_TRUE(scalar::is_int(fine.per_task, 32)) << scalar::str(fine.per_task);
  EXPECT_EQ(scalar::str(fine.kernel.tasks), "n * 32");
}

// Loops whose iterations share elements stay: sums in memory, shifted writes, indices that are read.
TEST(LoopPasses, SpreadLeavesLoopsThatShareElements) {
  for (const char* body : {"y[i, 0] = y[i, 0] + x[i, j]", "y[i, j] = x[i, j] y[i, j + 1] = x[i, j]",
                           "y[i, index[j]] = x[i, j]", "y[i, j] = y[i, 7 - j]"}) {
    const FineTasks fine = spread(parsed(format(
        "kernel k(x: float32[n, 8], index: int64[8], y: float32[n, 9]), shape (n), task i < n {{\n  for j in 0..8 "
        "{{ {} }}\n}}",
        body)));
    EXPECT_TRUE(scalar::is_int(fine.per_task, 1)) << body;
  }
}

TEST(LoopInterpret, ReportsIndicesOutside) {
  Kernel k = parsed("kernel k(a: float32[4]), shape (), task t < 1 { a[t + 4] = 1f }");
  float a[4] = {};
  Status status = interpret(k, {a}, {16}, {}, 0, 1);
  ASSERT_FALSE(status);
  EXPECT_NE(render(status.errors()).find("a[4] is outside of 4"), std::string::npos) << render(status.errors());
}

}  // namespace
}  // namespace relay::loop
