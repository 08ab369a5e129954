#include "relay/build/constant_work.h"

#include <algorithm>
#include <set>

namespace relay::build {

using lower::Array;
using lower::LoweredFunction;
using lower::Step;

namespace {

// Limits on the work of building a program: a fixed amount, and an amount for each byte of its constants. Work is the
// number of operations plus bytes read and written: 2^34 take one to a few seconds on a core. Models need far less:
// Winograd's form of a weight takes some tens of operations per byte, the product of two weights of 4096 x 4096 a
// thousand. Bytes are those of results, of which an import may make as many (docs/security.md).
constexpr double any_work = static_cast<double>(int64_t{1} << 34), work_a_byte = 4096;
constexpr double any_bytes = static_cast<double>(int64_t{256} << 20), bytes_a_byte = 64;

class Limit {
 public:
  void add_constants(const LoweredFunction& f) {
    for (const Array& a : f.arrays)
      if (a.kind == Array::Kind::Constant && a.value && seen_.insert(a.value.data()).second)
        stored_ += static_cast<double>(a.value.bytes());
  }

  void apply(LoweredFunction& f) {
    std::set<int> deferred;  // arrays written by steps that are left to runs
    // The writers of one array are left together, and so are its readers.
    for (bool more = true; more;) {
      more = false;
      for (Step& s : f.steps) {
        if (!s.constant) continue;
        auto is_deferred = [&](int array) { return deferred.count(array) > 0; };
        const bool follows = std::any_of(s.reads.begin(), s.reads.end(), is_deferred) ||
                             std::any_of(s.writes.begin(), s.writes.end(), is_deferred);
        if (!follows && (counted_.count(&s) || take(f, s))) continue;
        s.constant = false, more = true;
        deferred.insert(s.writes.begin(), s.writes.end());
      }
    }
    counted_.clear();
  }

 private:
  bool take(const LoweredFunction& f, const Step& s) {
    double read = 0, written = 0;
    for (int r : s.reads) read += bytes(f.arrays[static_cast<size_t>(r)]);
    for (int w : s.writes) written += bytes(f.arrays[static_cast<size_t>(w)]);
    const double work = work_ + s.flops + read + written, made = bytes_ + written;
    if (work > any_work + work_a_byte * stored_ || made > any_bytes + bytes_a_byte * stored_) return false;
    work_ = work, bytes_ = made;
    counted_.insert(&s);
    return true;
  }

  // Bytes as stored; steps on constants have arrays of known sizes.
  static double bytes(const Array& a) {
    return scalar::is_int(a.bytes) ? static_cast<double>(a.bytes->ivalue) : a.dtype.bytes();
  }

  std::set<const void*> seen_;
  std::set<const Step*> counted_;  // of the function
  double stored_ = 0, work_ = 0, bytes_ = 0;
};

}  // namespace

void limit_constant_work(std::vector<exec::LoweredSegment>& segments) {
  Limit limit;
  for (const exec::LoweredSegment& s : segments) limit.add_constants(s.lowered);
  for (exec::LoweredSegment& s : segments) limit.apply(s.lowered);
}

}  // namespace relay::build
