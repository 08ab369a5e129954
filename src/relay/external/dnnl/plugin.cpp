// The plugin librelay_external_dnnl.so: runs functions of the dnnl compiler with oneDNN.
//
// Functions with known sizes are prepared when they are loaded, including weights in oneDNN's layouts; others when they
// see new sizes. Plans of the most recent sizes are kept.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "relay/external/dnnl/plan.h"
#include "relay/runtime/relay_external.h"

namespace relay::onednn {
namespace {

constexpr size_t max_plans = 16;  // for different sizes

class Function {
 public:
  Function(Json program, std::vector<std::pair<Dims, void*>> constants)
      : program_(std::move(program)), constants_(std::move(constants)) {}

  // For the current number of threads: oneDNN divides work when a primitive is created.
  std::shared_ptr<Plan> plan(const std::vector<Dims>& inputs, const std::vector<Dims>& outputs, int threads) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Key key{inputs, threads};
    if (auto found = plans_.find(key); found != plans_.end()) return found->second;
    if (plans_.size() >= max_plans) plans_.clear();
    return plans_[key] = std::make_shared<Plan>(program_, constants_, inputs, outputs);
  }

 private:
  Json program_;
  PackedConstants constants_;
  using Key = std::pair<std::vector<Dims>, int>;
  std::map<Key, std::shared_ptr<Plan>> plans_;
  std::mutex mutex_;
};

void say(relay_external_error* error, const char* text) {
  std::strncpy(error->text, text, sizeof(error->text) - 1);
  error->text[sizeof(error->text) - 1] = 0;
}

bool is_float32(const relay_external_array& a) { return a.type_code == 2 && a.type_bits == 32; }

Dims dims_of(const relay_external_array& a) { return {a.shape, a.shape + a.rank}; }

// Sets OpenMP's number of threads for the calling thread, if oneDNN was built with it; 0: all cores. Returns the
// number.
int use_threads(int32_t threads) {
  using Set = void (*)(int);
  using Get = int (*)();
  static const Set set = reinterpret_cast<Set>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  static const Get get = reinterpret_cast<Get>(::dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  if (set != nullptr && threads > 0) set(threads);
  return get != nullptr ? get() : 1;
}

void* load(const relay_external_source* source, relay_external_error* error) try {
  Json program = Json::parse(static_cast<const char*>(source->payload),
                             static_cast<const char*>(source->payload) + source->payload_bytes);
  std::vector<std::pair<Dims, void*>> constants;
  for (int32_t i = 0; i < source->constant_count; ++i) {
    if (!is_float32(source->constants[i])) return say(error, "a constant is not of float32"), nullptr;
    constants.emplace_back(dims_of(source->constants[i]), source->constants[i].data);
  }
  if (constants.size() != program.at("constants").get<size_t>())
    return say(error, "it has another number of constants"), nullptr;
  const std::vector<Dims> inputs = program.at("inputs"), outputs = program.at("shapes");
  std::unique_ptr<Function> made = std::make_unique<Function>(std::move(program), std::move(constants));
  auto known = [](const std::vector<Dims>& all) {
    return std::all_of(all.begin(), all.end(), [](const Dims& dims) {
      return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d > 0; });
    });
  };
  if (known(inputs) && known(outputs)) made->plan(inputs, outputs, use_threads(0));
  return made.release();
} catch (const std::exception& e) {
  return say(error, e.what()), nullptr;
}

int run(void* function, const relay_external_array* inputs, int32_t input_count, const relay_external_array* outputs,
        int32_t output_count, int32_t threads, relay_external_error* error) try {
  std::vector<Dims> in, out;
  std::vector<void*> read, written;
  bool empty = true;
  for (int32_t i = 0; i < input_count; ++i) {
    if (!is_float32(inputs[i])) return say(error, "an input is not of float32"), 1;
    in.push_back(dims_of(inputs[i])), read.push_back(inputs[i].data);
  }
  for (int32_t i = 0; i < output_count; ++i) {
    if (!is_float32(outputs[i])) return say(error, "a result is not of float32"), 1;
    out.push_back(dims_of(outputs[i])), written.push_back(outputs[i].data);
    empty &= std::count(out.back().begin(), out.back().end(), 0) > 0;
  }
  if (empty) return 0;
  static_cast<Function*>(function)->plan(in, out, use_threads(std::max(threads, 1)))->run(read, written);
  return 0;
} catch (const std::exception& e) {
  return say(error, e.what()), 1;
}

void unload(void* function) { delete static_cast<Function*>(function); }

}  // namespace
}  // namespace relay::onednn

const relay_external_library* relay_external_plugin() {
  using namespace relay::onednn;
  static constexpr relay_external_library library{RELAY_EXTERNAL_VERSION, "dnnl", load, run, unload};
  return &library;
}
