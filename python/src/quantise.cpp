// Quantisation: python/relay/quantize prepares the arguments of these functions.
#include "relay/driver/quantise/quantise.h"

#include "core.h"
#include "interruptible.h"

namespace relay::python {

using Row = std::tuple<std::string, std::string, std::string, std::vector<bool>>;

// Name, operator, reason to stay float, and for each operand whether it is a weight.
static std::vector<Row> layers_of(const PyModule& m) {
  const ir::Module prepared = value_or_throw(driver::prepare_quantisation(m.module));
  std::vector<Row> out;
  for (const transform::Layer& layer :
       transform::find_layers(prepared, [](const transform::Layer&) { return false; })) {
    std::vector<bool> weights;
    for (size_t k = 0; k < layer.operands.size(); ++k) weights.push_back(layer.is_weight(k));
    out.emplace_back(layer.name, layer.op, layer.reason, weights);
  }
  return out;
}

// The module, the plan and the report as JSON. `max_error`, `max_drop`: negative if unset.
static std::tuple<PyModule, std::string, std::string> quantise(const PyModule& m, driver::Samples samples,
                                                               const std::vector<Array>& labels,
                                                               const std::string& plan, const std::string& plan_name,
                                                               bool keeps_float, bool simulate, bool sensitivity,
                                                               double max_error, double max_drop, double seconds,
                                                               driver::Options options) {
  driver::QuantiseOptions how;
  options.run.output_names = m.output_names;
  how.compilation = std::move(options);
  how.plan = value_or_throw(quantise::parse_plan(plan, plan_name));
  how.plan_name = plan_name;
  how.keep_float = keeps_float ? driver::KeepFloat::Auto : driver::KeepFloat::Never;
  how.simulate = simulate, how.sensitivity = sensitivity, how.seconds = seconds;
  if (max_error >= 0) how.max_error = max_error;
  if (max_drop >= 0) how.max_drop = max_drop;
  for (const Array& label : labels) how.labels.push_back(label.value);
  std::shared_ptr<std::optional<driver::Quantised>> made = std::make_shared<std::optional<driver::Quantised>>();
  run_interruptibly([made, module = separate(m), samples = std::move(samples), how] {
    *made = value_or_throw(driver::quantise(module, samples, how));
  });
  const driver::Quantised& out = **made;
  return {PyModule{out.module, m.output_names, m.files}, quantise::str(out.plan), driver::json(out.report)};
}

static std::pair<double, double> calibrate(const std::string& method, std::vector<double> counts, double least,
                                           double most, int bits, bool symmetric, double percentile) {
  const quantise::Calibration* found = quantise::find_calibration(method);
  if (!found) throw nb::value_error(format("there is no calibration '{}'", method).c_str());
  if (counts.empty() || !(least < most) || bits < 2 || bits > 16)
    throw nb::value_error("expected counts of at least one bin, least < most, and 2 to 16 bits");
  const quantise::Range range =
      found->choose({.least = least, .most = most, .counts = std::move(counts)}, {bits, symmetric, percentile});
  return {range.least, range.most};
}

void add_quantise(nb::module_& m) {
  m.def("quantise", quantise, nb::arg("module"), nb::arg("samples"), nb::arg("labels"), nb::arg("plan"),
        nb::arg("plan_name"), nb::arg("keeps_float"), nb::arg("simulate"), nb::arg("sensitivity"), nb::arg("max_error"),
        nb::arg("max_drop"), nb::arg("seconds"), nb::arg("options"));
  m.def("quantisation_layers", layers_of, nb::arg("module"));
  m.def(
      "prepare_quantisation",
      [](const PyModule& m) {
        return PyModule{value_or_throw(driver::prepare_quantisation(m.module)), m.output_names, m.files};
      },
      nb::arg("module"));
  m.def("calibrations", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const quantise::Calibration& one : quantise::all_calibrations()) out.emplace_back(one.name, one.doc);
    return out;
  });
  m.def("calibrate", calibrate, nb::arg("method"), nb::arg("counts"), nb::arg("least"), nb::arg("most"),
        nb::arg("bits"), nb::arg("symmetric"), nb::arg("percentile"));
}

}  // namespace relay::python
