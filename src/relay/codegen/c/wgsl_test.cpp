// Kernels as WGSL: the text, and what is refused. make test-wasm compiles and runs such text.
#include <gtest/gtest.h>

#include "relay/codegen/c/c_source.h"
#include "relay/codegen/codegen.h"
#include "relay/loop/test_kernels.h"

namespace relay::codegen {
namespace {

using loop::test::parsed;

TEST(Wgsl, Elements) {
  const loop::Kernel kernel = parsed(
      R"(kernel clipped(x: float32[3, 50] read, n: int32[50] read, y: float32[3, 50]), shape (), task t < 3 {
  for i in 0..50 {
    y[t, i] = select(n[i] < int32(i), max(x[t, i], -inff), rsqrt(x[t, i]) * 2f + 1f)
  }
}
)");
  EXPECT_EQ(wgsl_source({{kernel}}).text,
            R"(// Kernels on arrays in one memory. `relay_array_N`: the first word of a kernel's N-th array.
@group(0) @binding(0) var<storage, read_write> memory: array<u32>;
override relay_array_0: i32 = 0;
override relay_array_1: i32 = 0;
override relay_array_2: i32 = 0;
var<private> relay_infinity: u32 = 0x7f800000u;

fn relay_floordiv_i32(a: i32, b: i32) -> i32 { if (b == 0) { return 0; } if (b == -1) { return -a; } let r = a % b; return a / b - select(0, 1, (r != 0) & ((r < 0) != (b < 0))); }

fn relay_floormod_i32(a: i32, b: i32) -> i32 { if ((b == 0) | (b == -1)) { return 0; } let r = a % b; return select(r, r + b, (r != 0) & ((r < 0) != (b < 0))); }

fn relay_max_f32(a: f32, b: f32) -> f32 { return select(b, a, (a > b) | ((bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u)); }

fn relay_multiply_add_f32(a: f32, b: f32, c: f32) -> f32 { return fma(a, b, c); }


// --- kernel_clipped
@compute @workgroup_size(64)
fn kernel_clipped(@builtin(global_invocation_id) item_id: vec3<u32>,
    @builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_id) thread_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let x: i32 = relay_array_0;
  let n: i32 = relay_array_1;
  let y: i32 = relay_array_2;
  for (var item: i32 = i32(item_id.x); item < 150; item += i32(groups.x) * 64) {
    let item_2: i32 = item;
    let t: i32 = relay_floordiv_i32(item_2, 50);
    let i: i32 = relay_floormod_i32(item_2, 50);
    memory[y + t * 50 + i] = bitcast<u32>(select(relay_multiply_add_f32(1.0f / sqrt(bitcast<f32>(memory[x + t * 50 + i])), 2.0f, 1.0f), relay_max_f32(bitcast<f32>(memory[x + t * 50 + i]), -bitcast<f32>(relay_infinity)), bitcast<i32>(memory[n + i]) < i));
  }
}
)");
}

TEST(Wgsl, Blocks) {
  const loop::Kernel kernel = parsed(loop::test::reversed_rows("9"));
  const WgslSource source = wgsl_source({{kernel}});
  EXPECT_EQ(source.launches[0].groups, 9);
  EXPECT_EQ(source.text,
            R"(// Kernels on arrays in one memory. `relay_array_N`: the first word of a kernel's N-th array.
@group(0) @binding(0) var<storage, read_write> memory: array<u32>;
override relay_array_0: i32 = 0;
override relay_array_1: i32 = 0;


// --- kernel_reversed
var<workgroup> kernel_reversed_row: array<f32, 6>;
var<workgroup> kernel_reversed_row_2: array<f32, 6>;
@compute @workgroup_size(6)
fn kernel_reversed(@builtin(global_invocation_id) item_id: vec3<u32>,
    @builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_id) thread_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let x: i32 = relay_array_0;
  let y: i32 = relay_array_1;
  let thread: i32 = i32(thread_id.x);
  for (var group: i32 = i32(group_id.x); group < 9; group += i32(groups.x)) {
    let block: i32 = group;
    let i: i32 = block;
    let j: i32 = thread;
    kernel_reversed_row[j] = bitcast<f32>(memory[x + i * 12 + j]);
    workgroupBarrier();
    memory[y + i * 12 + (j + 6)] = bitcast<u32>(kernel_reversed_row[5 - j]);
    kernel_reversed_row_2[j] = bitcast<f32>(memory[x + i * 12 + (j + 6)]);
    workgroupBarrier();
    memory[y + i * 12 + j] = bitcast<u32>(kernel_reversed_row_2[5 - j]);
    workgroupBarrier();
  }
}
)");
}

