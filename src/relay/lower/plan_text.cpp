#include "relay/lower/plan_text.h"

namespace relay::lower {

static const char* name(Array::Kind kind) {
  switch (kind) {
    case Array::Kind::Input: return "input";
    case Array::Kind::Output: return "output";
    case Array::Kind::Constant: return "constant";
    case Array::Kind::Temporary: return "temporary";
  }
  return "";
}

static std::string str(const Array& a) {
  std::vector<std::string> shape;
  for (const Expr& extent : a.shape) shape.push_back(scalar::str(extent));
  std::string out = format("{}: {} {}[{}], {}", a.name, name(a.kind), a.dtype.str(), join(shape, ", "), a.layout.str());
  if (a.view) out += format(", inside {} from {} along dimension {}", a.view->base, a.view->offset, a.view->dim);
  if (a.in_place) out += format(", may take the place of {}", a.in_place->input);
  if (a.alias >= 0) out += format(", the same as {}", a.alias);
  return out;
}

static std::string str(const Group& g) {
  std::vector<int> reads = g.params;
  reads.insert(reads.end(), g.constants.begin(), g.constants.end());
  std::string out = format("{}: {} -> {}", g.te.name, join(reads, ", "), join(g.outputs, ", "));
  if (g.form.schedule) out += format(", in the form {}", lower::name(g.form.schedule->rule));
  if (g.form.by_channels) out += ", images stored by channels";
  for (const std::string& stage : g.form.reads_halo) out += format(", {} reads the halo", stage);
  if (g.check) out += ", a check of indices";
  if (g.external) out += format(", computed by {}", g.external->library);
  if (g.steps) out += ", a step of a recurrence";
  if (g.when >= 0) out += format(", only if {} holds a true element", g.when);
  return out;
}

std::string str(const FunctionPlan& plan) {
  std::string out;
  for (size_t i = 0; i < plan.arrays.size(); ++i) out += format("array {} {}\n", i, str(plan.arrays[i]));
  for (size_t i = 0; i < plan.groups.size(); ++i) out += format("group {} {}\n", i, str(plan.groups[i]));
  return out;
}

}  // namespace relay::lower
