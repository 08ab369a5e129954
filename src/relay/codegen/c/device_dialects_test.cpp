// HIP C++ and Metal: the text, what is refused, and the results of kernels. A C++ compiler takes both languages with
// the stand-ins below, so that their kernels run here, by the threads of blocks of threads, against the interpreter.
#include <dlfcn.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "relay/codegen/c/c_source.h"
#include "relay/codegen/codegen.h"
#include "relay/codegen/scalar_form.h"
#include "relay/loop/random_kernel.h"
#include "relay/loop/test_kernels.h"

namespace relay::codegen {
namespace {

using loop::test::parsed;

TEST(Hip, Text) {
  const std::string text = hip_source({{parsed(loop::test::reversed_rows("n"))}});
  EXPECT_EQ(text.substr(text.find("extern")),
            R"(extern "C" __global__ __launch_bounds__(6) void kernel_reversed(const float *x, float *y, long long n, )"
            R"(long long begin, long long end) {
  __shared__ float row[6];
  __shared__ float row_2[6];
  const long long thread_2 = (long long)threadIdx.x;
  for (long long group = begin * n + (long long)blockIdx.x; group < end * n; group += (long long)gridDim.x) {
    const long long block = (long long)group;
    const long long i = block;
    const long long j = thread_2;
    row[j] = x[i * 12 + j];
    __syncthreads();
    y[i * 12 + (j + 6)] = row[5 - j];
    row_2[j] = x[i * 12 + (j + 6)];
    __syncthreads();
    y[i * 12 + j] = row_2[5 - j];
    __syncthreads();
  }
}
)");
}

TEST(Metal, Text) {
  const std::string text = metal_source({{parsed(loop::test::reversed_rows("n"))}});
  EXPECT_EQ(text.substr(text.find("[[max")),
            R"([[max_total_threads_per_threadgroup(6)]] kernel void kernel_reversed(device const float *x )"
            R"([[buffer(0)]], device float *y [[buffer(1)]], constant long *sizes [[buffer(2)]],
    uint item_id [[thread_position_in_grid]], uint items [[threads_per_grid]],
    uint thread_id [[thread_position_in_threadgroup]],
    uint group_id [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]) {
  threadgroup float row[6];
  threadgroup float row_2[6];
  const long n = sizes[0];
  const long begin = sizes[1];
  const long end = sizes[2];
  const long thread_2 = (long)thread_id;
  for (long group = begin * n + (long)group_id; group < end * n; group += (long)groups) {
    const long block = (long)group;
    const long i = block;
    const long j = thread_2;
    row[j] = x[i * 12 + j];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i * 12 + (j + 6)] = row[5 - j];
    row_2[j] = x[i * 12 + (j + 6)];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i * 12 + j] = row_2[5 - j];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
)");
}

TEST(Metal, Refused) {
  auto problem = [](const std::string& text) { return metal_problem(parsed(text)).value_or(""); };
  EXPECT_EQ(problem("kernel k(x: float64[4] read, y: float64[4]), shape (), task t < 4 {\n  y[t] = x[t] * 2f64\n}\n"),
            "it computes float64");
  EXPECT_EQ(problem("kernel k(x: float32[4] read, y: float32[4]), shape (), task t < 4 {\n  y[t] = x[t] // 3f\n}\n"),
            "it computes floordiv of float32");
  std::string arrays, sum = "a0[t]";
  for (int i = 0; i < 29; ++i) arrays += format("a{}: float32[4] read, ", i);
  for (int i = 1; i < 29; ++i) sum += format(" + a{}[t]", i);
  EXPECT_EQ(problem(format("kernel k({}y: float32[4]), shape (), task t < 4 {{\n  y[t] = {}\n}}\n", arrays, sum)),
            "it has 30 arrays, and Metal allows 31 with sizes and scratch memory");
  EXPECT_EQ(problem("kernel k(x: float16[4] read, y: float16[4]), shape (), task t < 4 {\n  y[t] = x[t] * 2f16\n}\n"),
            "");
}

// --- results ---------------------------------------------------------------------------------------------------------

// Threads of a block run at once, and blocks one after another, so that shared arrays may be static.
const char* const common = R"(
#include <math.h>
#include <pthread.h>
#include <string.h>
struct Array { void *memory; template <typename T> operator T *() const { return (T *)memory; } };
static pthread_barrier_t block_barrier;
template <typename Run> struct Thread { Run *run; unsigned block, number; };
template <typename Run> void *run_thread(void *given) {
  Thread<Run> &t = *(Thread<Run> *)given;
  (*t.run)(t.block, t.number);
  return nullptr;
}
template <typename Run> void run_grid(unsigned blocks, unsigned threads, Run run) {
  pthread_t *running = new pthread_t[threads];
  Thread<Run> *given = new Thread<Run>[threads];
  for (unsigned b = 0; b < blocks; ++b) {
    pthread_barrier_init(&block_barrier, nullptr, threads);
    for (unsigned t = 0; t < threads; ++t) {
      given[t] = {&run, b, t};
      pthread_create(&running[t], nullptr, run_thread<Run>, &given[t]);
    }
    for (unsigned t = 0; t < threads; ++t) pthread_join(running[t], nullptr);
    pthread_barrier_destroy(&block_barrier);
  }
  delete[] running;
  delete[] given;
}
)";

