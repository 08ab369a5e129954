// Compiled kernels against the interpreter: accesses, masks, guards, control flow, local arrays.
#include "relay/loop/random_kernel.h"
#include "relay/target/host/kernel_testing.h"

namespace relay::target {
namespace {

using testing::compare_everywhere;
using testing::describe;

TEST(Kernels, MaskedTail) {
  for (int lanes : {4, 8, 16, 32})
    for (int64_t n : {0, 1, 15, 16, 17, 50})
      compare_everywhere(format(R"(kernel relu(x: float32[h, n] read, y: float32[h, n]), shape (h, n), task i < h {{
  for j in 0..(n + {0} - 1) // {0} {{
    for l in 0..{0} vectorised {{
      if j * {0} + l < n {{
        y[i, j * {0} + l] = max(x[i, j * {0} + l], 0f) + y[i, j * {0} + l]
      }}
    }}
  }}
}}
)",
                                lanes),
                         {.shape = {3, n}, .edges = true});
}

TEST(Kernels, GuardedLoads) {
  compare_everywhere(
      R"(kernel padded(x: float32[h, w] read, c: float32[3] read, y: float32[h, w], z: float32[h, w]), shape (h, w), task i < h {
  for j in 0..(w + 7) // 8 {
    for l in 0..8 vectorised {
      if j * 8 + l < w {
        y[i, j * 8 + l] = select(1 <= i && 1 <= j * 8 + l, x[i - 1, j * 8 + l - 1], 0f) + select(i + 1 < h && j * 8 + l + 1 < w, x[i + 1, j * 8 + l + 1] * c[2], -1f)
      }
    }
  }
  for j in 0..w {
    z[i, j] = select(2 <= j, x[i, j - 2], 3f) + select(j + 100 < w, c[j + 100], select(1 <= i, x[i - 1, j], 0f))
  }
}
)",
      {.shape = {4, 21}});
}

// The result of a load under one guard is used inside it, and not where zeros are needed elsewhere.
TEST(Kernels, GuardsInsideOfGuards) {
  compare_everywhere(
      R"(kernel nested(a: float32[48] read, c: bool[48] read, d: bool[48] read, y: float32[48], z: float32[48]), shape (), task t < 1 {
  for j in 0..3 {
    for l in 0..16 vectorised {
      y[j * 16 + l] = a[j * 16 + l] + select(c[j * 16 + l], a[j * 16 + l], 0f)
    }
    for l in 0..16 vectorised {
      z[j * 16 + l] = select(c[j * 16 + l], a[j * 16 + l] * 2f + select(d[j * 16 + l], a[j * 16 + l], 0f) + select(a[j * 16 + l] < 0f, 1f, a[j * 16 + l]), 5f)
    }
  }
  for i in 0..48 {
    y[i] = y[i] + select(c[i], a[i] + select(d[i], a[i], 0f), 0f)
    z[i] = z[i] + a[i] + select(d[i], a[i], 0f)
  }
}
)",
      {});
}

TEST(Kernels, GatherStrideReverse) {
  compare_everywhere(
      R"(kernel gather(x: float32[n, 40] read, index: int32[64] read, y: float32[n, 16], z: int8[n, 8], b: int8[n, 16] read), shape (n), task i < n {
  for l in 0..16 vectorised {
    y[i, l] = x[i, 15 - l] + x[i, l * 2] * x[i, int64(index[l])] + x[i, l // 4] + x[i, l % 3]
  }
  for l in 0..8 vectorised {
    z[i, 7 - l] = b[i, l * 2 + 1] + z[i, 7 - l]
  }
  for l in 0..8 vectorised {
    y[i, l * 2] = y[i, l * 2] + select(index[l + 8] < 4i32, x[i, int64(index[l + 8]) + 36], 1f)
  }
}
)",
      {.shape = {5}, .tolerance = 1e-5});
}