TEST(Wgsl, ScratchMemoryOfAllThreads) {
  const loop::Kernel kernel = parsed(R"(kernel sums(x: float32[100, 8] read, y: float32[100]), shape (), task t < 100 {
  alloc row: float32[8] in scratch
  for i in 0..8 {
    row[i] = x[t, i] * 2f
  }
  y[t] = row[0]
  for i in 0..7 {
    y[t] = y[t] + row[1 + i]
  }
}
)");
  const WgslSource source = wgsl_source({{kernel}});
  EXPECT_EQ(source.launches[0].groups, 2);                   // of 64 threads
  EXPECT_EQ(source.launches[0].scratch_bytes, 2 * 64 * 64);  // 32 bytes, aligned
  EXPECT_NE(source.text.find("override relay_scratch: i32 = 0;"), std::string::npos) << source.text;
}

// Sums with 1.5 * 2^23, and no others, are roundings, which a compiler could leave out.
TEST(Wgsl, RoundsByAFunction) {
  const loop::Kernel kernel = parsed(
      R"(kernel rounded(x: float32[4] read, y: float32[4], n: int32[4], z: float32[4]), shape (), task t < 4 {
  y[t] = x[t] * 3f + 12582912f - 12582912f
  n[t] = as_int32(x[t] + 12582912f)
  z[t] = x[t] + 12582912f - 12582913f
}
)");
  const std::string text = wgsl_source({{kernel}}).text;
  auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("memory[y + t] = bitcast<u32>(round(bitcast<f32>(memory[x + t]) * 3.0f));")) << text;
  EXPECT_TRUE(
      has("memory[n + t] = bitcast<u32>(relay_to_i32_of_f32(round(bitcast<f32>(memory[x + t]))) + 1262485504);"))
      << text;
  EXPECT_TRUE(has("memory[z + t] = bitcast<u32>(bitcast<f32>(memory[x + t]) + 12582912.0f - 12582913.0f);")) << text;
}

TEST(Wgsl, Refused) {
  auto problem = [](const std::string& text) { return wgsl_problem(parsed(text)).value_or(""); };
  EXPECT_EQ(problem("kernel k(x: int8[4] read, y: float32[4]), shape (), task t < 4 {\n  y[t] = float32(x[t])\n}\n"),
            "array `x` has elements of type int8");
  EXPECT_EQ(problem("kernel k(x: float32[n] read, y: float32[n]), shape (n), task t < n {\n  y[t] = x[t]\n}\n"),
            "its sizes are not constant");
  EXPECT_EQ(problem("kernel k(x: float32[4000000000] read, y: float32[4000000000]), shape (), task t < 4000000000 {\n"
                    "  y[t] = x[t]\n}\n"),
            "its indices need more than 32 bits");
  EXPECT_EQ(problem("kernel k(x: float32[4] read, y: float32[4]), shape (), task t < 4 {\n"
                    "  y[t] = float32(float64(x[t]) * 2f64)\n}\n"),
            "it computes float64");
  EXPECT_EQ(problem("kernel k(x: float32[4] read, y: float32[4]), shape (), task t < 4 {\n  y[t] = x[t]\n}\n"), "");
}

}  // namespace
}  // namespace relay::codegen
