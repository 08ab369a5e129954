#include "compare.h"

#include <algorithm>
#include <cmath>

namespace relay::proofs {

namespace {

// A unit in the last place of the largest finite value.
double unit(const Tensor& t) {
  double largest = 0;
  for (int64_t i = 0; i < t.elements(); ++i)
    if (std::isfinite(t.at(i))) largest = std::max(largest, std::abs(t.at(i)));
  const DType type = t.dtype();
  const int bits = type == DType::float64() ? 52 : type == DType::float32() ? 23 : type == DType::float16() ? 10 : 7;
  return largest > 0 ? std::ldexp(1, std::ilogb(largest) - bits) : 0;
}

// `least`: the least unit that is allowed, whatever the results are.
Problem difference(const Tensor& got, const Tensor& want, double ulps, bool signs, double least = 0) {
  if (got.shape() != want.shape() || got.dtype() != want.dtype())
    return format("({}) {} for ({}) {}", join(got.shape(), ", "), got.dtype().str(), join(want.shape(), ", "),
                  want.dtype().str());
  const double allowed = want.dtype().is_float() ? ulps * std::max(unit(want), least) : 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    if (!want.dtype().is_float()) {
      if (got.int_at(i) != want.int_at(i)) return format("at {}: {} for {}", i, got.int_at(i), want.int_at(i));
      continue;
    }
    const double a = got.at(i), b = want.at(i);
    if (signs && a == 0 && b == 0 && std::signbit(a) != std::signbit(b)) return format("at {}: {} for {}", i, a, b);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= allowed))
      return format("at {}: {} for {}, {:.1f} units of the largest", i, a, b, std::abs(a - b) / unit(want));
  }
  return {};
}

}  // namespace

Problem difference(const Tensors& got, const Tensors& want, double ulps, bool signs) {
  if (got.size() != want.size()) return format("{} results for {}", got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k)
    if (Problem p = difference(got[k], want[k], ulps, signs); !p.empty()) return format("result {}: {}", k, p);
  return {};
}

Problem difference(const Result<Tensors>& got, const Result<Tensors>& want, double ulps, bool signs) {
  if (got && want) return difference(*got, *want, ulps, signs);
  if (got) return format("runs, but the evaluator says: {}", want.errors()[0].message);
  return want ? format("is refused: {}", got.errors()[0].message) : Problem();
}

Problem edge_difference(const Result<Tensors>& got, const Result<Tensors>& want, const Tensors& inputs, double ulps,
                        bool signs) {
  if (!got || !want || got->size() != want->size()) return difference(got, want, ulps, signs);
  double least = 0;
  for (const Tensor& t : inputs)
    if (t.dtype().is_float()) least = std::max(least, unit(t));
  for (size_t k = 0; k < want->size(); ++k)
    if (Problem p = difference((*got)[k], (*want)[k], 2 * ulps, signs, least); !p.empty())
      return format("result {}: {}", k, p);
  return {};
}

}  // namespace relay::proofs
