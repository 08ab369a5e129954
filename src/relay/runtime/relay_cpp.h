// The C interface of the Relay runtime (relay_c.h) in C++17: objects that release what they own, and exceptions.
//
//   relay::api::Model model("resnet.rart");
//   std::vector<float> pixels(1 * 3 * 224 * 224);
//   std::vector<relay::api::Tensor> out = model.run({relay::api::Tensor::of(pixels.data(), {1, 3, 224, 224})});
//   const float* scores = out[0].data<float>();
//
// A header only: programs link librelay_runtime.so. Its own version is that of the C interface that it was written for;
// it calls nothing that a library of that version lacks.
#ifndef RELAY_CPP_H
#define RELAY_CPP_H

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "relay/runtime/relay_c.h"

namespace relay::api {

// A failure of the runtime; what() is its message, with a way out.
class Error : public std::runtime_error {
 public:
  explicit Error(relay_status status) : Error(status, relay_last_error()) {}
  Error(relay_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  relay_status status() const { return status_; }

 private:
  relay_status status_;
};

inline void check(relay_status status) {
  if (status != RELAY_OK) throw Error(status);
}

// Throws unless the library has at least the version of the interface that this header needs.
inline void check_version() {
  if (relay_c_version() < RELAY_C_VERSION)
    throw Error(RELAY_INCOMPATIBLE, "librelay_runtime.so has version " + std::to_string(relay_c_version()) +
                                        " of the interface, and " + std::to_string(RELAY_C_VERSION) + " is needed");
}

// The element type of C++ types. Halves and narrower floats have none: use Tensor::raw().
template <class T>
constexpr relay_dtype dtype_of();
#define RELAY_CPP_DTYPE(type, dtype)       \
  template <>                              \
  constexpr relay_dtype dtype_of<type>() { \
    return dtype;                          \
  }
RELAY_CPP_DTYPE(float, RELAY_FLOAT32)
RELAY_CPP_DTYPE(double, RELAY_FLOAT64)
RELAY_CPP_DTYPE(int8_t, RELAY_INT8)
RELAY_CPP_DTYPE(int16_t, RELAY_INT16)
RELAY_CPP_DTYPE(int32_t, RELAY_INT32)
RELAY_CPP_DTYPE(int64_t, RELAY_INT64)
RELAY_CPP_DTYPE(uint8_t, RELAY_UINT8)
RELAY_CPP_DTYPE(uint16_t, RELAY_UINT16)
RELAY_CPP_DTYPE(uint32_t, RELAY_UINT32)
RELAY_CPP_DTYPE(uint64_t, RELAY_UINT64)
RELAY_CPP_DTYPE(bool, RELAY_BOOL)
#undef RELAY_CPP_DTYPE

// A dense array, row by row: memory of the caller, or a result that the runtime allocated. Copies share the memory; the
// last one releases a result.
class Tensor {
 public:
  Tensor() : held_(std::make_shared<Held>()) {}  // for a result that the runtime allocates
  // Refers to memory of the caller, which must outlive it.
  template <class T>
  static Tensor of(T* data, std::vector<int64_t> shape) {
    return raw(const_cast<std::remove_const_t<T>*>(data), std::move(shape), dtype_of<std::remove_const_t<T>>());
  }
  static Tensor raw(void* data, std::vector<int64_t> shape, relay_dtype dtype) {
    Tensor made;
    Held& held = *made.held_;
    held.shape = std::move(shape);
    held.tensor = {data, held.shape.data(), static_cast<int32_t>(held.shape.size()), dtype, nullptr};
    return made;
  }

  relay_dtype dtype() const { return c().dtype; }
  std::vector<int64_t> shape() const { return {c().shape, c().shape + c().rank}; }
  int64_t size() const {  // elements
    int64_t product = 1;
    for (int32_t i = 0; i < c().rank; ++i) product *= c().shape[i];
    return product;
  }
  template <class T>
  T* data() const {
    if (c().dtype != dtype_of<std::remove_const_t<T>>())
      throw Error(RELAY_BAD_ARGUMENT, "the elements of the tensor have another type than the one asked for");
    return static_cast<T*>(c().data);
  }
  void* raw_data() const { return c().data; }
  relay_tensor& c() const { return held_->tensor; }

 private:
  struct Held {
    Held() = default;
    Held(const Held&) = delete;
    ~Held() {
      if (tensor.owner) relay_tensor_release(&tensor);
    }
    relay_tensor tensor{};
    std::vector<int64_t> shape;
  };
  std::shared_ptr<Held> held_;
};

// The structs of a call. Results come back to `outputs`, those that the runtime allocated included.
namespace detail {
template <class Run>
void run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, Run call) {
  std::vector<relay_tensor> in, out;
  for (const Tensor& t : inputs) in.push_back(t.c());
  for (const Tensor& t : outputs) out.push_back(t.c());
  check(call(in.data(), in.size(), out.data(), out.size()));
  for (size_t i = 0; i < out.size(); ++i)
    if (!outputs[i].c().data) outputs[i].c() = out[i];
}
}  // namespace detail

struct Port {
  std::string name;
  relay_dtype dtype = RELAY_FLOAT32;
  bool is_tensor = true;
  std::vector<int64_t> dims;  // -1: symbolic
};

// A compiled model. May be run from several threads at once.
class Model {
 public:
  // `threads`: at most; 0 for all cores that this process may use.
  explicit Model(const std::string& path, int threads = 0) {
    check_version();
    const relay_load_options options{sizeof options, threads};
    check(relay_model_load(path.c_str(), &options, &model_));
  }
  Model(Model&& other) noexcept : model_(std::exchange(other.model_, nullptr)) {}
  Model& operator=(Model&& other) noexcept {
    std::swap(model_, other.model_);
    return *this;
  }
  ~Model() {
    if (model_) relay_model_free(model_);
  }

