#include "relay/quantise/plan.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "relay/base/printable.h"

namespace relay::quantise {

using Json = nlohmann::ordered_json;

// `pattern` has * for any text.
static bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1, t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches(const Rule& rule, const transform::Layer& layer) {
  return matches(rule.op, layer.op) &&
         (matches(rule.layer, layer.name) || matches(rule.layer, place_text(layer.call->span)));
}

static Diagnostic bad(const std::string& name, std::string message, std::string help) {
  return {DiagnosticKind::bad_option, format("{}: {}", name, message), {}, {}, {}, std::move(help)};
}

// --- reading ---------------------------------------------------------------------------------------------------------
namespace {
// Reads the fields of one object. The first problem is kept.
class Fields {
 public:
  Fields(const Json& object, std::string where, const std::string& name)
      : object_(object), where_(std::move(where)), name_(name) {
    if (!object.is_object()) refuse("must be an object", "write it in braces: {\"bits\": 8}");
  }

  template <class T>
  void read(const char* field, std::optional<T>* out, bool (Json::*is)() const, const char* what) {
    const Json* value = find(field);
    if (!value) return;
    if (!(value->*is)()) return refuse(format("'{}' must be {}", field, what), format("write {}", what));
    *out = value->get<T>();
  }
  void read(const char* field, std::string* out) {
    std::optional<std::string> value;
    read(field, &value, &Json::is_string, "a text");
    if (value) *out = *value;
  }
  void read_bits(const char* field, int most, const char* help, std::optional<int>* out) {
    read(field, out, &Json::is_number_integer, "a number of bits");
    if (*out && (**out < 2 || **out > most))
      refuse(format("'{}' must be 2 to {}, but is {}", field, most, **out), help);
  }
  void read_group(std::optional<int>* out) {
    constexpr int least = 8, most = 1 << 16;
    read("group", out, &Json::is_number_integer, "a number of weights");
    if (*out && **out != 0 && (**out < least || **out > most))
      refuse(format("'group' must be 0 or {} to {}, but is {}", least, most, **out), "use 32, 64 or 128");
  }
  void read_ranges(std::vector<std::optional<Range>>* out) {
    const Json* value = find("ranges");
    if (!value) return;
    if (!value->is_array()) return refuse("'ranges' must be a list", range_help);
    for (const Json& one : *value) {
      if (one.is_null()) {
        out->push_back(std::nullopt);
        continue;
      }
      if (!one.is_array() || one.size() != 2 || !one[0].is_number() || !one[1].is_number())
        return refuse("a range must be two numbers or null", range_help);
      const Range range{one[0].get<double>(), one[1].get<double>()};
      if (!(range.least < range.most) || std::abs(range.least) > 1e30 || std::abs(range.most) > 1e30)
        return refuse(format("the range from {} to {} has no scale", range.least, range.most), range_help);
      out->push_back(range);
    }
  }
  void read(Choice* out) {
    read("integer", &out->integer, &Json::is_boolean, "true or false");
    read_bits("bits", most_bits, "values are stored as integers of 8 or 16 bits", &out->bits);
    read_bits("weight_bits", most_weight_bits, "weights are stored as integers of 8 bits at most", &out->weight_bits);
    read("symmetric", &out->symmetric, &Json::is_boolean, "true or false");
    read("per_channel", &out->per_channel, &Json::is_boolean, "true or false");
    read("weights_only", &out->weights_only, &Json::is_boolean, "true or false");
    read_group(&out->group);
    read("calibration", &out->calibration, &Json::is_string, "the name of a method");
    read("percentile", &out->percentile, &Json::is_number, "a number");
    read("smooth", &out->smooth, &Json::is_number, "a number from 0 to 1");
    read("compensate", &out->compensate, &Json::is_boolean, "true or false");
    std::vector<std::string> names;
    for (const Calibration& one : all_calibrations()) names.emplace_back(one.name);
    if (out->calibration && !find_calibration(*out->calibration))
      refuse(format("there is no calibration '{}'", shortened(*out->calibration)), format("use {}", join(names, ", ")));
    if (out->percentile && !(*out->percentile > 50 && *out->percentile <= 100))
      refuse(format("'percentile' must be above 50 and at most 100, but is {}", *out->percentile), "use 99.99");
    if (out->smooth && !(*out->smooth >= 0 && *out->smooth <= 1))
      refuse(format("'smooth' must be 0 to 1, but is {}", *out->smooth), "use 0.5");
  }
  // After all reads: refuses fields that were not read.
  Status finish() {
    const Json none = Json::object();
    for (const auto& [field, value] : (object_.is_object() ? object_ : none).items())
      if (!problem_ && std::find(known_.begin(), known_.end(), field) == known_.end()) {
        const std::optional<std::string> near = nearest(field, known_);
        refuse(format("there is no field '{}'", shortened(field)),
               near ? format("did you mean '{}'?", *near) : format("the fields are {}", join(known_, ", ")));
      }
    if (problem_) return *problem_;
    return ok();
  }