// Indices divided by constants: a base plus lane numbers, numbers that are known to be small, a divisor larger than all
// lanes, one for which no multiplication of 32 bits is exact.
TEST(Kernels, LanesDivided) {
  compare_everywhere(
      R"(kernel divided(x: float32[n, 64] read, index: int32[64] read, y: float32[n, 16], z: int64[n, 16]), shape (n), task i < n {
  for o in 0..3 {
    for l in 0..16 vectorised {
      y[i, l] = y[i, l] + x[i, (i * 16 + l + o) % 3] * x[i, (o * 16 + l * 3) // 7] + x[i, (o * 7 + l) % 60]
    }
  }
  for l in 0..16 vectorised {
    z[i, l] = (i * 1000003 + l * 99991) // 13 + (i * 65537 + l * 134217000) % 2147483629 + (i - 3 + l) // 5 * 1000 + (int64(index[l]) % 7 - l) % 11
  }
}
)",
      {.shape = {5}, .tolerance = 1e-5});
}

// Shifts whose amount is known to be below the width, and others.
TEST(Kernels, Shifts) {
  compare_everywhere(
      R"(kernel shifts(index: int32[64] read, y: int64[n, 16], z: uint32[n, 16]), shape (n), task i < n {
  for l in 0..16 vectorised {
    y[i, l] = shr(i * 1000003 - l * 99991, bitand(l * 5 + i, 63)) + shl(l - 3, bitand(l * 7 - i, 31)) + shr(i - l, l * 9)
  }
  for l in 0..16 {
    y[i, l] = y[i, l] + shr(y[i, l], bitand(int64(index[l]) - i, 63)) + shl(i + l, bitand(i - 9, 63)) + shl(l, i * 40)
    z[i, l] = shr(uint32(y[i, l]), bitand(uint32(index[l]), 31u32))
  }
}
)",
      {.shape = {5}});
}

// Lanes at constant distances: within one vector, within two, at a few places further apart, under a mask.
TEST(Kernels, LanesOfGroups) {
  compare_everywhere(
      R"(kernel groups(x: float32[n, 64] read, w: float64[n, 40] read, y: float32[n, 16], z: float64[n, 8]), shape (n), task i < n {
  for o in 0..2 {
    for l in 0..16 vectorised {
      if l < 15 {
        y[i, l] = y[i, l] + x[i, (o * 15 + l) // 3 * 2 + 1] * x[i, l // 2 * 4 + o] + x[i, l // 5 * 20 + o] - x[i, l % 4 * 3] + x[i, l * 4] + select(l < 9, x[i, l * 2 + 3], 0f)
      }
    }
  }
  for l in 0..8 vectorised {
    z[i, l] = w[i, l // 2] * w[i, l // 4 * 32] + w[i, l * 2 + 25]
  }
}
)",
      {.shape = {5}, .tolerance = 1e-5});
}

