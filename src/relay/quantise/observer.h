// Observes the values of a program while it runs.
//
//   Observer observer(2);                                                  sites 0 and 1
//   observed = nn.dense(observer.observe(x, 0), observer.observe(y, 1));   a program that computes the same
//   ... compile and run it ...
//   observer.finish_ranges();
//   ... run it again on the same inputs ...
//   observer.site(0).histogram
//
// An observed value passes through the operator relay.observe, a step of the compiled program that calls back into this
// process. Values are observed wherever the program computes them: in functions, branches and loops, any number of
// times. Histograms need the range of all values first, hence two runs.
#pragma once

#include <memory>

#include "relay/ir/expr.h"
#include "relay/quantise/calibration.h"

namespace relay::quantise {

struct Site {
  int64_t elements = 0;    // that were observed to find the range
  int64_t not_finite = 0;  // infinities and NaN among them, which do not count in the range
  Histogram histogram{};   // least > most as long as no finite value was observed
  // Figures of the runs before finish_ranges(), empty unless asked for, over all rows (along the last axis) without
  // infinities and NaN.
  std::vector<double> largest{};   // magnitude at each index of the row
  std::vector<double> products{};  // sums of x[i] * x[j] for j <= i, one i after another
  size_t length = 0;               // of a row
};

struct Observations;

class Observer {
 public:
  explicit Observer(size_t sites);
  ~Observer();
  Observer(const Observer&) = delete;
  // A float32 tensor, and the same tensor.
  ir::Expr observe(const ir::Expr& value, size_t site) const;
  // Also finds the largest magnitudes, or the sums of products, of rows of this length.
  void find_largest(size_t site, int64_t length);
  void find_products(size_t site, int64_t length);
  // From now on, values are counted in histograms of the ranges so far.
  void finish_ranges();
  // Valid while no observed program runs.
  const Site& site(size_t site) const;

 private:
  std::shared_ptr<Observations> observations_;
  int64_t number_;
};

}  // namespace relay::quantise