 private:
  static constexpr const char* range_help = "write the least and the largest number, as in [[-1.5, 3.25], null]";
  const Json* find(const char* field) {
    known_.emplace_back(field);
    if (!object_.is_object()) return nullptr;
    auto it = object_.find(field);
    return it == object_.end() ? nullptr : &*it;
  }
  void refuse(const std::string& what, std::string help) {
    if (!problem_) problem_ = bad(name_, format("{}: {}", where_, what), std::move(help));
  }

  const Json& object_;
  std::string where_;
  const std::string& name_;
  std::vector<std::string> known_;
  std::optional<Diagnostic> problem_;
};
}  // namespace

static Status read_lists(const Json& json, const std::string& name, Plan* plan) {
  const auto list = [&](const char* field) -> Result<Json> {
    if (!json.contains(field)) return Json::array();
    if (!json[field].is_array()) return bad(name, format("'{}' must be a list", field), "write it in brackets: []");
    return json[field];
  };
  RELAY_ASSIGN(const Json rules, list("rules"));
  for (size_t i = 0; i < rules.size(); ++i) {
    Fields fields(rules[i], format("rule {}", i), name);
    Rule& rule = plan->rules.emplace_back();
    fields.read("layer", &rule.layer), fields.read("op", &rule.op), fields.read(&rule.choice);
    RELAY_RETURN_IF_ERROR(fields.finish());
  }
  RELAY_ASSIGN(const Json layers, list("layers"));
  for (size_t i = 0; i < layers.size(); ++i) {
    Fields fields(layers[i], format("layer {}", i), name);
    LayerPlan& layer = plan->layers.emplace_back();
    fields.read("layer", &layer.layer), fields.read("op", &layer.op), fields.read("place", &layer.place);
    fields.read("reason", &layer.reason), fields.read(&layer.choice), fields.read_ranges(&layer.ranges);
    RELAY_RETURN_IF_ERROR(fields.finish());
  }
  return ok();
}

Result<Plan> parse_plan(const std::string& text, const std::string& name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& e) {
    return Diagnostic{DiagnosticKind::corrupt_file,
                      format("{} is not JSON: {}", name, shortened(e.what())),
                      {},
                      {},
                      {},
                      "correct the text, or let relay quantize --write-plan write the file again"};
  }
  if (!json.is_object()) return bad(name, "a plan must be an object", "write {\"rules\": [...]}");
  for (const auto& [field, value] : json.items())
    if (field != "settings" && field != "rules" && field != "layers")
      return bad(name, format("there is no part '{}'", shortened(field)), "a plan has settings, rules and layers");
  Plan plan;
  if (json.contains("settings")) {
    Fields fields(json["settings"], "settings", name);
    fields.read(&plan.settings);
    RELAY_RETURN_IF_ERROR(fields.finish());
  }
  RELAY_RETURN_IF_ERROR(read_lists(json, name, &plan));
  return plan;
}

// --- writing ---------------------------------------------------------------------------------------------------------
static Json as_json(const Choice& choice, Json out) {
  const auto put = [&](const char* field, const auto& value) {
    if (value) out[field] = *value;
  };
  put("integer", choice.integer), put("bits", choice.bits), put("weight_bits", choice.weight_bits);
  put("symmetric", choice.symmetric), put("per_channel", choice.per_channel), put("weights_only", choice.weights_only);
  put("group", choice.group), put("calibration", choice.calibration), put("percentile", choice.percentile);
  put("smooth", choice.smooth), put("compensate", choice.compensate);
  return out;
}

std::string str(const Plan& plan) {
  Json rules = Json::array(), layers = Json::array();
  for (const Rule& rule : plan.rules) rules.push_back(as_json(rule.choice, {{"layer", rule.layer}, {"op", rule.op}}));
  for (const LayerPlan& layer : plan.layers) {
    Json one = {{"layer", layer.layer}, {"op", layer.op}};
    if (!layer.place.empty()) one["place"] = layer.place;
    one = as_json(layer.choice, std::move(one));
    if (!layer.reason.empty()) one["reason"] = layer.reason;
    if (!layer.ranges.empty()) {
      one["ranges"] = Json::array();
      for (const std::optional<Range>& range : layer.ranges)
        one["ranges"].push_back(range ? Json{range->least, range->most} : Json());
    }
    layers.push_back(std::move(one));
  }
  // A line for each rule and layer.
  const auto lines = [](const Json& list) {
    std::vector<std::string> out;
    for (const Json& one : list) out.push_back("    " + one.dump(-1, ' ', false, Json::error_handler_t::replace));
    return out.empty() ? std::string("[]") : format("[\n{}\n  ]", join(out, ",\n"));
  };
  return format("{{\n  \"settings\": {},\n  \"rules\": {},\n  \"layers\": {}\n}}\n",
                as_json(plan.settings, Json::object()).dump(), lines(rules), lines(layers));
}