// Numbers that are adjacent, broadcast, or offset by their sign bit; and others, which are assembled: every second one,
// under a condition, sums. On machines with and without the instructions.
TEST(Kernels, DotProducts) {
  for (int lanes : {1, 4, 8, 16, 32})
    compare_everywhere(
        format(
            R"(kernel dots(a: uint8[3, 40] read, s: int8[3, 40] read, w: int8[10, {0}, 4] read, v: int8[40, {0}] read, c: int32[{0}], d: int32[{0}], e: int32[{0}], f: int32[{0}]), shape (), task t < 1 {{
  for k in 0..10 {{
    for l in 0..{0} vectorised {{
      c[l] = c[l] + dot_int32(a[0, 4 * k], a[0, 4 * k + 1], a[0, 4 * k + 2], a[0, 4 * k + 3], w[k, l, 0], w[k, l, 1], w[k, l, 2], w[k, l, 3])
      d[l] = dot_int32(as_uint8(bitxor(s[1, 4 * k], -128i8)), as_uint8(bitxor(s[1, 4 * k + 1], -128i8)), as_uint8(bitxor(s[1, 4 * k + 2], -128i8)), as_uint8(bitxor(s[1, 4 * k + 3], -128i8)), w[k, l, 0], w[k, l, 1], w[k, l, 2], w[k, l, 3]) + d[l]
      e[l] = e[l] + dot_int32(a[2, k], a[2, k + 10], a[2, k + 20], a[2, k + 30], v[k, l], v[k + 10, l], v[k + 20, l], v[k + 30, l])
      f[l] = f[l] + dot_int32(select(k < 7, a[1, 4 * k], 0u8), select(k < 7, a[1, 4 * k + 1], 0u8), select(k < 7, a[1, 4 * k + 2], 0u8), a[1, 4 * k + 3], v[4 * k, l], v[4 * k + 1, l], v[4 * k + 2, l], v[4 * k + 3, l])
    }}
  }}
}}
)",
            lanes),
        {.edges = true});
  // Small multiples of one half: exact for any order of the sums.
  compare_everywhere(
      R"(kernel pairs(a: bfloat16[40] read, w: bfloat16[20, 16, 2] read, c: float32[16], d: float32[16]), shape (), task t < 1 {
  for k in 0..20 {
    for l in 0..16 vectorised {
      c[l] = c[l] + dot_float32(a[2 * k], a[2 * k + 1], w[k, l, 0], w[k, l, 1])
      d[l] = dot_float32(a[39 - 2 * k], a[38 - 2 * k], w[k, l, 1], w[k, l, 0]) + d[l]
    }
  }
}
)",
      {.halves = true});
}

TEST(Kernels, RegistersStackScratch) {
  compare_everywhere(R"(kernel sums(x: float32[n, 64] read, y: float32[n], z: float32[n, 64]), shape (n), task i < n {
  alloc acc: float32[16] in register
  for l in 0..16 vectorised {
    acc[l] = 0f
  }
  for j in 0..4 {
    for l in 0..16 vectorised {
      acc[l] = acc[l] + x[i, j * 16 + l]
    }
  }
  for l in 0..8 vectorised {
    acc[l] = acc[l] + acc[l + 8]
  }
  for l in 0..4 vectorised {
    acc[l] = acc[l] + acc[l + 4]
  }
  for l in 1 ..+ 3 unrolled {
    acc[0] = acc[0] + acc[l]
  }
  y[i] = acc[0]
  alloc s: float32[64] in stack
  alloc t: float32[8, 9] in scratch
  for j in 0..64 {
    s[63 - j] = x[i, j] * y[i]
    t[j % 8, j // 8] = x[i, j]
  }
  {
    alloc u: int64[8] in scratch
    for j in 0..8 {
      u[j] = j * 3 % 8
    }
    for j in 0..8 {
      for l in 0..8 vectorised {
        z[i, j * 8 + l] = s[j * 8 + l] + t[u[j], l]
      }
    }
  }
}
)",
                     {.shape = {3}, .tolerance = 1e-5});
}

// Squares transposed in registers: rows of 4 to 16 lanes, fewer rows than lanes and more, a store in between.
TEST(Kernels, ColumnsOfRegisters) {
  for (const auto& [name, target] : testing::runnable_targets())
    for (const auto& [type, suffix, bytes] :
         {std::tuple{"float32", "f", 4}, {"float64", "f64", 8}, {"int32", "i32", 4}, {"float16", "f16", 4}})
      for (int width : {4, 8, 16})
        for (int rows : {3, 8, 16}) {
          const int registers = rows * std::max(1, width * bytes / target.vector_bytes);
          if (registers > target.vector_registers) continue;
          testing::compare(testing::parse(format(
                               R"(kernel turn(x: {0}[n, {1}, {2}] read, y: {0}[n, {2}, 16]), shape (n), task i < n {{
  alloc t: {0}[{1}, {2}] in register
  for r in 0..{1} unrolled {{ for l in 0..{2} vectorised {{ t[r, l] = x[i, r, l] }} }}
  for c in 0..{2} unrolled {{ for l in 0..16 vectorised {{ if l < {1} {{ y[i, c, l] = select(l < {1}, t[l, c], 0{3}) }} }} }}
  for l in 0..{2} vectorised {{ t[0, l] = x[i, {1} - 1, l] }}
  for c in 0..2 unrolled {{ for l in 0..4 vectorised {{ if l < {1} {{ y[i, c, l] = select(l < {1}, t[l, c], 0{3}) }} }} }}
}})",
                               type, rows, width, suffix)),
                           name, target, {.shape = {3}, .tolerance = 0});
        }
}

