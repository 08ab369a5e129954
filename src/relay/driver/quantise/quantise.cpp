#include "relay/driver/quantise/quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "relay/driver/quantise/times.h"
#include "relay/ir/rewrite.h"
#include "relay/quantise/observer.h"
#include "relay/transform/quantise/annotate.h"
#include "relay/transform/quantise/smooth.h"

namespace relay::driver {

using transform::data_operand;
using transform::Layer;
using transform::weight_operand;
using Layers = std::vector<Layer>;
using Names = std::set<std::string>;

// Elements of constants that are computed at once, so that the report counts the bytes that an artifact has.
static constexpr int64_t most_folded = int64_t{1} << 24;

Result<ir::Module> prepare_quantisation(const ir::Module& module) {
  transform::PassContext context;
  context.options = {{"simplify_inference.norms", int64_t{0}},
                     {"simplify_expr.rounding", int64_t{0}},
                     {"fold_constant.max_elements", most_folded}};
  return transform::run_passes(
      module,
      {"remove_unused_functions", "infer_type", "expand_composites", "simplify_inference", "to_graph_normal_form",
       "propagate_constants", "plain_layouts", "fold_constant", "simplify_expr", "backward_fold_scale_axis",
       "fold_constant", "common_subexpr", "dead_code"},
      context);
}

static int64_t constant_bytes(const ir::Module& module) {
  std::set<const ir::ExprNode*> seen;
  int64_t out = 0;
  for (const auto& [name, f] : module.functions)
    ir::visit(f, [&](const ir::Expr& e) {
      const ir::Constant* c = ir::as<ir::Constant>(e);
      if (c && seen.insert(c).second) out += static_cast<int64_t>(c->value.bytes());
    });
  return out;
}

static std::unordered_map<const ir::ExprNode*, size_t> constant_uses(const ir::Module& module) {
  std::unordered_map<const ir::ExprNode*, size_t> out;
  for (const auto& [name, f] : module.functions)
    for (const auto& [node, count] : ir::use_counts(f->body))
      if (node->kind == ir::ExprKind::Constant) out[node] += count;
  return out;
}

namespace {

// An operand that is observed, and what is counted besides its range.
struct Operand {
  const Layer* layer;
  size_t position;
  bool largest = false, products = false, histogram = false;
};

// The results of observing. Operands that are one value share a site.
struct Observed {
  quantise::Observer observer;
  std::map<const ir::ExprNode*, size_t> sites;
  const quantise::Site& of(const Operand& one) const {
    return observer.site(sites.at(one.layer->operands[one.position].get()));
  }
};

// A program with its samples.
class Quantiser {
 public:
  Quantiser(const Samples& samples, const QuantiseOptions& options) : samples_(samples), options_(options) {}
  Result<Quantised> run(const ir::Module& module);

 private:
  bool stays_float(const Layer& layer) const {
    return reasons_.contains(layer.name) || !quantise::choice_for(options_.plan, layer).integer;
  }
  Layers layers() const {
    return transform::find_layers(prepared_, [this](const Layer& layer) { return stays_float(layer); });
  }
  // Layers, of which only those that are accepted are integer.
  Layers layers_of(function_ref<bool(const std::string&)> accepts) const {
    return transform::find_layers(prepared_,
                                  [&](const Layer& layer) { return stays_float(layer) || !accepts(layer.name); });
  }
  Status check_layers();
  Status smooth();
  Status calibrate();
  void choose_bits();
  void choose_range(const Operand& operand, const quantise::Site& site);
  Result<std::unique_ptr<Observed>> observe(const Layers& layers, const std::vector<Operand>& operands);
  int bits_of(const Layer& layer) const {
    const auto found = bits_.find(layer.name);
    return found != bits_.end() ? found->second : quantise::choice_for(options_.plan, layer).bits;
  }
  std::optional<transform::OperandForm> form_of(const Layer& layer, size_t operand) const;
  // Null if errors are not compensated.
  const transform::Compensation* compensation_for(const Layer& layer, size_t operand) const {
    const auto found = compensation_of_.find(layer.name);
    return operand == weight_operand && found != compensation_of_.end() ? found->second : nullptr;
  }
  Result<ir::Module> annotated(const Layers& layers) const;
  Result<ir::Module> integer_module(const Layers& layers) const;
  Result<Compiled> compiled(const ir::Module& module) const;
  Result<Compiled> named_program();
  Result<Results> integer_results(const Layers& layers) const;
  Result<bool> is_acceptable(const Layers& layers, size_t excluded) const;
  Status measure_float();
  Status measure_layers();
  Status keep_if_whole_is_faster();
  Status measure_sensitivity();
  Status exclude(std::vector<std::pair<double, std::string>> by_error);
  Result<Quantised> finish();
  LayerReport report_of(const Layer& layer) const;
  quantise::LayerPlan plan_of(const Layer& layer) const;

