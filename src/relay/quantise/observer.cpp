#include "relay/quantise/observer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <span>

#include "relay/op/define.h"
#include "relay/op/registry.h"
#include "relay/runtime/relay_external.h"

namespace relay::quantise {

static constexpr const char *operator_name = "relay.observe", *library_name = "relay_observe";
static constexpr size_t bins = 2048;

struct Observations {
  std::mutex mutex;
  bool has_ranges = false;
  std::vector<Site> sites;

  void record(size_t at, std::span<const float> values) {
    std::lock_guard<std::mutex> lock(mutex);
    Site& site = sites.at(at);
    for (const float value : values) {
      const double x = value;
      if (has_ranges) {
        if (std::isfinite(x)) site.histogram.counts[site.histogram.bin(x)] += 1;
        continue;
      }
      ++site.elements;
      if (std::isfinite(x))
        site.histogram.least = std::min(site.histogram.least, x),
        site.histogram.most = std::max(site.histogram.most, x);
      else
        ++site.not_finite;
    }
    if (!has_ranges && (!site.largest.empty() || !site.products.empty())) record_rows(site, values);
  }

  static void record_rows(Site& site, std::span<const float> values) {
    const size_t length = site.length;
    std::vector<double> row(length);
    for (size_t begin = 0; begin + length <= values.size(); begin += length) {
      for (size_t i = 0; i < length; ++i) row[i] = static_cast<double>(values[begin + i]);
      if (!std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); })) continue;
      for (size_t i = 0; i < site.largest.size(); ++i) site.largest[i] = std::max(site.largest[i], std::abs(row[i]));
      if (site.products.empty()) continue;
      double* to = site.products.data();
      for (size_t i = 0; i < length; to += ++i)
        for (size_t j = 0; j <= i; ++j) to[j] += row[i] * row[j];
    }
  }
};

namespace {
// Never destroyed: programs may outlive everything else.
struct Observers {
  std::mutex mutex;
  int64_t next = 0;
  std::map<int64_t, std::weak_ptr<Observations>> by_number;

  std::shared_ptr<Observations> find(int64_t number) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = by_number.find(number);
    return it == by_number.end() ? nullptr : it->second.lock();
  }
};

struct Place {
  int64_t observer = 0, site = 0;
};
}  // namespace

static Observers& observers() {
  static Observers* const all = new Observers;
  return *all;
}

// False if the observer is gone.
static bool record(const Place& place, const void* data, int64_t elements) {
  const std::shared_ptr<Observations> to = observers().find(place.observer);
  if (to) to->record(static_cast<size_t>(place.site), {static_cast<const float*>(data), static_cast<size_t>(elements)});
  return to != nullptr;
}

// --- the library of compiled programs --------------------------------------------------------------------------------
static void* load(const relay_external_source* source, relay_external_error*) {
  std::vector<std::string_view> words =
      split(std::string_view(static_cast<const char*>(source->payload), source->payload_bytes), ' ');
  RELAY_CHECK(words.size() == 2, "the payload of {} has {} words", operator_name, words.size());
  return new Place{std::stoll(std::string(words[0])), std::stoll(std::string(words[1]))};
}

static int run(void* function, const relay_external_array* inputs, int32_t, const relay_external_array* outputs,
               int32_t, int32_t, relay_external_error* error) {
  int64_t elements = 1;
  for (int32_t d = 0; d < inputs->rank; ++d) elements *= inputs->shape[d];
  if (!record(*static_cast<const Place*>(function), inputs->data, elements)) {
    std::strncpy(error->text, "its observer is gone", sizeof(error->text) - 1);
    return 1;
  }
  std::memcpy(outputs->data, inputs->data, static_cast<size_t>(elements) * sizeof(float));
  return 0;
}

static void unload(void* function) { delete static_cast<Place*>(function); }

static constexpr relay_external_library library{RELAY_EXTERNAL_VERSION, library_name, load, run, unload};

// --- the operator ----------------------------------------------------------------------------------------------------
static Place place_of(const op::Attrs& attrs) {
  return {std::get<int64_t>(attrs->get(0)), std::get<int64_t>(attrs->get(1))};
}

static ir::Expr define() {
  relay_external_register(&library);
  op::OpDef def;
  def.name = operator_name, def.doc = "Returns its input, and counts its values for calibration.";
  def.inputs = {{"data", "float32, any shape"}};
  Result<const ir::AttrsType*> attributes = op::custom_attributes(
      operator_name, {{"observer", "", "int", int64_t{0}, false}, {"site", "", "int", int64_t{0}, false}});
  RELAY_CHECK(attributes, "{}", render(attributes.errors()));
  def.attrs_type = *attributes;
  def.infer = [](const op::Attrs&, const ir::Types& in) -> Result<ir::Type> { return in[0]; };
  op::Callback callback;
  callback.library = library_name;
  callback.payload = [](const op::Attrs& attrs) {
    const Place place = place_of(attrs);
    return format("{} {}", place.observer, place.site);
  };
  callback.run = [](const op::Attrs& attrs, const std::vector<Tensor>& in, const std::vector<Tensor>& out) -> Status {
    record(place_of(attrs), in[0].data(), in[0].elements());
    std::memcpy(const_cast<void*>(out[0].data()), in[0].data(), in[0].bytes());
    return ok();
  };
  Result<ir::Expr> made = op::define_operator(std::move(def), std::move(callback));
  RELAY_CHECK(made, "{}", render(made.errors()));
  return *made;
}

Observer::Observer(size_t sites) : observations_(std::make_shared<Observations>()) {
  const double infinity = std::numeric_limits<double>::infinity();
  observations_->sites.resize(sites);
  for (Site& site : observations_->sites) site.histogram = {infinity, -infinity, {}};
  Observers& all = observers();
  std::lock_guard<std::mutex> lock(all.mutex);
  number_ = all.next++;
  all.by_number[number_] = observations_;
}

Observer::~Observer() {
  Observers& all = observers();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.by_number.erase(number_);
}

ir::Expr Observer::observe(const ir::Expr& value, size_t site) const {
  static const ir::Expr defined = define();
  (void)defined;
  return op::make(operator_name, {value}, {{"observer", number_}, {"site", static_cast<int64_t>(site)}}, value->span);
}

void Observer::find_largest(size_t site, int64_t length) {
  observations_->sites.at(site).length = static_cast<size_t>(length);
  observations_->sites.at(site).largest.assign(static_cast<size_t>(length), 0);
}

void Observer::find_products(size_t site, int64_t length) {
  observations_->sites.at(site).length = static_cast<size_t>(length);
  observations_->sites.at(site).products.assign(static_cast<size_t>(length * (length + 1) / 2), 0);
}

void Observer::finish_ranges() {
  std::lock_guard<std::mutex> lock(observations_->mutex);
  observations_->has_ranges = true;
  for (Site& site : observations_->sites) site.histogram.counts.assign(bins, 0);
}

const Site& Observer::site(size_t site) const { return observations_->sites.at(site); }

}  // namespace relay::quantise
