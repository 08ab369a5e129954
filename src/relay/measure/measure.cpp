#include "relay/measure/measure.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "relay/runtime/threads/thread_pool.h"

namespace relay::measure {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Keeps a value that the optimiser would otherwise find unused.
static volatile float sink;

// Twelve independent chains hide the latency of a multiply-add (4 cycles, two per cycle) and fit in every register
// file.
#define RELAY_FMA_LOOP(name, bytes, features)                                                      \
  typedef float name##_vector __attribute__((vector_size(bytes)));                                 \
  features __attribute__((noinline)) static void name(int64_t rounds) {                            \
    constexpr int chains = 12;                                                                     \
    name##_vector acc[chains] = {}, a = {}, b = {};                                                \
    a += 0.999f, b += 0.001f;                                                                      \
    for (int64_t i = 0; i < rounds; ++i) {                                                         \
      _Pragma("clang loop unroll(full)") for (int c = 0; c < chains; ++c) acc[c] = acc[c] * a + b; \
      asm volatile("" : "+m"(sink));                                                               \
    }                                                                                              \
    for (int c = 1; c < chains; ++c) acc[0] += acc[c];                                             \
    sink = acc[0][0];                                                                              \
  }
#if defined(__x86_64__)
RELAY_FMA_LOOP(fma_64, 64, __attribute__((target("avx512f"))))
RELAY_FMA_LOOP(fma_32, 32, __attribute__((target("avx2,fma"))))
#endif
RELAY_FMA_LOOP(fma_16, 16, )
#undef RELAY_FMA_LOOP

namespace {
struct FmaLoop {
  void (*run)(int64_t) = fma_16;
  int bytes = 16;
  double operations(int64_t rounds) const { return static_cast<double>(rounds) * 12 * (bytes / 4) * 2; }
};
}  // namespace

static FmaLoop fma_loop([[maybe_unused]] int vector_bytes) {
#if defined(__x86_64__)
  if (vector_bytes >= 64 && __builtin_cpu_supports("avx512f")) return {fma_64, 64};
  if (vector_bytes >= 32 && __builtin_cpu_supports("fma")) return {fma_32, 32};
#endif
  return {};
}

double measure_fma_gflops(int vector_bytes) {
  const FmaLoop loop = fma_loop(vector_bytes);
  constexpr int64_t rounds = 4000;
  double best = 1e30;
  for (double end = now() + 0.2; now() < end;) {
    double begin = now();
    loop.run(rounds);
    best = std::min(best, now() - begin);
  }
  return loop.operations(rounds) / best * 1e-9;
}

double measure_fma_gflops_now(int vector_bytes, int threads) {
  const FmaLoop loop = fma_loop(vector_bytes);
  runtime::ThreadPool::Session session(runtime::ThreadPool::global());
  constexpr int64_t rounds = 20000;  // about 70 us
  double best = 1e30;
  for (int sample = 0; sample < 3; ++sample) {
    double begin = now();
    session.parallel(threads, [&](int64_t from, int64_t to, int) { loop.run(rounds * (to - from)); }, threads);
    best = std::min(best, now() - begin);
  }
  return loop.operations(rounds) * threads / best * 1e-9;
}

// Sums of vectors, eight at a time: `size` is a multiple of 512 bytes.
#define RELAY_READ_LOOP(name, bytes, features)                                            \
  typedef uint64_t name##_vector __attribute__((vector_size(bytes)));                     \
  features __attribute__((noinline)) static void name(const char* memory, int64_t size) { \
    name##_vector sums[8] = {};                                                           \
    for (int64_t i = 0; i < size; i += 8 * bytes)                                         \
      _Pragma("clang loop unroll(full)") for (int k = 0; k < 8; ++k) sums[k] +=           \
          *reinterpret_cast<const name##_vector*>(memory + i + k * bytes);                \
    for (int k = 1; k < 8; ++k) sums[0] += sums[k];                                       \
    sink = static_cast<float>(sums[0][0]);                                                \
    asm volatile("" ::: "memory");                                                        \
  }
#if defined(__x86_64__)
RELAY_READ_LOOP(read_64, 64, __attribute__((target("avx512f"))))
RELAY_READ_LOOP(read_32, 32, __attribute__((target("avx2"))))
#endif
RELAY_READ_LOOP(read_16, 16, )
#undef RELAY_READ_LOOP

namespace {
// Memory that is read at a core's full speed, all of it or a part: with the widest vectors, as kernels do.
class ReadLoop {
 public:
  static constexpr int64_t step = 512;  // bytes
  explicit ReadLoop(int64_t bytes) : memory_(static_cast<size_t>(bytes / step)) {
    for (Step& s : memory_) std::fill(std::begin(s.words), std::end(s.words), 1);
#if defined(__x86_64__)
    read_ = __builtin_cpu_supports("avx512f") ? read_64 : __builtin_cpu_supports("avx2") ? read_32 : read_16;
#endif
  }
  int64_t steps() const { return static_cast<int64_t>(memory_.size()); }
  double bytes() const { return static_cast<double>(steps() * step); }

