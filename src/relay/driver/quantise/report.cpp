#include "relay/driver/quantise/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "relay/base/bytes.h"
#include "relay/base/text.h"

namespace relay::driver {

static std::string number(const std::optional<double>& value, int digits) {
  return value ? format("{:.{}f}", *value, digits) : "-";
}
static std::string percent(const std::optional<double>& share) {
  return share ? format("{:.2f} %", 100 * *share) : "-";
}

static std::string last_line(const QuantiseReport& r) {
  std::vector<std::string> parts;
  if (r.speedup) {
    const double ratio = *r.speedup >= 1 ? *r.speedup : 1 / *r.speedup;
    std::string part = format("{:.2f} times {}", ratio, *r.speedup >= 1 ? "faster" : "slower");
    if (r.interval) part += format(" ({:.2f} to {:.2f} times the speed)", r.interval->low, r.interval->high);
    parts.push_back(part);
  }
  if (r.integer_bytes > 0)
    parts.push_back(
        format("{:.2f} times smaller", static_cast<double>(r.float_bytes) / static_cast<double>(r.integer_bytes)));
  if (r.samples > 0)
    parts.push_back(
        format("error {} on {}", percent(r.error), plural(static_cast<int64_t>(r.samples), "sample", "samples")));
  if (r.accuracy) parts.push_back(format("accuracy {} instead of {}", percent(r.accuracy), percent(r.float_accuracy)));
  return format("{}", join(parts, ", "));
}

static std::string computed_in(const LayerReport& layer) {
  if (!layer.integer) return format("float: {}", layer.reason);
  if (layer.stores_only) return "floats of integers";
  return layer.bits == 8 ? "integers" : format("integers of {} bits", layer.bits);
}

// "most sensitive: a 0.30 %, b 0.10 %"; empty if it was not measured.
static std::string ranking(const QuantiseReport& r) {
  constexpr size_t most = 8;
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(most, r.ranking.size()); ++i)
    parts.push_back(format("{} {}", r.ranking[i].second, percent(r.ranking[i].first)));
  if (r.ranking.size() > most) parts.push_back(format("{} others", r.ranking.size() - most));
  return parts.empty() ? "" : format("most sensitive: {}\n", join(parts, ", "));
}

std::string str(const QuantiseReport& r) {
  size_t name = 5, op = 8;
  for (const LayerReport& layer : r.layers)
    name = std::max(name, layer.layer.size()), op = std::max(op, layer.op.size());
  name = std::min<size_t>(name, 48);
  std::string out = format("{:<{}} {:<{}} {:>10} {:>10} {:>10} {:>10} {:>8}  {}\n", "layer", name, "operator", op,
                           "float us", "int us", "float B", "int B", "error", "computed in; place");
  for (const LayerReport& layer : r.layers)
    out += format("{:<{}} {:<{}} {:>10} {:>10} {:>10} {:>10} {:>8}  {}\n", layer.layer, name, layer.op, op,
                  number(layer.float_us, 1), number(layer.integer_us, 1), layer.float_bytes, layer.integer_bytes,
                  percent(layer.error),
                  format("{}{}{}", computed_in(layer), layer.place.empty() ? "" : "; ", layer.place));
  out += format("{:<{}} {:<{}} {:>10} {:>10} {:>10} {:>10} {:>8}\n", "all", name, "", op, number(r.float_us, 1),
                number(r.integer_us, 1), r.float_bytes, r.integer_bytes, r.samples > 0 ? percent(r.error) : "-");
  return out + ranking(r) + last_line(r) + "\n";
}

std::string json(const QuantiseReport& r) {
  using Json = nlohmann::ordered_json;
  const auto maybe = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  Json layers = Json::array();
  for (const LayerReport& layer : r.layers)
    layers.push_back({{"layer", layer.layer},
                      {"op", layer.op},
                      {"place", layer.place},
                      {"integer", layer.integer},
                      {"stores_only", layer.stores_only},
                      {"bits", layer.bits},
                      {"reason", layer.reason},
                      {"float_us", maybe(layer.float_us)},
                      {"integer_us", maybe(layer.integer_us)},
                      {"float_bytes", layer.float_bytes},
                      {"integer_bytes", layer.integer_bytes},
                      {"error", maybe(layer.error)}});
  Json ranked = Json::array();
  for (const auto& [error, layer] : r.ranking) ranked.push_back(layer);
  const Json out = {{"layers", layers},
                    {"float_us", maybe(r.float_us)},
                    {"integer_us", maybe(r.integer_us)},
                    {"speedup", maybe(r.speedup)},
                    {"speedup_interval", r.interval ? Json{r.interval->low, r.interval->high} : Json()},
                    {"float_bytes", r.float_bytes},
                    {"integer_bytes", r.integer_bytes},
                    {"samples", r.samples},
                    {"error", r.error},
                    {"float_accuracy", maybe(r.float_accuracy)},
                    {"accuracy", maybe(r.accuracy)},
                    {"ranking", ranked},
                    {"excluded", r.excluded},
                    {"notes", r.notes}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace relay::driver