const char* const hip_stand_in = R"(
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(n)
struct Index { unsigned x; };
static thread_local Index threadIdx, blockIdx, blockDim, gridDim;
static void __syncthreads() { pthread_barrier_wait(&block_barrier); }
static float __int_as_float(int b) { float v; memcpy(&v, &b, 4); return v; }
)";

const char* const metal_stand_in = R"(
#define kernel
#define device
#define constant const
#define threadgroup static
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
namespace metal {
enum class mem_flags { mem_device = 1, mem_threadgroup = 2 };
static mem_flags operator|(mem_flags a, mem_flags) { return a; }
static void threadgroup_barrier(mem_flags) { pthread_barrier_wait(&block_barrier); }
template <typename To, typename From> static To as_type(From from) { To to; memcpy(&to, &from, sizeof to); return to; }
}
)";

struct Language {
  const char *name, *stand_in;
  std::string (*source)(std::span<const loop::Kernel>);
  // The body of a lambda of `b` and `t`, the numbers of a block and of a thread in it, that calls kernel $K with $A,
  // its arrays and scratch memory.
  const char* call;
  bool sizes_in_array;
};

const Language languages[] = {
    {"hip", hip_stand_in, hip_source,
     "blockIdx = {b}, threadIdx = {t}, blockDim = {threads}, gridDim = {blocks}; $K($A);", false},
    {"metal", metal_stand_in, metal_source, "$K($A, b * threads + t, blocks * threads, t, b, blocks);", true}};

void replace(std::string& text, const std::string& mark, const std::string& with) {
  for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), with);
}

// The text that calls a kernel with arrays, and sizes that end with the first and the last task.
std::string caller(const Language& language, const loop::Kernel& kernel, const std::string& source) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kernel.params.size(); ++i) arguments.push_back(format("Array{{arrays[{}]}}", i));
  if (language.sizes_in_array) arguments.push_back("(const long *)sizes");
  for (size_t i = 0; !language.sizes_in_array && i < kernel.shape_vars.size() + 2; ++i)
    arguments.push_back(format("sizes[{}]", i));
  const std::string name = "kernel_" + kernel.name;
  const size_t head = source.find(name + "("), end = source.find("{\n", head);
  if (source.substr(head, end - head).find("scratch_memory") != std::string::npos)
    arguments.push_back(format("Array{{arrays[{}]}}", kernel.params.size()));
  std::string call = language.call;
  replace(call, "$K", name), replace(call, "$A", format("{}", join(arguments, ", ")));
  return format(
      "extern \"C\" void call_{}(void *const *arrays, const long long *sizes, unsigned blocks, unsigned threads) {{\n"
      "  run_grid(blocks, threads, [=](unsigned b, unsigned t) {{ {} }});\n}}\n",
      kernel.name, call);
}

struct Library {
  void* handle = nullptr;
  ~Library() {
    if (handle) dlclose(handle);
  }
};

void compile(const Language& language, std::span<const loop::Kernel> kernels, Library& out) {
  static int number = 0;  // a file of a name that was loaded before would not be read again
  const std::string base = format("{}relay_{}_{}", ::testing::TempDir(), language.name, ++number);
  std::string source = language.source(kernels);
  for (const loop::Kernel& k : kernels) source += caller(language, k, source);
  replace(source, "#include <metal_stdlib>\n", "");
  std::ofstream(base + ".cpp") << common << language.stand_in << source;
  const std::string command =
      format("c++ -std=c++17 -O0 -ffp-contract=off -w -shared -fPIC -pthread {0}.cpp -o {0}.so 2> {0}.said", base);
  ASSERT_EQ(std::system(command.c_str()), 0) << std::ifstream(base + ".said").rdbuf();
  out.handle = dlopen((base + ".so").c_str(), RTLD_NOW);
  for (const char* end : {".cpp", ".so", ".said"}) unlink((base + end).c_str());
  ASSERT_NE(out.handle, nullptr) << dlerror();
}

using Arrays = std::vector<std::vector<uint8_t>>;

// Runs a kernel of the library and the interpreter on the same arrays, and compares all of them.
void expect_same(const Library& library, const loop::Kernel& kernel, const Arrays& arrays,
                 const std::vector<int64_t>& shape, int64_t tasks, const char* language) {
  Arrays want = arrays, got = arrays;
  std::vector<void*> params, places;
  std::vector<int64_t> bytes;
  for (std::vector<uint8_t>& a : want) params.push_back(a.data()), bytes.push_back(static_cast<int64_t>(a.size()));
  const Status meant = loop::interpret(kernel, params, bytes, shape, 0, tasks);
  ASSERT_TRUE(meant) << render(meant.errors());
  const DeviceForm form = device_form(kernel, true);
  const unsigned blocks = 2, threads = form.thread ? static_cast<unsigned>(form.threads) : 3;
  got.emplace_back(static_cast<size_t>(scratch_bytes(kernel)) * blocks * threads);
  for (std::vector<uint8_t>& a : got) places.push_back(a.data());
  std::vector<long long> sizes(shape.begin(), shape.end());
  sizes.insert(sizes.end(), {0, tasks});
  const auto call = reinterpret_cast<void (*)(void* const*, const long long*, unsigned, unsigned)>(
      dlsym(library.handle, ("call_" + kernel.name).c_str()));
  ASSERT_NE(call, nullptr);
  call(places.data(), sizes.data(), blocks, threads);
  got.pop_back();
  EXPECT_EQ(got, want) << language << "\n" << loop::str(kernel);
}

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<uint8_t> out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

