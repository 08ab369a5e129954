// Runs a kernel compiled and interpreted on equal arrays and compares the results. In compiled runs the arrays are next
// to inaccessible pages, once before and once after each, so that an access outside of an array ends the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "relay/codegen/llvm/llvm.h"
#include "relay/scalar/eval.h"
#include "relay/target/host/host.h"
#include "relay/target/x86/x86.h"

namespace relay::target::testing {

// "native", or an x86 processor whose code is looked at.
inline TargetDesc describe(const std::string& text) {
  Result<TargetDesc> t = (text.starts_with("native") ? host() : x86()).describe(text);
  EXPECT_TRUE(t) << (t ? "" : render(t.errors()));
  return t ? *t : TargetDesc{};
}

inline loop::Kernel parse(const std::string& text) {
  Result<loop::Kernel> k = loop::parse_kernel(text);
  EXPECT_TRUE(k) << (k ? "" : render(k.errors())) << text;
  if (!k) return {};
  Diagnostics errors = loop::verify(*k);
  EXPECT_TRUE(errors.empty()) << render(errors);
  return *k;
}

// The descriptions of this machine and of lesser ones whose code it can run.
inline std::vector<std::pair<const char*, TargetDesc>> runnable_targets() {
  std::vector<std::pair<const char*, TargetDesc>> all;
  all.push_back({"native", describe("native")});
  if (!all[0].second.triple.starts_with("x86_64")) return all;
  if (all[0].second.vector_bytes > 32) all.push_back({"native,-avx512f", describe("native,-avx512f")});
  if (all[0].second.vector_bytes > 16) all.push_back({"native,-avx", describe("native,-avx")});
  return all;
}

// An array whose first or last byte is next to an inaccessible page.
class Guarded {
 public:
  Guarded(const std::string& bytes, bool at_end) : size_(bytes.size()) {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (size_ + page - 1) / page * page;
    base_ = static_cast<char*>(mmap(nullptr, inner_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    page_ = page;
    if (inner_) mprotect(base_ + page, inner_, PROT_READ | PROT_WRITE);
    data_ = base_ + page + (at_end ? inner_ - size_ : 0);
    std::memcpy(data_, bytes.data(), size_);
  }
  Guarded(Guarded&& o) noexcept
      : size_(o.size_), inner_(o.inner_), page_(o.page_), base_(std::exchange(o.base_, nullptr)), data_(o.data_) {}
  ~Guarded() {
    if (base_) munmap(base_, inner_ + 2 * page_);
  }
  void* data() { return data_; }
  std::string bytes() const { return std::string(data_, size_); }

 private:
  size_t size_, inner_, page_;
  char *base_, *data_;
};

inline scalar::Value value_at(const std::string& bytes, DType t, size_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * static_cast<size_t>(t.bytes()), static_cast<size_t>(t.bytes()));
  if (t.is_bool()) return {t, static_cast<int64_t>(bits), 0};
  return scalar::reinterpret(t, scalar::int_value(static_cast<int64_t>(bits), DType{DType::Code::UInt, t.bits}));
}

inline void put(std::string& bytes, DType t, size_t i, const scalar::Value& v) {
  int64_t bits = t.is_bool() ? v.i : scalar::reinterpret(DType{DType::Code::UInt, t.bits}, v).i;
  std::memcpy(bytes.data() + i * static_cast<size_t>(t.bytes()), &bits, static_cast<size_t>(t.bytes()));
}

// Ordinary values, with occasional edge cases of the type. Arrays whose names begin with "index" hold 0 .. 7.
inline scalar::Value random_value(DType t, const std::string& name, bool edges, bool halves, std::mt19937_64& random) {
  if (starts_with(name, "index")) return scalar::convert(t, scalar::int_value(static_cast<int64_t>(random() % 8)));
  bool edge = edges && random() % 4 == 0;
  if (t.is_bool()) return {t, static_cast<int64_t>(random() % 2), 0};
  if (halves)
    return scalar::convert(t, scalar::float_value(static_cast<double>(random() % 9) / 2 - 2, DType::float64()));
  if (t.is_float()) {
    const double special[] = {0,     -0.0,  INFINITY, -INFINITY, NAN,  1,     -1,   0.5, -2.5,
                              1e-40, -3e-8, 65504,    70000,     3e38, -1e10, 1e-5, 100};
    if (edge) return scalar::float_value(special[random() % std::size(special)], t);
    return scalar::float_value(std::uniform_real_distribution<double>(-4, 4)(random), t);
  }
  const int64_t special[] = {0,   1,     -1,     2,         -2,        7,         127,      -128,
                             255, 32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  if (edge) return scalar::int_value(special[random() % std::size(special)], t);
  return scalar::int_value(static_cast<int64_t>(random() % 201) - 100, t);
}

inline bool close(const scalar::Value& a, const scalar::Value& b, double tolerance) {
  if (!a.dtype.is_float()) return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
  return a.f == b.f || std::abs(a.f - b.f) <= tolerance * std::max({std::abs(a.f), std::abs(b.f), 1e-37});
}

// True if the target's code rounds to bfloat16 by an instruction that turns subnormal numbers to zero.
inline bool flushes_bfloat16(const TargetDesc& target) {
  return std::ranges::count(target.features, "+avx512bf16") > 0 && std::ranges::count(target.features, "+avx512vl") > 0;
}

// The number, or zero of its sign if it is subnormal.
inline scalar::Value flushed(scalar::Value v) {
  constexpr double least_normal = 0x1p-126;
  if (v.dtype == DType::bfloat16() && std::abs(v.f) < least_normal) v.f = std::copysign(0.0, v.f);
  return v;
}

struct Options {
  std::vector<int64_t> shape{};
  double tolerance = 0;  // relative
  bool edges = false;
  bool halves = false;  // floats are small multiples of one half
  uint64_t seed = 1;
};

inline void compare(const loop::Kernel& k, const char* target_name, const TargetDesc& target, const Options& o) {
  SCOPED_TRACE(std::string(target_name) + "\n" + loop::str(k).substr(0, 4000));
  std::vector<std::pair<scalar::Expr, int64_t>> sizes;
  for (size_t i = 0; i < o.shape.size(); ++i) sizes.push_back({k.shape_vars[i], o.shape[i]});
  std::mt19937_64 random(o.seed);
  std::vector<std::string> inputs, expected;
  std::vector<int64_t> bytes;
  for (const loop::BufferRef& p : k.params) {
    int64_t n = 1;
    for (const scalar::Expr& e : p->shape) n *= *scalar::evaluate(e, sizes);
    std::string data(static_cast<size_t>(n * p->dtype.bytes()), '\0');
    for (size_t i = 0; i < static_cast<size_t>(n); ++i)
      put(data, p->dtype, i, random_value(p->dtype, p->name, o.edges, o.halves, random));
    inputs.push_back(data);
    bytes.push_back(static_cast<int64_t>(data.size()));
  }
  expected = inputs;
  std::vector<void*> params;
  for (std::string& e : expected) params.push_back(e.data());
  int64_t tasks = *scalar::evaluate(k.tasks, sizes);
  Status status = loop::interpret(k, params, bytes, o.shape, 0, tasks);
  ASSERT_TRUE(status) << (status ? "" : render(status.errors()));
  Result<std::shared_ptr<codegen::KernelLibrary>> library = codegen::jit({&k, 1}, target);
  ASSERT_TRUE(library) << (library ? "" : render(library.errors()));
  std::string scratch(static_cast<size_t>(codegen::scratch_bytes(k)) + 64, '\x5A');
  void* aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  for (bool at_end : {false, true}) {
    std::vector<Guarded> arrays;
    std::vector<void*> pointers;
    for (const std::string& input : inputs) arrays.emplace_back(input, at_end);
    for (Guarded& a : arrays) pointers.push_back(a.data());
    (*library)->find(k.name)(pointers.data(), o.shape.data(), 0, tasks, aligned);
    for (size_t p = 0; p < arrays.size(); ++p) {
      std::string got = arrays[p].bytes();
      DType t = k.params[p]->dtype;
      size_t n = got.size() / static_cast<size_t>(t.bytes()), wrong = 0;
      for (size_t i = 0; i < n && wrong < 5; ++i) {
        scalar::Value a = value_at(got, t, i), b = value_at(expected[p], t, i);
        if (close(a, b, o.tolerance) || (flushes_bfloat16(target) && close(a, flushed(b), 0))) continue;
        ++wrong;
        std::string in;
        for (size_t q = 0; q < inputs.size(); ++q) {
          DType qt = k.params[q]->dtype;
          size_t count = inputs[q].size() / static_cast<size_t>(qt.bytes());
          scalar::Value v = value_at(inputs[q], qt, i % std::max<size_t>(count, 1));
          if (q != p && count)
            in += format(" {}={}", k.params[q]->name, qt.is_float() ? v.f : static_cast<double>(v.i));
        }
        ADD_FAILURE() << k.params[p]->name << "[" << i << "] is " << (t.is_float() ? a.f : static_cast<double>(a.i))
                      << ", not " << (t.is_float() ? b.f : static_cast<double>(b.i)) << " (modulo their sizes:" << in
                      << ")";
      }
    }
  }
}

inline void compare_everywhere(const std::string& text, const Options& options) {
  loop::Kernel k = parse(text);
  for (const auto& [name, target] : runnable_targets()) compare(k, name, target, options);
}

}  // namespace relay::target::testing
