// A user-defined algorithm, without a change to Relay: reads a program from stdin, prints its groups before and after
// the algorithm, and compares their results.
#include <cmath>
#include <iostream>
#include <iterator>

#include "relay/eval/te.h"
#include "relay/lower/algorithms/algorithm.h"
#include "relay/lower/plan_function.h"
#include "relay/text/text.h"
#include "relay/transform/pass.h"

namespace relay::lower {
extern const Algorithm doubling_algorithm;
}

using namespace relay;

// The largest difference of the results on random values.
static Result<double> difference(const te::Tensors& before, const te::Tensors& after) {
  eval::TensorBindings values;
  for (const te::Tensor& t : te::topological(before)) {
    if (!t->is_placeholder()) continue;
    Shape shape;
    for (const scalar::Expr& e : t->shape) shape.push_back(e->ivalue);
    Tensor drawn = Tensor::empty(shape, t->dtype);
    for (int64_t i = 0; i < drawn.elements(); ++i) drawn.set(i, static_cast<double>(i * 31 % 17) - 8);
    values.push_back({t, drawn});
  }
  RELAY_ASSIGN(std::vector<Tensor> a, eval::evaluate(before, values, {}));
  RELAY_ASSIGN(std::vector<Tensor> b, eval::evaluate(after, values, {}));
  double most = 0;
  for (int64_t i = 0; i < a[0].elements(); ++i) most = std::max(most, std::abs(a[0].at(i) - b[0].at(i)));
  return most;
}

static Status run() {
  std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  RELAY_ASSIGN(ir::Module module, text::parse(text));
  transform::PassContext context;
  RELAY_ASSIGN(module, transform::run_passes(module, {"fuse_ops"}, context));
  lower::LowerOptions options;
  RELAY_ASSIGN(lower::FunctionPlan plan, lower::plan_function(module.functions.at("main"), options));
  lower::Application application(plan, options, lower::doubling_algorithm);
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const lower::Group before = plan.groups[g];
    if (!application.at(g)) continue;
    const lower::Group& after = plan.groups[g];
    RELAY_ASSIGN(const double differs, difference(before.te.outputs, after.te.outputs));
    std::cout << format("{}: saves {:.1f} us\n\n{}\n{}\nlargest difference {}\n", before.te.name,
                        after.form.gain.saved_ns * 1e-3, te::str(te::topological(before.te.outputs)),
                        te::str(te::topological(after.te.outputs)), differs);
  }
  application.finish();
  return ok();
}

int main() {
  Status status = run();
  if (!status) std::cerr << render(status.errors());
  return status ? 0 : 1;
}