// Lanes that read a few runs: two or four rows in turn, every fourth element, and a tail of either.
TEST(Kernels, RunsOfLanes) {
  for (const char* lanes : {"l < 16", "l < 11"})
    for (const char* at :
         {"i, l % 2, l // 2 + 3", "i, l % 4, l // 4", "i, 1, l * 4", "i, 3, 63 - l * 4", "i, l // 8, l % 8 * 5"})
      compare_everywhere(format(R"(kernel runs(x: float32[n, 4, 64] read, y: float32[n, 16]), shape (n), task i < n {{
  for l in 0..16 vectorised {{ if {0} {{ y[i, l] = select({0}, x[{1}], 0f) }} }}
}})",
                                lanes, at),
                         {.shape = {3}, .tolerance = 0});
}

TEST(Kernels, MaskedRegisters) {
  compare_everywhere(R"(kernel masked(x: float32[k, n] read, y: float32[n]), shape (k, n), task t < (n + 15) // 16 {
  alloc acc: float32[16] in register
  for l in 0..16 vectorised {
    acc[l] = 0f
  }
  for p in 0..k {
    for l in 0..16 vectorised {
      if t * 16 + l < n {
        if 0f < x[p, t * 16 + l] {
          acc[l] = acc[l] + x[p, t * 16 + l]
        } else {
          acc[l] = acc[l] - 1f
        }
      }
    }
  }
  for l in 0..16 vectorised {
    if t * 16 + l < n {
      y[t * 16 + l] = acc[l]
    }
  }
}
)",
                     {.shape = {7, 37}, .tolerance = 1e-5});
}

// A maximum, NaN included, is a comparison and a masked instruction, and begins with its first value.
TEST(Kernels, MaximaOfWindows) {
  const std::string text = R"(kernel pool(x: float32[5, 16] read, y: float32[16]), shape (), task t < 1 {
  alloc m: float32[16] in register
  for l in 0..16 vectorised { m[l] = -inff }
  for k in 0..5 unrolled {
    for l in 0..16 vectorised { m[l] = max(m[l], x[k, l]) }
  }
  for l in 0..16 vectorised { y[l] = m[l] }
}
)";
  compare_everywhere(text, {.shape = {}, .edges = true});
  Result<std::string> assembly = codegen::assembly_text(testing::parse(text), describe("zen4"));
  ASSERT_TRUE(assembly) << render(assembly.errors());
  auto count = [&](const std::string& what) {
    int n = 0;
    for (size_t at = assembly->find(what); at != std::string::npos; at = assembly->find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("vmaxps"), 4) << *assembly;
  EXPECT_EQ(count("vcmp"), 4) << *assembly;
  EXPECT_EQ(count("vblend") + count("vmov"), 2) << *assembly;  // the first value and the result
}

TEST(Kernels, ControlFlow) {
  compare_everywhere(
      R"(kernel control(x: int32[n, 8] read, count: int64[1], flag: bool[n], y: int32[n, 8], f: float32[n]), shape (n), task i < n {
  for j in 0..8 {
    if flag[i] && x[i, j] < 3i32 {
      y[i, j] = x[i, j]
    } else {
      if j < 4 {
        y[i, j] = -1i32
      }
    }
  }
  for j in 0..n - 5 {
    y[i, 0] = y[i, 0] + int32(j)
  }
  for j in i ..+ 8 - i {
    let v = x[i, j] * 2i32
    y[i, j] = y[i, j] + v
    let w = v + 1i32
    y[i, 7] = y[i, 7] + w
  }
  flag[i] = 0f < f[i]
  count[0] = count[0] + 1
}
)",
      {.shape = {6}});
}

