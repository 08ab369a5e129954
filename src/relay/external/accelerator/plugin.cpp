// The plugin librelay_external_accelerator.so: executes functions of the accelerator, on the simulator, or with
// RELAY_ACCELERATOR_RTL=librelay_accelerator_rtl.so on the hardware that Verilator simulates (hardware/build).
//
// With RELAY_ACCELERATOR_LOG=FILE each call appends a line: {"symbol": "..", "cycles": 100, "multiply_adds": 25600}.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "relay/accelerator/cycles.h"
#include "relay/accelerator/machine.h"
#include "relay/accelerator/network.h"
#include "relay/runtime/relay_external.h"

namespace relay::accelerator {
namespace {

using Json = nlohmann::ordered_json;
using Bytes = std::vector<uint8_t>;

// hardware/simulation/rtl.h
using Rtl = int64_t (*)(uint8_t* memory, uint64_t memory_bytes, uint32_t begin, int32_t latency, int32_t interval,
                        int64_t limit);

// Null if the environment names no hardware.
Rtl hardware() {
  static const Rtl rtl = [] {
    const char* path = std::getenv("RELAY_ACCELERATOR_RTL");
    if (path == nullptr || *path == 0) return Rtl{};
    void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const Rtl found = library ? reinterpret_cast<Rtl>(::dlsym(library, "relay_accelerator_rtl")) : nullptr;
    if (found == nullptr) throw std::runtime_error(std::string("RELAY_ACCELERATOR_RTL: ") + ::dlerror());
    return found;
  }();
  return rtl;
}

struct Port {
  uint32_t address = 0;
  Array array;
};

class Function {
 public:
  Function(std::string symbol, const Json& description, Bytes constants, const Bytes& stream)
      : symbol_(std::move(symbol)),
        constants_(std::move(constants)),
        bytes_(description.at("memory_bytes")),
        begin_(description.at("stream")) {
    constexpr uint64_t most = uint64_t{1} << 32;
    if (bytes_ >= most || constants_.size() > bytes_ || begin_ > bytes_ || stream.size() > bytes_ - begin_)
      throw std::runtime_error("its memory has another size than its contents");
    for (const char* which : {"inputs", "outputs"})
      for (const Json& j : description.at(which)) ports(which).push_back(port(j));
    stream_ = read_stream(stream, 0);
    if (const auto fault = check(stream_, bytes_)) throw std::runtime_error(*fault);
    stream_bytes_ = stream;
    cycles_ = count_cycles(stream_, timing_).total;
    multiply_adds_ = description.at("multiply_adds");
    hardware();
  }

  void run(const relay_external_array* inputs, int32_t input_count, const relay_external_array* outputs,
           int32_t output_count) {
    check_arrays(inputs, input_count, inputs_, "input");
    check_arrays(outputs, output_count, outputs_, "result");
    std::unique_ptr<Bytes> memory = take();
    for (size_t k = 0; k < inputs_.size(); ++k)
      pack(inputs_[k].array, static_cast<const int8_t*>(inputs[k].data), memory->data() + inputs_[k].address);
    if (const Rtl rtl = hardware())
      execute(rtl, *memory);
    else
      Machine(*memory).run(stream_);
    for (size_t k = 0; k < outputs_.size(); ++k)
      unpack(outputs_[k].array, memory->data() + outputs_[k].address, outputs[k].data);
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(memory));
    log();
  }

 private:
  std::vector<Port>& ports(const std::string& which) { return which == "inputs" ? inputs_ : outputs_; }

  Port port(const Json& j) const {
    const std::vector<int> shape = j.at("shape");
    constexpr int most = 1 << 20;
    if (shape.size() != 4 || std::any_of(shape.begin(), shape.end(), [](int d) { return d < 1 || d > most; }))
      throw std::runtime_error("an array has another shape than four sizes");
    const Port p{j.at("address"), {shape[0], shape[1], shape[2], shape[3], j.at("bytes") == 4}};
    // Factor by factor: a product of four sizes may not fit into 64 bits.
    uint64_t beats = 1;
    for (const int d : {p.array.images, p.array.blocks(), p.array.height, p.array.width, p.array.is_wide ? 4 : 1})
      if ((beats *= static_cast<uint64_t>(d)) > bytes_) throw std::runtime_error("an array is larger than its memory");
    if (p.address > bytes_ || 16 * beats > bytes_ - p.address)
      throw std::runtime_error("an array is outside of its memory");
    return p;
  }