TEST(DeviceDialects, RandomKernels) {
  constexpr uint64_t count = 30;
  std::vector<loop::Kernel> kernels;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    kernels.push_back(loop::random_kernel(seed));
    kernels.back().name = format("k{}", seed);
  }
  kernels.push_back(parsed(loop::test::reversed_rows("n")));
  constexpr int64_t rows = 5;
  std::vector<float> x(rows * 24);
  std::vector<int32_t> index(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 7 % 17) - 8) / 2;
  for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int32_t>(i * 5 % 24);
  const std::vector<float> none(x.size());
  for (const Language& language : languages) {
    Library library;
    ASSERT_NO_FATAL_FAILURE(compile(language, kernels, library));
    for (const loop::Kernel& kernel : kernels) {
      Arrays arrays;
      for (const loop::BufferRef& b : kernel.params)
        arrays.push_back(b->name == "index" ? bytes_of(index) : bytes_of(b->name == "x" ? x : none));
      const bool has_blocks = loop::str(kernel).find(" block {") != std::string::npos;
      const int64_t n = has_blocks ? rows * 2 : rows;
      expect_same(library, kernel, arrays, {n}, has_blocks ? 1 : n, language.name);
    }
  }
}

// Conversions between widths, where each language has functions of its own: halves to even, saturation, NaN.
TEST(DeviceDialects, Conversions) {
  const loop::Kernel kernel =
      parsed(R"(kernel narrowed(i: int64[24] read, f: float32[24] read, h: float16[24], b: bfloat16[24], c: )"
             R"(float16[24], s: int8[24], u: uint16[24], l: int64[24], m: bfloat16[24]), shape (), task t < 24 {
  h[t] = float16(i[t])
  b[t] = bfloat16(i[t])
  c[t] = float16(f[t])
  s[t] = int8(f[t])
  u[t] = uint16(f[t])
  l[t] = int64(f[t])
  m[t] = bfloat16(f[t]) * bfloat16(f[t])
}
)");
  const std::vector<int64_t> i{0,
                               1,
                               -1,
                               2049,
                               2051,
                               -2049,
                               65504,
                               65519,
                               65520,
                               -65520,
                               1 << 24,
                               (1 << 24) + 1,
                               257,
                               259,
                               385,
                               -259,
                               1LL << 40,
                               (1LL << 40) + (1LL << 32),
                               (1LL << 40) + (1LL << 32) + 1,
                               -3,
                               33,
                               INT64_MAX,
                               INT64_MIN,
                               INT64_MAX - 5};
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> f{0.f,     -0.f,  1.5f,    -1.5f,   127.9f, 128.f,   -128.9f, 65535.5f,
                             65536.f, 3e9f,  -3e9f,   9.3e18f, -1e19f, inf,     -inf,    std::nanf(""),
                             1e-8f,   6e-8f, 2.9e-8f, 0.1f,    2049.f, 65520.f, 1e-40f,  3.14159f};
  const std::vector<uint16_t> halves(24);
  Arrays arrays{bytes_of(i),      bytes_of(f),      bytes_of(halves),
                bytes_of(halves), bytes_of(halves), std::vector<uint8_t>(24),
                bytes_of(halves), bytes_of(i),      bytes_of(halves)};
  for (const Language& language : languages) {
    Library library;
    ASSERT_NO_FATAL_FAILURE(compile(language, {{kernel}}, library));
    expect_same(library, kernel, arrays, {}, 24, language.name);
  }
}

TEST(DeviceDialects, FloatsOf64Bits) {
  const loop::Kernel kernel =
      parsed(R"(kernel narrowed(x: float64[8] read, h: float16[8], b: bfloat16[8], i: int32[8], q: float64[8]), shape )"
             R"((), task t < 8 {
  h[t] = float16(x[t])
  b[t] = bfloat16(x[t])
  i[t] = int32(x[t])
  q[t] = x[t] // 3f64
}
)");
  const std::vector<double> x{0, 2049.0000000001, -2049, 2047.9999999999, 1e300, -1e-300, 1.00390625000001, 7};
  const std::vector<uint16_t> halves(8);
  Library library;
  ASSERT_NO_FATAL_FAILURE(compile(languages[0], {{kernel}}, library));
  expect_same(library, kernel,
              {bytes_of(x), bytes_of(halves), bytes_of(halves), bytes_of(std::vector<int32_t>(8)), bytes_of(x)}, {}, 8,
              "hip");
}

}  // namespace
}  // namespace relay::codegen