  void run(int64_t begin, int64_t end) const {
    read_(reinterpret_cast<const char*>(memory_.data() + begin), (end - begin) * step);
  }
  void run() const { run(0, steps()); }

 private:
  struct alignas(64) Step {
    uint64_t words[step / 8];
  };
  std::vector<Step> memory_;
  void (*read_)(const char*, int64_t) = read_16;
};
}  // namespace

std::vector<double> measure_machine_runs(int vector_bytes, int threads, double us, int64_t bytes, double seconds) {
  const FmaLoop multiply_add = fma_loop(vector_bytes);
  const ReadLoop read(std::min<int64_t>(bytes, int64_t{1} << 26));  // larger than any cache
  runtime::ThreadPool::Session session(runtime::ThreadPool::global());
  auto run = [&](int64_t steps, int64_t rounds) {
    const double begin = now();
    session.parallel(
        threads,
        [&](int64_t from, int64_t to, int) {
          read.run(steps * from / threads, steps * to / threads);
          multiply_add.run(rounds * (to - from));
        },
        threads);
    return (now() - begin) * 1e6;
  };
  // At most half of the time is spent on reading, the rest on arithmetic.
  run(read.steps(), 0);
  const double all = run(read.steps(), 0), part = std::min(1.0, 0.5 * us / all);
  const double gflops = measure_fma_gflops_now(vector_bytes, 1);
  const int64_t steps = static_cast<int64_t>(part * static_cast<double>(read.steps()));
  const int64_t rounds =
      std::max<int64_t>(1, static_cast<int64_t>((us - part * all) * gflops * 1e3 / multiply_add.operations(1)));
  std::vector<double> times;
  for (double end = now() + seconds; times.empty() || now() < end;) times.push_back(run(steps, rounds));
  return times;
}

double measure_read_gbps(int64_t bytes) {
  const ReadLoop read(bytes);
  // Small buffers are read several times per sample, so that the clock does not matter.
  int repeat = static_cast<int>(std::max<int64_t>(1, (1 << 20) / bytes));
  double best = 1e30;
  for (double end = now() + 0.2; now() < end;) {
    double begin = now();
    for (int r = 0; r < repeat; ++r) read.run();
    best = std::min(best, now() - begin);
  }
  return read.bytes() * repeat / best * 1e-9;
}

double measure_read_gbps_after(int64_t bytes, double seconds) {
  const ReadLoop read(bytes);
  std::vector<double> took;
  for (int sample = 0; sample < 7; ++sample) {
    read.run(), read.run();
    for (double end = now() + seconds; now() < end;) {
    }
    const double begin = now();
    read.run();
    took.push_back(now() - begin);
  }
  std::sort(took.begin(), took.end());
  return read.bytes() / took[took.size() / 2] * 1e-9;
}

double measure_region_us() {
  runtime::ThreadPool& pool = runtime::ThreadPool::global();
  runtime::ThreadPool::Session session(pool);
  constexpr int regions = 20;
  double best = std::numeric_limits<double>::infinity();
  for (double end = now() + 0.2; now() < end;) {
    const int64_t stolen = pool.stolen();
    double begin = now();
    for (int i = 0; i < regions; ++i) session.parallel(pool.size(), [](int64_t, int64_t, int) {});
    double took = now() - begin;
    if (pool.stolen() == stolen) best = std::min(best, took);  // otherwise a worker was missing
  }
  return best / regions * 1e6;
}

// Does not use getrusage(), where a process begins with the peak of its parent.
int64_t peak_memory_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    int64_t kib = 0;
    if (word == "VmHWM:" && file >> kib) return kib * 1024;
  }
  return 0;
}

}  // namespace relay::measure
