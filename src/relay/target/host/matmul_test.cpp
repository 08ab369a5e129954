// The register tile of a matrix product: its assembly for several processors and its result on this one.
#include "relay/target/host/kernel_testing.h"

namespace relay::target {
namespace {

using testing::describe;

// c = a * b by tiles of rows x (vectors * lanes), b packed in panels of that width; bias and relu on the tile. A task
// is one tile of rows.
std::string matmul(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t vectors, int64_t lanes) {
  return format(
      R"(kernel matmul(a: float32[{m}, {k}] read, b: float32[{n} // {width}, {k}, {width}] read, bias: float32[{n}] read, c: float32[{m}, {n}]), shape (), task t < {m} // {rows} {{
  for j in 0..{n} // {width} {{
    alloc acc: float32[{rows}, {width}] in register
    for i in 0..{rows} unrolled {{ for v in 0..{vectors} unrolled {{ for l in 0..{lanes} vectorised {{
      acc[i, v * {lanes} + l] = bias[j * {width} + v * {lanes} + l]
    }} }} }}
    for p in 0..{k} {{
      for i in 0..{rows} unrolled {{ for v in 0..{vectors} unrolled {{ for l in 0..{lanes} vectorised {{
        acc[i, v * {lanes} + l] = acc[i, v * {lanes} + l] + a[t * {rows} + i, p] * b[j, p, v * {lanes} + l]
      }} }} }}
    }}
    for i in 0..{rows} unrolled {{ for v in 0..{vectors} unrolled {{ for l in 0..{lanes} vectorised {{
      c[t * {rows} + i, j * {width} + v * {lanes} + l] = max(acc[i, v * {lanes} + l], 0f)
    }} }} }}
  }}
}}
)",
      fmt::arg("m", m), fmt::arg("n", n), fmt::arg("k", k), fmt::arg("rows", rows), fmt::arg("vectors", vectors),
      fmt::arg("lanes", lanes), fmt::arg("width", vectors * lanes));
}

struct Counts {
  int fma = 0, stack = 0, loads = 0, broadcasts = 0, max = 0, instructions = 0;
};

// Counts in the innermost loop: from the last label before the first multiply-add to the jump after the last one. `max`
// and `stack` are those of the whole function.
Counts count(const std::string& assembly) {
  std::vector<std::string_view> lines = split(assembly, '\n');
  auto has = [](std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; };
  size_t first = lines.size(), last = 0;
  Counts c;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (has(lines[i], "vfmadd")) first = std::min(first, i), last = i;
    bool vector = has(lines[i], "%zmm") || has(lines[i], "%ymm");
    if (vector && (has(lines[i], "(%rsp") || has(lines[i], "(%rbp"))) ++c.stack;
    if (vector && has(lines[i], "vmaxps")) ++c.max;
  }
  while (first > 0 && !starts_with(lines[first], ".LBB")) --first;
  while (last < lines.size() && !has(lines[last], "\tj")) ++last;
  for (size_t i = first; i <= last && i < lines.size(); ++i) {
    if (has(lines[i], "vfmadd")) ++c.fma;
    if (has(lines[i], "vbroadcastss")) ++c.broadcasts;
    if (has(lines[i], "vmovups") && has(lines[i], "(%r")) ++c.loads;
    if (starts_with(lines[i], "\t") && !starts_with(lines[i], "\t.")) ++c.instructions;
  }
  return c;
}

TEST(Matmul, TilesStayInRegisters) {
  struct Tile {
    const char* target;
    int rows, vectors, lanes;
  };
  for (Tile t : {Tile{"zen4", 14, 2, 16},
                 {"sapphirerapids", 14, 2, 16},
                 {"skylake-avx512", 9, 3, 16},
                 {"zen4", 6, 4, 16},
                 {"haswell", 6, 2, 8},
                 {"haswell", 4, 3, 8},
                 {"zen4,-avx512f", 6, 2, 8}}) {
    loop::Kernel k = testing::parse(matmul(t.rows * 4, t.vectors * t.lanes * 3, 64, t.rows, t.vectors, t.lanes));
    Result<std::string> assembly = codegen::assembly_text(k, describe(t.target));
    ASSERT_TRUE(assembly) << render(assembly.errors());
    SCOPED_TRACE(*assembly);
    Counts c = count(*assembly);
    EXPECT_EQ(c.fma, t.rows * t.vectors) << t.target;
    EXPECT_EQ(c.broadcasts, t.rows) << t.target;
    EXPECT_EQ(c.loads, t.vectors) << t.target;
    EXPECT_EQ(c.stack, 0) << t.target;
    EXPECT_EQ(c.max, t.rows * t.vectors) << "a relu is one instruction";
    EXPECT_LE(c.instructions, t.rows * t.vectors + t.rows + t.vectors + 5) << t.target;
  }
}

// c = a * b of 12 rows and slightly more than 16 columns: one whole vector and `rest` lanes after it.
std::string matmul_with_rest(int64_t k, int64_t rest) {
  return format(
      R"(kernel matmul(a: float32[12, {k}] read, b: float32[{k}, 32] read, c: float32[12, 32]), shape (), task t < 1 {{
  alloc acc: float32[12, 32] in register
  for i in 0..12 unrolled {{
    for l in 0..16 vectorised {{ acc[i, l] = 0f }}
    for l in 0..{rest} vectorised {{ acc[i, 16 + l] = 0f }}
  }}
  for p in 0..{k} {{
    for i in 0..12 unrolled {{
      for l in 0..16 vectorised {{ acc[i, l] = acc[i, l] + a[i, p] * b[p, l] }}
      for l in 0..{rest} vectorised {{ acc[i, 16 + l] = acc[i, 16 + l] + a[i, p] * b[p, 16 + l] }}
    }}
  }}
  for i in 0..12 unrolled {{
    for l in 0..16 vectorised {{ c[i, l] = acc[i, l] }}
    for l in 0..{rest} vectorised {{ c[i, 16 + l] = acc[i, 16 + l] }}
  }}
}}
)",
      fmt::arg("k", k), fmt::arg("rest", rest));
}

// Every multiply-add takes the number of the left factor from memory.
TEST(Matmul, NarrowVectorsReadForThemselves) {
  for (int64_t rest : {1, 8}) {
    loop::Kernel k = testing::parse(matmul_with_rest(64, rest));
    Result<std::string> assembly = codegen::assembly_text(k, describe("zen4"));
    ASSERT_TRUE(assembly) << render(assembly.errors());
    SCOPED_TRACE(*assembly);
    Counts c = count(*assembly);
    EXPECT_EQ(c.fma, 24);
    EXPECT_EQ(c.broadcasts, 0);
    EXPECT_EQ(c.stack, 0);
    EXPECT_LE(c.instructions, 24 + 2 + 5);
    for (const auto& [name, target] : testing::runnable_targets())
      if (target.vector_registers == 32 && target.vector_bytes == 64)
        testing::compare(k, name, target, {.shape = {}, .tolerance = 1e-4});
  }
}

TEST(Matmul, Result) {
  for (const auto& [name, target] : testing::runnable_targets()) {
    int64_t lanes = target.vector_bytes / 4, rows = target.vector_registers == 32 ? 14 : 6;
    testing::compare(testing::parse(matmul(rows * 2, 2 * lanes * 2, 33, rows, 2, lanes)), name, target,
                     {.shape = {}, .tolerance = 1e-4});
  }
}

}  // namespace
}  // namespace relay::target
