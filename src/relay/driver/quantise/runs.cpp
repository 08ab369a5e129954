#include "relay/driver/quantise/runs.h"

#include <algorithm>
#include <cmath>

namespace relay::driver {

static std::vector<Tensor> tensors_in(const runtime::Value& value) {
  std::vector<Tensor> out;
  std::vector<runtime::Value> work{value};
  while (!work.empty()) {
    const runtime::Value now = work.back();
    work.pop_back();
    if (now.is_tensor())
      out.push_back(now.tensor());
    else if (now.kind() == runtime::ObjectKind::Tuple || now.kind() == runtime::ObjectKind::Data)
      for (size_t i = now.size(); i-- > 0;) work.push_back(now.field(i));
  }
  return out;
}

Result<Results> results_of(runtime::Executable& executable, std::span<const Sample> samples) {
  Results out;
  for (size_t s = 0; s < samples.size(); ++s) {
    const Result<runtime::Value> result = executable.call(samples[s]);
    if (!result) {
      std::vector<Diagnostic> errors = result.errors();
      for (Diagnostic& error : errors) error.notes.push_back(format("in sample {} of the data, counted from 0", s));
      return errors;
    }
    out.push_back(tensors_in(*result));
  }
  return out;
}

static bool same_shapes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape(); });
}

ResultError result_error(const Results& got, const Results& wanted) {
  ResultError out;
  double squares = 0, differences = 0, others = 0, wrong = 0;
  for (size_t s = 0; s < wanted.size(); ++s) {
    if (!same_shapes(got[s], wanted[s])) {
      ++out.different_shapes;
      continue;
    }
    for (size_t t = 0; t < wanted[s].size(); ++t)
      for (int64_t i = 0; i < wanted[s][t].elements(); ++i) {
        const double a = got[s][t].at(i), b = wanted[s][t].at(i);
        if (wanted[s][t].dtype().is_float()) {
          if (a != b) differences += (a - b) * (a - b);
          squares += b * b;
        } else {
          others += 1, wrong += a != b ? 1 : 0;
        }
      }
  }
  if (differences > 0) out.floats = std::sqrt(differences / std::max(squares, 1e-300));
  if (others > 0) out.others = wrong / others;
  return out;
}

double accuracy(const Results& results, const std::vector<Tensor>& labels) {
  int64_t right = 0, all = 0;
  for (size_t s = 0; s < labels.size(); ++s) {
    const Tensor& scores = results[s].at(0);
    const int64_t rows = labels[s].elements(), classes = scores.elements() / std::max<int64_t>(rows, 1);
    for (int64_t r = 0; r < rows; ++r, ++all) {
      int64_t best = 0;
      for (int64_t c = 1; c < classes; ++c)
        if (scores.at(r * classes + c) > scores.at(r * classes + best)) best = c;
      right += best == labels[s].int_at(r);
    }
  }
  return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0;
}

}  // namespace relay::driver