  const Samples& samples_;
  const QuantiseOptions& options_;
  ir::Module prepared_, named_;                 // named_: the layers have their names as places
  std::map<std::string, std::string> reasons_;  // of layers that stay float
  std::map<std::string, std::vector<std::optional<quantise::Range>>> ranges_;  // by layer and operand
  std::map<std::string, int> bits_;  // of the values that layers with a weight read
  std::map<const ir::ExprNode*, std::unique_ptr<transform::Compensation>> compensations_;  // by data
  std::map<std::string, const transform::Compensation*> compensation_of_;                  // by layer
  std::map<std::string, double> errors_;                                                   // of single layers
  LayerTimes float_times_, integer_times_;
  Results wanted_;  // of the float program
  Compiled float_program_;
  QuantiseReport report_;
};

}  // namespace

Result<Quantised> quantise(const ir::Module& module, const Samples& samples, const QuantiseOptions& options) {
  return Quantiser(samples, options).run(module);
}

Result<Quantised> Quantiser::run(const ir::Module& module) {
  RELAY_ASSIGN(prepared_, prepare_quantisation(module));
  RELAY_RETURN_IF_ERROR(check_layers());
  RELAY_RETURN_IF_ERROR(smooth());
  RELAY_RETURN_IF_ERROR(calibrate());
  choose_bits();
  if (!samples_.empty()) RELAY_RETURN_IF_ERROR(measure_float());
  if (options_.sensitivity) RELAY_RETURN_IF_ERROR(measure_sensitivity());
  if (options_.seconds > 0 && !samples_.empty() && !options_.simulate) RELAY_RETURN_IF_ERROR(measure_layers());
  return finish();
}

Status Quantiser::check_layers() {
  const Layers all = transform::find_layers(prepared_, [](const Layer&) { return false; });
  RELAY_RETURN_IF_ERROR(quantise::check_plan(options_.plan, all, options_.plan_name));
  if (std::any_of(all.begin(), all.end(), [](const Layer& layer) { return layer.integer; })) return ok();
  Diagnostic none{DiagnosticKind::not_supported,
                  "the program has no layer that can be computed on integers",
                  {},
                  {},
                  {},
                  "bind weights that are parameters to their values (--weights FILE.npz)"};
  for (const Layer& layer : all) none.notes.push_back(format("{}: {}", layer.name, layer.reason));
  if (none.notes.size() > 8) none.notes.resize(8);
  if (all.empty()) none.help = "quantisation changes convolutions, dense layers and products of matrices in float32";
  return none;
}

// --- calibration -----------------------------------------------------------------------------------------------------

// Layers read the same data after the change, and have the same names.
Status Quantiser::smooth() {
  const Layers all = layers();
  std::map<std::pair<const ir::ExprNode*, double>, std::vector<const Layer*>> groups;  // by data and strength
  std::vector<Operand> operands;
  for (const Layer& layer : all) {
    const quantise::LayerChoice choice = quantise::choice_for(options_.plan, layer);
    if (!layer.integer || choice.smooth == 0) continue;
    if (!choice.ranges.empty() && choice.ranges[data_operand])
      return Diagnostic{
          DiagnosticKind::bad_option,
          format("{}: {} has a range and is smoothed, which changes its range", options_.plan_name, layer.name),
          {},
          {},
          {},
          "remove the ranges of the layer, which are found in the data"};
    groups[{layer.operands[data_operand].get(), choice.smooth}].push_back(&layer);
    operands.push_back({.layer = &layer, .position = data_operand, .largest = true});
  }
  if (groups.empty()) return ok();
  RELAY_ASSIGN(const std::unique_ptr<Observed> seen, observe(all, operands));
  const std::unordered_map<const ir::ExprNode*, size_t> uses = constant_uses(prepared_);
  std::map<std::string, std::vector<float>> factors;
  for (const auto& [key, group] : groups) {
    const std::vector<double>& data = seen->of({group[0], data_operand}).largest;
    std::vector<double> weights(data.size());
    std::map<const ir::ExprNode*, size_t> own;  // uses of weights
    for (const Layer* layer : group) ++own[layer->operands[weight_operand].get()];
    if (std::any_of(own.begin(), own.end(), [&](const auto& one) { return uses.at(one.first) > one.second; })) {
      report_.notes.push_back(format("{} is not smoothed, because its weight is also read elsewhere", group[0]->name));
      continue;
    }
    for (const Layer* layer : group) {
      const std::vector<double> one = transform::weight_magnitudes(*layer);
      for (size_t k = 0; k < one.size(); ++k) weights[k] = std::max(weights[k], one[k]);
    }
    // A single object for the group, so that its layers share the product.
    factors[group[0]->name] = transform::smoothing_factors(data, weights, key.second);
  }
  transform::PassContext context;
  context.options = {{"simplify_expr.rounding", int64_t{0}}};
  RELAY_ASSIGN(prepared_,
               transform::run_passes(
                   transform::smooth(prepared_, all,
                                     [&](const Layer& layer) -> const std::vector<float>* {
                                       const double strength = quantise::choice_for(options_.plan, layer).smooth;
                                       const auto group = groups.find({layer.operands[data_operand].get(), strength});
                                       if (!layer.integer || group == groups.end()) return nullptr;
                                       const auto found = factors.find(group->second[0]->name);
                                       return found == factors.end() ? nullptr : &found->second;
                                     }),
                   {"infer_type", "backward_fold_scale_axis", "fold_constant", "simplify_expr", "dead_code"}, context));
  return ok();
}

Status Quantiser::calibrate() {
  const Layers all = layers();
  std::vector<Operand> operands;
  for (const Layer& layer : all) {
    if (!layer.integer) continue;
    const quantise::LayerChoice choice = quantise::choice_for(options_.plan, layer);
    auto& ranges = ranges_[layer.name];
    ranges = choice.ranges;
    ranges.resize(layer.operands.size());
    for (size_t k = 0; k < layer.operands.size(); ++k) {
      if (layer.is_weight(k)) continue;
      const Operand one{.layer = &layer,
                        .position = k,
                        .products = choice.compensate && k == data_operand,
                        .histogram = !choice.weights_only && !ranges[k]};
      if (one.products || one.histogram) operands.push_back(one);
    }
  }
  if (operands.empty()) return ok();
  RELAY_ASSIGN(const std::unique_ptr<Observed> seen, observe(all, operands));
  for (const Operand& one : operands) {
    const quantise::Site& site = seen->of(one);
    if (one.histogram) choose_range(one, site);
    if (!one.products || reasons_.contains(one.layer->name)) continue;
    if (std::all_of(site.products.begin(), site.products.end(), [](double x) { return x == 0; }))
      report_.notes.push_back(
          format("no sample has finite values other than 0 at {}, so that its weights are rounded without compensation",
                 one.layer->name));
    std::unique_ptr<transform::Compensation>& made = compensations_[one.layer->operands[data_operand].get()];
    if (!made) made = std::make_unique<transform::Compensation>(site.products, static_cast<int64_t>(site.length));
    compensation_of_[one.layer->name] = made.get();
  }
  return ok();
}

void Quantiser::choose_range(const Operand& one, const quantise::Site& site) {
  const Layer& layer = *one.layer;
  if (site.elements == 0) {
    reasons_[layer.name] = "no sample reaches it";
  } else if (site.not_finite > 0) {
    reasons_[layer.name] = format("{} of the values that it reads are infinite or NaN", site.not_finite);
  } else {
    const quantise::LayerChoice choice = quantise::choice_for(options_.plan, layer);
    ranges_[layer.name][one.position] =
        quantise::find_calibration(choice.calibration)
            ->choose(site.histogram, {choice.bits, choice.symmetric, choice.percentile});
  }
}

Result<std::unique_ptr<Observed>> Quantiser::observe(const Layers& all, const std::vector<Operand>& operands) {
  const Layer& first = *operands[0].layer;
  if (samples_.empty())
    return Diagnostic{
        DiagnosticKind::wrong_input,
        format("there is no data to calibrate {} with: {} and others need {}", first.op, first.name,
               operands[0].histogram ? "ranges" : "figures of the values that they read"),
        first.call->span,
        {},
        {},
        "give samples of the inputs (--data), or a plan with all ranges that neither smooths nor compensates"};
  std::map<const ir::ExprNode*, size_t> sites;  // by operand
  for (const Operand& one : operands) sites.emplace(one.layer->operands[one.position].get(), sites.size());
  std::unique_ptr<Observed> out(new Observed{quantise::Observer(sites.size()), sites});
  bool histograms = false;
  for (const Operand& one : operands) {
    const size_t site = sites.at(one.layer->operands[one.position].get());
    histograms |= one.histogram;
    if (!one.largest && !one.products) continue;
    const ir::Constant& weight = *ir::as<ir::Constant>(one.layer->operands[weight_operand]);
    const int64_t length = weight.value.shape()[static_cast<size_t>(one.layer->summed_axis(weight_operand))];
    if (one.largest) out->observer.find_largest(site, length);
    if (one.products) out->observer.find_products(site, length);
  }
  std::map<const ir::ExprNode*, ir::Expr> made;
  const ir::Module observed =
      transform::replace_operands(prepared_, all, [&](const Layer& layer, size_t k, const ir::Expr& now) -> ir::Expr {
        const auto site = sites.find(layer.operands[k].get());
        if (site == sites.end()) return now;
        ir::Expr& one = made[now.get()];
        if (!one) one = out->observer.observe(now, site->second);
        return one;
      });
  RELAY_ASSIGN(const Compiled program, compiled(observed));
  options_.say(format("{} {} on {}", histograms ? "calibrating" : "observing",
                      plural(static_cast<int64_t>(sites.size()), "value", "values"),
                      plural(static_cast<int64_t>(samples_.size()), "sample", "samples")));
  RELAY_RETURN_IF_ERROR(results_of(*program.executable, samples_));
  if (histograms) {
    out->observer.finish_ranges();
    RELAY_RETURN_IF_ERROR(results_of(*program.executable, samples_));
  }
  return out;
}

// Values of more than 8 bits have as many as int32 has room for in the sums of their products with the weight.
void Quantiser::choose_bits() {
  for (const Layer& layer : layers()) {
    const quantise::LayerChoice choice = quantise::choice_for(options_.plan, layer);
    if (!layer.integer || choice.weights_only || !layer.is_weight(weight_operand)) continue;
    bits_[layer.name] = transform::data_bits(layer, *form_of(layer, weight_operand), choice.bits, choice.symmetric);
  }
}

// --- programs --------------------------------------------------------------------------------------------------------
std::optional<transform::OperandForm> Quantiser::form_of(const Layer& layer, size_t operand) const {
  const quantise::LayerChoice choice = quantise::choice_for(options_.plan, layer);
  if (layer.is_weight(operand))
    return transform::OperandForm{.bits = choice.weight_bits,
                                  .symmetric = true,
                                  .per_channel = choice.per_channel,
                                  .stored_only = choice.weights_only,
                                  .group = choice.group,
                                  .compensation = compensation_for(layer, operand)};
  if (choice.weights_only) return std::nullopt;
  const quantise::Range range = *ranges_.at(layer.name).at(operand);
  return transform::OperandForm{
      .bits = bits_of(layer), .symmetric = choice.symmetric, .least = range.least, .most = range.most};
}

Result<ir::Module> Quantiser::annotated(const Layers& all) const {
  transform::PassContext context;
  std::optional<transform::OperandForm> tables;
  if (options_.plan.settings.weights_only.value_or(false)) {
    const quantise::LayerChoice choice = quantise::choice_for(options_.plan, {});
    tables = transform::OperandForm{choice.weight_bits, true, choice.per_channel, true, choice.group};
  }
  return transform::run_passes(
      transform::annotate(
          prepared_, all, [this](const Layer& layer, size_t k) { return form_of(layer, k); }, tables),
      {"infer_type"}, context);
}

Result<ir::Module> Quantiser::integer_module(const Layers& all) const {
  RELAY_ASSIGN(const ir::Module simulated, annotated(all));
  if (options_.simulate) return simulated;
  transform::PassContext context;
  // Weights that are stored as integers and used as floats must not become floats again.
  const bool stored = std::any_of(all.begin(), all.end(), [this](const Layer& layer) {
    return layer.integer && quantise::choice_for(options_.plan, layer).weights_only;
  });
  context.options = {{"fake_quantization_to_integer.exact", int64_t{1}},
                     {"fold_constant.qnn", int64_t{!stored}},
                     {"fold_constant.max_elements", most_folded}};
  return transform::run_passes(simulated, {"fake_quantization_to_integer", "fold_constant", "dead_code"}, context);
}

Result<Compiled> Quantiser::compiled(const ir::Module& module) const {
  Options options = options_.compilation;
  options.run.make_executable = true, options.run.tier = Tier::Full;
  options.lower.batch_calls = build::BatchCalls::Never;
  return compile(module, options);
}

// The integer program with layers by name, for measurements.
Result<Compiled> Quantiser::named_program() {
  std::swap(prepared_, named_);
  Result<ir::Module> module = integer_module(layers());
  std::swap(prepared_, named_);
  if (!module) return module.errors();
  return compiled(*module);
}

Result<Results> Quantiser::integer_results(const Layers& all) const {
  RELAY_ASSIGN(const ir::Module module, integer_module(all));
  RELAY_ASSIGN(const Compiled program, compiled(module));
  return results_of(*program.executable, samples_);
}

Status Quantiser::measure_float() {
  transform::PassContext context;
  RELAY_ASSIGN(named_,
               transform::run_passes(transform::with_names_as_places(prepared_, layers()), {"infer_type"}, context));
  RELAY_ASSIGN(float_program_, compiled(named_));
  RELAY_ASSIGN(wanted_, results_of(*float_program_.executable, samples_));
  return ok();
}

// --- decisions -------------------------------------------------------------------------------------------------------
// Measures both forms of each layer. With KeepFloat::Auto, layers whose kernels are not faster on integers stay float,
// and the rest is measured again, because a layer may have been fast only next to another one. Layers that share a
// kernel in one of the two programs are compared together.
Status Quantiser::measure_layers() {
  const bool decides = options_.keep_float == KeepFloat::Auto;
  constexpr int most_rounds = 3;
  constexpr double clearly = 0.97;  // of the float time: a difference that the measurement can tell
  for (int round = 0; round < (decides ? most_rounds : 1); ++round) {
    RELAY_ASSIGN(const Compiled program, named_program());
    RELAY_ASSIGN(const TwoTimes both, layer_times(float_program_, program, samples_[0], options_.seconds));
    float_times_ = both.first;
    const LayerTimes& times = both.second;
    Names integer;
    for (const Layer& layer : layers())
      if (layer.integer) integer.insert(layer.name);
    for (const auto& [layer, us] : times.us)
      if (integer.contains(layer)) integer_times_.us[layer] = us;
    int64_t slower = 0;
    for (const std::vector<std::string>& group : comparable_groups(float_times_, times)) {
      if (sum_of(group, times) <= clearly * sum_of(group, float_times_)) continue;
      for (const std::string& layer : group)
        if (integer.contains(layer) && decides) reasons_[layer] = "integers are not faster", ++slower;
    }
    if (slower == 0) break;
    options_.say(format("{} not faster on integers", plural(slower, "layer is", "layers are")));
  }
  return decides ? keep_if_whole_is_faster() : ok();
}

Status Quantiser::keep_if_whole_is_faster() {
  const Layers all = layers();
  if (std::none_of(all.begin(), all.end(), [](const Layer& layer) { return layer.integer; })) return ok();
  RELAY_ASSIGN(const ir::Module module, integer_module(all));
  RELAY_ASSIGN(const Compiled program, compiled(module));
  RELAY_ASSIGN(const Comparison both,
               compare_times(*float_program_.executable, *program.executable, samples_[0], options_.seconds));
  const double most = both.interval ? both.interval->high : both.speedup;  // the greatest speed-up that is likely
  if (most >= 1) return ok();
  for (const Layer& layer : all)
    if (layer.integer && layer.is_contraction())
      reasons_[layer.name] = "the whole program is slower with it on integers";
  report_.notes.push_back(
      format("integers make the whole program slower ({:.1f} us instead of {:.1f}), so that all "
             "layers stay float; --keep-float never quantises them all the same",
             both.second_us, both.first_us));
  return ok();
}

Status Quantiser::measure_sensitivity() {
  if (samples_.empty())
    return Diagnostic{
        DiagnosticKind::wrong_input,          "there is no data to measure the sensitivity of layers with", {}, {}, {},
        "give samples of the inputs (--data)"};
  std::vector<std::pair<double, std::string>> by_error;
  for (const Layer& layer : layers()) {
    if (!layer.integer || !layer.is_contraction()) continue;
    const Layers only = layers_of([&](const std::string& name) { return name == layer.name; });
    RELAY_ASSIGN(const Results got, integer_results(only));
    errors_[layer.name] = result_error(got, wanted_).worst();
    by_error.emplace_back(errors_[layer.name], layer.name);
  }
  std::sort(by_error.rbegin(), by_error.rend());
  report_.ranking = by_error;
  return options_.max_error || options_.max_drop ? exclude(std::move(by_error)) : ok();
}

// True if the error and the accuracy are those that are wanted.
Result<bool> Quantiser::is_acceptable(const Layers& all, size_t excluded) const {
  RELAY_ASSIGN(const Results got, integer_results(all));
  const double error = result_error(got, wanted_).worst();
  std::string figures = format("error {:.2f} %", 100 * error);
  double drop = 0;
  if (options_.max_drop) {
    const double share = accuracy(got, options_.labels);
    drop = accuracy(wanted_, options_.labels) - share;
    figures += format(", accuracy {:.2f} %", 100 * share);
  }
  options_.say(format("{} without the {} most sensitive layers", figures, excluded));
  return error <= options_.max_error.value_or(error) && drop <= options_.max_drop.value_or(drop);
}

// Finds the smallest number of the layers with the largest errors that must stay float, by bisection.
Status Quantiser::exclude(std::vector<std::pair<double, std::string>> by_error) {
  size_t low = 0, high = by_error.size();  // `high` layers are enough
  const auto is_enough = [&](size_t count) {
    Names names;
    for (size_t i = 0; i < count; ++i) names.insert(by_error[i].second);
    return is_acceptable(layers_of([&](const std::string& name) { return !names.contains(name); }), count);
  };
  while (low < high) {
    const size_t middle = (low + high) / 2;
    RELAY_ASSIGN(const bool enough, is_enough(middle));
    if (enough)
      high = middle;
    else
      low = middle + 1;
  }
  for (size_t i = 0; i < high; ++i) {
    report_.excluded.push_back(by_error[i].second);
    reasons_[by_error[i].second] = format("the wanted {} needs it", options_.max_drop ? "accuracy" : "error");
  }
  return ok();
}

// --- results ---------------------------------------------------------------------------------------------------------
LayerReport Quantiser::report_of(const Layer& layer) const {
  LayerReport out{.layer = layer.name, .op = layer.op, .place = place_text(layer.call->span), .integer = layer.integer};
  const quantise::LayerChoice choice = quantise::choice_for(options_.plan, layer);
  out.bits = bits_of(layer);
  out.stores_only = layer.integer && (!layer.is_contraction() || choice.weights_only);
  if (!layer.integer) {
    const auto reason = reasons_.find(layer.name);
    out.reason = !layer.reason.empty() ? layer.reason : reason != reasons_.end() ? reason->second : choice.reason;
  }
  const auto find = [&](const std::map<std::string, double>& in) {
    const auto found = in.find(layer.name);
    return found == in.end() ? std::nullopt : std::optional(found->second);
  };
  out.float_us = find(float_times_.us), out.integer_us = find(integer_times_.us), out.error = find(errors_);
  for (const size_t k : layer.weights) {
    const Tensor& weight = ir::as<ir::Constant>(layer.operands[k])->value;
    out.float_bytes += static_cast<int64_t>(weight.bytes());
    const int64_t bytes = out.bits > 8 ? 2 : 1;  // of a weight, as long as the values that it multiplies
    out.integer_bytes += layer.integer ? bytes * weight.elements() : static_cast<int64_t>(weight.bytes());
    const std::optional<transform::OperandForm> form = layer.integer ? form_of(layer, k) : std::nullopt;
    const int64_t summed = layer.summed_axis(k);
    if (!form || !form->stored_only || summed < 0) continue;
    out.integer_bytes += transform::stored_bytes(weight, *form, summed) - weight.elements();
    if (samples_.empty()) out.error = transform::stored_error(weight, *form, summed);  // of the weight
  }
  return out;
}

quantise::LayerPlan Quantiser::plan_of(const Layer& layer) const {
  const LayerReport report = report_of(layer);
  quantise::LayerPlan out{.layer = layer.name, .op = layer.op, .place = report.place, .reason = report.reason};
  const quantise::LayerChoice choice = quantise::choice_for(options_.plan, layer);
  out.choice.integer = layer.integer;
  if (!layer.integer) return out;
  out.choice.bits = choice.bits, out.choice.weight_bits = choice.weight_bits;
  out.choice.symmetric = choice.symmetric, out.choice.per_channel = choice.per_channel;
  out.choice.weights_only = choice.weights_only, out.choice.calibration = choice.calibration;
  if (choice.weights_only) out.choice.group = choice.group;
  if (choice.compensate) out.choice.compensate = true;
  if (choice.smooth > 0) {
    out.choice.smooth = choice.smooth;  // the data that it is found in determine the ranges, too
    return out;
  }
  if (const auto ranges = ranges_.find(layer.name); ranges != ranges_.end()) out.ranges = ranges->second;
  return out;
}

Result<Quantised> Quantiser::finish() {
  const Layers all = layers();
  Quantised out;
  RELAY_ASSIGN(out.module, integer_module(all));
  out.plan = options_.plan;
  out.plan.layers.clear();
  for (const Layer& layer : all) {
    report_.layers.push_back(report_of(layer));
    out.plan.layers.push_back(plan_of(layer));
  }
  report_.float_bytes = constant_bytes(prepared_), report_.integer_bytes = constant_bytes(out.module);
  report_.samples = samples_.size();
  if (!samples_.empty()) {
    RELAY_ASSIGN(const Compiled program, compiled(out.module));
    RELAY_ASSIGN(const Results got, results_of(*program.executable, samples_));
    const ResultError error = result_error(got, wanted_);
    report_.error = error.worst();
    if (error.different_shapes > 0)
      report_.notes.push_back(format("the results of {} have another shape than those of the float program",
                                     plural(error.different_shapes, "sample", "samples")));
    if (!options_.labels.empty())
      report_.float_accuracy = accuracy(wanted_, options_.labels), report_.accuracy = accuracy(got, options_.labels);
    if (options_.seconds > 0) {
      RELAY_ASSIGN(const Comparison both,
                   compare_times(*float_program_.executable, *program.executable, samples_[0], options_.seconds));
      report_.float_us = both.first_us, report_.integer_us = both.second_us;
      report_.speedup = both.speedup, report_.interval = both.interval;
    }
  }
  out.report = std::move(report_);
  return out;
}

}  // namespace relay::driver