// --- use -------------------------------------------------------------------------------------------------------------
static constexpr int group_unset = -1;

static void apply(const Choice& choice, LayerChoice* out, const char* reason) {
  if (choice.integer) out->integer = *choice.integer, out->reason = *choice.integer ? "" : reason;
  out->bits = choice.bits.value_or(out->bits), out->weight_bits = choice.weight_bits.value_or(out->weight_bits);
  out->symmetric = choice.symmetric.value_or(out->symmetric);
  out->per_channel = choice.per_channel.value_or(out->per_channel);
  out->weights_only = choice.weights_only.value_or(out->weights_only);
  out->group = choice.group.value_or(out->group);
  out->calibration = choice.calibration.value_or(out->calibration);
  out->percentile = choice.percentile.value_or(out->percentile);
  out->smooth = choice.smooth.value_or(out->smooth);
  out->compensate = choice.compensate.value_or(out->compensate);
}

LayerChoice choice_for(const Plan& plan, const transform::Layer& layer) {
  LayerChoice out;
  out.group = group_unset;
  apply(plan.settings, &out, "the plan's settings keep it");
  for (const Rule& rule : plan.rules)
    if (matches(rule, layer)) apply(rule.choice, &out, "a rule keeps it");
  for (const LayerPlan& one : plan.layers) {
    if (one.layer != layer.name) continue;
    apply(one.choice, &out, one.reason.empty() ? "the plan keeps it" : one.reason.c_str());
    out.ranges = one.ranges;
  }
  // Only products of matrices pack their weights. Others store whole bytes: fewer bits would lose accuracy for nothing.
  const auto in_bytes = [&](size_t operand) { return layer.summed_axis(operand) < 0; };
  if (out.weights_only && std::any_of(layer.weights.begin(), layer.weights.end(), in_bytes)) out.weight_bits = 8;
  if (layer.summed_axis(transform::weight_operand) < 0) out.smooth = 0, out.compensate = false;
  constexpr int few_bits = 4, small_group = 32;
  if (out.group == group_unset) out.group = out.weight_bits <= few_bits ? small_group : 0;
  return out;
}

Status check_plan(const Plan& plan, const std::vector<transform::Layer>& layers, const std::string& name) {
  std::vector<std::string> names;
  for (const transform::Layer& layer : layers) names.push_back(layer.name);
  const auto listed = [&] {
    const size_t shown = std::min<size_t>(names.size(), 8);
    return format("the layers are {}{}", join(names.begin(), names.begin() + static_cast<int64_t>(shown), ", "),
                  shown < names.size() ? ", ..." : "");
  };
  for (const LayerPlan& one : plan.layers) {
    const auto layer = std::find_if(layers.begin(), layers.end(), [&](const auto& l) { return l.name == one.layer; });
    if (layer == layers.end()) {
      // Sums between integer layers are layers only while those are.
      transform::Layer planned;
      planned.op = one.op;
      if (!one.op.empty() && !planned.is_contraction()) continue;
      const std::optional<std::string> near = nearest(one.layer, names);
      return bad(name, format("there is no layer '{}'", shortened(one.layer)),
                 near ? format("did you mean '{}'?", *near) : listed());
    }
    if (!one.ranges.empty() && one.ranges.size() != layer->operands.size())
      return bad(name,
                 format("the layer '{}' has {}, but its entry has {}", shortened(one.layer),
                        plural(static_cast<int64_t>(layer->operands.size()), "operand", "operands"),
                        plural(static_cast<int64_t>(one.ranges.size()), "range", "ranges")),
                 "write a range or null for each operand, or leave out 'ranges' to calibrate them");
  }
  for (const Rule& rule : plan.rules)
    if (std::none_of(layers.begin(), layers.end(), [&](const auto& layer) { return matches(rule, layer); }))
      return bad(name, format("no layer matches layer '{}' and op '{}'", shortened(rule.layer), shortened(rule.op)),
                 listed());
  return ok();
}

}  // namespace relay::quantise