TEST(Kernels, VectorFlags) {
  compare_everywhere(
      R"(kernel flags(a: float32[n] read, b: float32[n] read, p: bool[n] read, q: bool[n], y: float32[n]), shape (n), task t < 1 {
  for j in 0..(n + 15) // 16 {
    for l in 0..16 vectorised {
      if j * 16 + l < n {
        q[j * 16 + l] = a[j * 16 + l] < b[j * 16 + l] && p[j * 16 + l] || q[j * 16 + l]
        y[j * 16 + l] = select(p[j * 16 + l], a[j * 16 + l], select(not(q[j * 16 + l]), b[j * 16 + l], 1f))
      }
    }
  }
}
)",
      {.shape = {41}, .edges = true});
}

TEST(Kernels, Random) {
  std::vector<std::pair<const char*, TargetDesc>> targets = testing::runnable_targets();
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const auto& [name, target] = targets[seed % targets.size()];
    testing::compare(loop::random_kernel(seed), name, target,
                     {.shape = {static_cast<int64_t>(seed % 5)}, .halves = true, .seed = seed});
    if (HasFailure()) break;
  }
}

TEST(Kernels, SeveralInThreads) {
  std::vector<loop::Kernel> kernels;
  for (int i = 0; i < 6; ++i)
    kernels.push_back(
        testing::parse(format("kernel k{0}(x: float32[4]), shape (), task t < 4 {{ x[t] = x[t] + {0}f }}", i)));
  Result<std::shared_ptr<codegen::KernelLibrary>> library = codegen::jit(kernels, testing::describe("native"), 2);
  ASSERT_TRUE(library);
  for (int i = 0; i < 6; ++i) {
    float x[4] = {1, 2, 3, 4};
    void* params[] = {x};
    (*library)->find(format("k{}", i))(params, nullptr, 1, 3, nullptr);
    EXPECT_EQ(x[0], 1);
    EXPECT_EQ(x[1], 2 + static_cast<float>(i));
    EXPECT_EQ(x[3], 4);
  }
  EXPECT_EQ((*library)->find("other"), nullptr);
}

TEST(Kernels, RegisterBuffersThatCannotBe) {
  TargetDesc haswell = testing::describe("haswell");
  auto refusal = [&](const char* text) {
    Result<std::string> code = codegen::object_file({{testing::parse(text)}}, haswell);
    return code ? "accepted" : render(code.errors());
  };
  EXPECT_NE(refusal(R"(kernel k(y: float32[4]), shape (), task t < 4 {
  alloc r: float32[4] in register
  for j in 0..4 { r[j] = 1f }
  y[t] = r[0]
})")
                .find("r is accessed at r[j]"),
            std::string::npos);
  EXPECT_NE(refusal(R"(kernel k(y: float32[16]), shape (), task t < 4 {
  alloc r: float32[16] in register
  for l in 0..8 vectorised { r[l] = 1f }
  for l in 0..8 vectorised { y[l] = r[l + 4] }
})")
                .find("overlaps"),
            std::string::npos);
  EXPECT_NE(refusal(R"(kernel k(y: float32[17, 8]), shape (), task t < 4 {
  alloc r: float32[17, 8] in register
  for i in 0..17 unrolled { for l in 0..8 vectorised { r[i, l] = 1f } }
  for i in 0..17 unrolled { for l in 0..8 vectorised { y[i, l] = r[i, l] } }
})")
                .find("needs 17 vector registers"),
            std::string::npos);
  EXPECT_NE(refusal(R"(kernel k(y: float32[8]), shape (), task t < 1 {
  alloc r: float32[8, 8] in register
  for l in 0..8 vectorised { r[l, 2] = 1f }
  for l in 0..8 vectorised { y[l] = r[l, 2] }
})")
                .find("r is accessed at r["),
            std::string::npos);
}

}  // namespace
}  // namespace relay::target