  std::vector<Port> inputs() const { return ports(relay_model_input_count(model_), relay_model_input); }
  std::vector<Port> outputs() const { return ports(relay_model_output_count(model_), relay_model_output); }
  std::string executor() const { return relay_model_executor(model_); }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    std::vector<Tensor> outputs(relay_model_output_count(model_));
    run(inputs, outputs);
    return outputs;
  }
  // Writes to the memory of outputs that have some.
  void run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) const {
    detail::run(inputs, outputs, [&](relay_tensor* in, size_t in_count, relay_tensor* out, size_t out_count) {
      return relay_model_run(model_, in, in_count, out, out_count);
    });
  }
  relay_model* c() const { return model_; }

 private:
  template <class Get>
  std::vector<Port> ports(size_t count, Get get) const {
    std::vector<Port> made;
    for (size_t i = 0; i < count; ++i) {
      relay_port port{};
      check(get(model_, i, &port));
      made.push_back({port.name, port.dtype, port.rank >= 0, {}});
      for (int32_t d = 0; d < port.rank; ++d) made.back().dims.push_back(port.dims[d]);
    }
    return made;
  }

  relay_model* model_ = nullptr;
};

// A model with state of its own, which lives from run to run (relay compile --donate INPUT=RESULT).
class Session {
 public:
  explicit Session(const Model& model) { check(relay_session_new(model.c(), &session_)); }
  Session(Session&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(session_, other.session_);
    return *this;
  }
  ~Session() {
    if (session_) relay_session_free(session_);
  }

  // `outputs`: as many as the model has results that are not state; empty ones are allocated by the runtime.
  void run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
    detail::run(inputs, outputs, [&](relay_tensor* in, size_t in_count, relay_tensor* out, size_t out_count) {
      return relay_session_run(session_, in, in_count, out, out_count);
    });
  }
  size_t state_count() const { return relay_session_state_count(session_); }
  Tensor state(size_t index) const {  // a copy
    Tensor made;
    check(relay_session_get(session_, index, &made.c()));
    return made;
  }
  void set_state(size_t index, const Tensor& value) { check(relay_session_set(session_, index, &value.c())); }
  void reset() { check(relay_session_reset(session_)); }

 private:
  relay_session* session_ = nullptr;
};

// A value of a program: a tensor, a tuple, data, a function or a reference. Copies share it.
class Value {
 public:
  Value() = default;
  explicit Value(const Tensor& tensor) {  // copies the elements
    check(relay_value_from_tensor(&tensor.c(), nullptr, nullptr, &value_));
  }
  static Value tuple(const std::vector<Value>& fields) {
    return made([&](relay_value** v) { return relay_value_tuple(pointers(fields).data(), fields.size(), v); });
  }
  static Value data(const Model& model, const char* type, const char* constructor, const std::vector<Value>& fields) {
    return made([&](relay_value** v) {
      return relay_value_data(model.c(), type, constructor, pointers(fields).data(), fields.size(), v);
    });
  }
  static Value call(const Model& model, const std::vector<Value>& args) {
    return made([&](relay_value** v) { return relay_model_call(model.c(), pointers(args).data(), args.size(), v); });
  }
  Value(const Value& other) : value_(other.value_ ? relay_value_copy(other.value_) : nullptr) {}
  Value(Value&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Value() {
    if (value_) relay_value_free(value_);
  }

  relay_kind kind() const { return relay_value_kind(value_); }
  std::string constructor() const {
    const char* name = relay_value_constructor(value_);
    return name ? name : "";
  }
  size_t size() const { return relay_value_field_count(value_); }
  Value field(size_t index) const {
    return made([&](relay_value** v) { return relay_value_field(value_, index, v); });
  }
  Tensor tensor() const {  // refers to the value's elements, which live as long as the value
    relay_tensor t{};
    check(relay_value_as_tensor(value_, &t));
    return Tensor::raw(t.data, {t.shape, t.shape + t.rank}, t.dtype);
  }
  std::string text() const {
    std::string out(relay_value_text(value_, nullptr, 0), '\0');
    relay_value_text(value_, out.data(), out.size() + 1);
    return out;
  }

 private:
  template <class Make>
  static Value made(Make make) {
    Value value;
    check(make(&value.value_));
    return value;
  }
  static std::vector<relay_value*> pointers(const std::vector<Value>& values) {
    std::vector<relay_value*> out;
    for (const Value& v : values) out.push_back(v.value_);
    return out;
  }

  relay_value* value_ = nullptr;
};

}  // namespace relay::api
#endif