  static void check_arrays(const relay_external_array* arrays, int32_t count, const std::vector<Port>& ports,
                           const char* what) {
    if (static_cast<size_t>(count) != ports.size())
      throw std::runtime_error(std::string("another number of ") + what + "s");
    for (size_t k = 0; k < ports.size(); ++k) {
      int64_t elements = 1;
      for (int32_t d = 0; d < arrays[k].rank; ++d) elements *= arrays[k].shape[d];
      if (arrays[k].type_code != 0 || arrays[k].type_bits != (ports[k].array.is_wide ? 32 : 8) ||
          elements != ports[k].array.elements())
        throw std::runtime_error(std::string(what) + " " + std::to_string(k) + " has another type or size");
    }
  }

  // A memory with the constants and the stream; what other runs left behind is overwritten before it is read.
  std::unique_ptr<Bytes> take() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Bytes> memory = std::move(free_.back());
        free_.pop_back();
        return memory;
      }
    }
    auto memory = std::make_unique<Bytes>(bytes_);
    std::copy(constants_.begin(), constants_.end(), memory->begin());
    std::copy(stream_bytes_.begin(), stream_bytes_.end(), memory->begin() + static_cast<ptrdiff_t>(begin_));
    return memory;
  }

  void execute(Rtl rtl, Bytes& memory) const {
    const int64_t cycles = rtl(memory.data(), memory.size(), static_cast<uint32_t>(begin_), timing_.latency,
                               timing_.interval, 2 * cycles_ + 1000);
    if (cycles != cycles_)
      throw std::runtime_error("the hardware takes " + std::to_string(cycles) + " cycles, the cycle model counts " +
                               std::to_string(cycles_));
  }

  void log() const {
    const char* path = std::getenv("RELAY_ACCELERATOR_LOG");
    if (path == nullptr || *path == 0) return;
    std::ofstream file(path, std::ios::app);
    file << Json{{"symbol", symbol_}, {"cycles", cycles_}, {"multiply_adds", multiply_adds_}}.dump() + "\n";
    if (!file.flush()) throw std::runtime_error("RELAY_ACCELERATOR_LOG: it cannot be written");
  }

  std::string symbol_;
  Bytes constants_, stream_bytes_;
  uint64_t bytes_, begin_;
  Timing timing_;
  Stream stream_;
  int64_t cycles_ = 0, multiply_adds_ = 0;
  std::vector<Port> inputs_, outputs_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Bytes>> free_;  // memories of earlier runs
};

void say(relay_external_error* error, const char* text) {
  std::strncpy(error->text, text, sizeof(error->text) - 1);
  error->text[sizeof(error->text) - 1] = 0;
}

Bytes bytes_of(const relay_external_array& a) {
  if (a.type_code != 1 || a.type_bits != 8 || a.rank != 1) throw std::runtime_error("a constant is not a row of bytes");
  const uint8_t* data = static_cast<const uint8_t*>(a.data);
  return {data, data + a.shape[0]};
}

void* load(const relay_external_source* source, relay_external_error* error) try {
  const char* payload = static_cast<const char*>(source->payload);
  if (source->constant_count != 2) return say(error, "it has another number of constants"), nullptr;
  return new Function(source->symbol, Json::parse(payload, payload + source->payload_bytes),
                      bytes_of(source->constants[0]), bytes_of(source->constants[1]));
} catch (const std::exception& e) {
  return say(error, e.what()), nullptr;
}

int run(void* function, const relay_external_array* inputs, int32_t input_count, const relay_external_array* outputs,
        int32_t output_count, int32_t, relay_external_error* error) try {
  static_cast<Function*>(function)->run(inputs, input_count, outputs, output_count);
  return 0;
} catch (const std::exception& e) {
  return say(error, e.what()), 1;
}

void unload(void* function) { delete static_cast<Function*>(function); }

}  // namespace
}  // namespace relay::accelerator

const relay_external_library* relay_external_plugin() {
  using namespace relay::accelerator;
  static constexpr relay_external_library library{RELAY_EXTERNAL_VERSION, "accelerator", load, run, unload};
  return &library;
}
