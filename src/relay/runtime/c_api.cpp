// Implements relay_c.h on Executable. No exception crosses this interface.
#include <atomic>
#include <cstring>
#include <new>

#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/relay_c.h"
#include "relay/runtime/session.h"

using namespace relay;
using namespace relay::runtime;

namespace {

struct PortTexts {
  std::string name;
  relay_dtype dtype;
  std::vector<int64_t> dims;
  std::vector<const char*> dim_texts;
  std::string type;
  bool is_tensor;
};

}  // namespace

struct relay_model {
  std::shared_ptr<Executable> executable;
  std::vector<PortTexts> inputs, outputs;
  std::atomic<int64_t> batched_calls{0}, batches{0};

  void add(const Report& report) {
    batched_calls.fetch_add(report.batched_calls, std::memory_order_relaxed);
    batches.fetch_add(report.batches, std::memory_order_relaxed);
  }
};

struct relay_session {
  std::unique_ptr<Session> session;
  std::vector<PortTexts> states;
};

namespace {

thread_local std::string last_error;

relay_status fail(relay_status status, std::string message) {
  last_error = std::move(message);
  return status;
}

relay_status null_pointer() { return fail(RELAY_BAD_ARGUMENT, "a null pointer was given"); }

relay_status fail(const Diagnostics& errors) {
  relay_status status = RELAY_INTERNAL;
  switch (errors.front().kind) {
    case DiagnosticKind::file_not_found:
    case DiagnosticKind::corrupt_file:
    case DiagnosticKind::limit_exceeded: status = RELAY_BAD_FILE; break;
    case DiagnosticKind::incompatible_artifact: status = RELAY_INCOMPATIBLE; break;
    case DiagnosticKind::bad_option: status = RELAY_BAD_ARGUMENT; break;
    case DiagnosticKind::index_out_of_range:
    case DiagnosticKind::wrong_input: status = RELAY_WRONG_INPUT; break;
    case DiagnosticKind::out_of_memory: status = RELAY_OUT_OF_MEMORY; break;
    default: break;
  }
  return fail(status, render(errors));
}

// Runs `body` and converts exceptions to a status.
template <class Body>
relay_status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(RELAY_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return fail(RELAY_INTERNAL, e.what());
  }
}

// In the order of relay_dtype.
constexpr DType dtypes[] = {DType::float32(),
                            DType::float64(),
                            DType::float16(),
                            DType::bfloat16(),
                            DType::int8(),
                            DType::int16(),
                            DType::int32(),
                            DType::int64(),
                            DType::uint8(),
                            DType::uint16(),
                            DType::uint32(),
                            DType::uint64(),
                            DType::boolean(),
                            DType::storage(DType::Code::E4M3FN),
                            DType::storage(DType::Code::E4M3FNUZ),
                            DType::storage(DType::Code::E5M2),
                            DType::storage(DType::Code::E5M2FNUZ),
                            DType::storage(DType::Code::E8M0FNU),
                            DType::storage(DType::Code::E2M1FN),
                            DType::storage(DType::Code::Int4),
                            DType::storage(DType::Code::UInt4),
                            DType::storage(DType::Code::Int2),
                            DType::storage(DType::Code::UInt2),
                            DType::storage(DType::Code::E2M3FN),
                            DType::storage(DType::Code::E3M2FN),
                            DType::storage(DType::Code::E4M3),
                            DType::storage(DType::Code::E3M4),
                            DType::storage(DType::Code::E4M3B11FNUZ)};

relay_dtype to_c(DType dtype) {
  for (size_t i = 0; i < std::size(dtypes); ++i)
    if (dtypes[i] == dtype) return static_cast<relay_dtype>(i);
  return RELAY_UINT8;
}

std::vector<PortTexts> to_c(const std::vector<PortInfo>& infos) {
  std::vector<PortTexts> ports;
  for (const PortInfo& info : infos) {
    PortTexts port{info.name, to_c(info.dtype), info.dims, {}, info.type, info.is_tensor};
    for (const std::string& text : info.dim_texts) port.dim_texts.push_back(text.c_str());
    ports.push_back(std::move(port));
  }
  return ports;
}

// Shares the caller's memory. Returns no value for an invalid description.
Tensor from_c(const relay_tensor& t) {
  if (t.rank < 0 || static_cast<size_t>(t.rank) > Limits::rank || (t.rank > 0 && t.shape == nullptr)) return {};
  if (static_cast<size_t>(t.dtype) >= std::size(dtypes)) return {};
  Shape shape(t.shape, t.shape + t.rank);
  std::optional<int64_t> elements = element_count(shape);
  if (!elements || (t.data == nullptr && *elements > 0)) return {};
  return Tensor::view(t.data, std::move(shape), dtypes[t.dtype], nullptr);
}

// The caller owns the result.
relay_tensor owned(const Tensor& t) {
  Tensor* owner = new Tensor(t);
  return {owner->mutable_data(), owner->shape().data(), owner->rank(), to_c(owner->dtype()), owner};
}

relay_status port(const std::vector<PortTexts>* ports, size_t index, relay_port* out) {
  if (ports == nullptr || out == nullptr) return null_pointer();
  if (index >= ports->size()) return fail(RELAY_BAD_ARGUMENT, format("index {} of {}", index, ports->size()));
  const PortTexts& p = (*ports)[index];
  *out = {p.name.c_str(), p.dtype, p.is_tensor ? static_cast<int32_t>(p.dims.size()) : -1, p.dims.data(),
          p.dim_texts.data()};
  return RELAY_OK;
}

// --- values ---

Object* from_c(const relay_value* v) { return reinterpret_cast<Object*>(const_cast<relay_value*>(v)); }
relay_value* to_c(Value v) { return reinterpret_cast<relay_value*>(v.detach()); }

// Returns false and sets a status if a pointer is null.
bool from_c(relay_value* const* values, size_t count, std::vector<Value>& out) {
  if (values == nullptr && count > 0) return false;
  for (size_t i = 0; i < count; ++i) {
    if (values[i] == nullptr) return false;
    out.push_back(Value::share(from_c(values[i])));
  }
  return true;
}

relay_status give(Result<Value> made, relay_value** out) {
  if (!made) return fail(made.errors());
  *out = to_c(std::move(*made));
  return RELAY_OK;
}

// `runs`: an Executable or a Session.
template <class Runs>
relay_status run(Runs& runs, const relay_tensor* inputs, size_t input_count, relay_tensor* outputs,
                 size_t output_count) {
  if ((inputs == nullptr && input_count > 0) || (outputs == nullptr && output_count > 0)) return null_pointer();
  std::vector<Tensor> in, out;
  for (size_t i = 0; i < input_count; ++i) {
    in.push_back(from_c(inputs[i]));
    if (!in.back() && inputs[i].data != nullptr)
      return fail(RELAY_BAD_ARGUMENT, format("the shape or dtype of input {} is not valid", i));
  }
  for (size_t i = 0; i < output_count; ++i) {
    out.push_back(outputs[i].data ? from_c(outputs[i]) : Tensor());
    if (!out.back() && outputs[i].data != nullptr)
      return fail(RELAY_BAD_ARGUMENT, format("the shape or dtype of output {} is not valid", i));
  }
  Status status = runs.run_into(in, out);
  if (!status) return fail(status.errors());
  for (size_t i = 0; i < output_count; ++i)
    if (outputs[i].data == nullptr) outputs[i] = owned(out[i]);
  return RELAY_OK;
}

const char* type_of(const std::vector<PortTexts>* ports, size_t index) {
  return ports && index < ports->size() ? (*ports)[index].type.c_str() : nullptr;
}

}  // namespace

extern "C" {

uint32_t relay_c_version(void) { return RELAY_C_VERSION; }
const char* relay_last_error(void) { return last_error.c_str(); }

relay_status relay_model_load(const char* path, const relay_load_options* supplied, relay_model** model) {
  return guarded([&] {
    if (path == nullptr || model == nullptr) return null_pointer();
    *model = nullptr;
    ExecutableOptions options;
    if (supplied && supplied->struct_bytes >= sizeof(relay_load_options)) options.threads = supplied->threads;
    Result<std::shared_ptr<Executable>> loaded = load_executable(path, options);
    if (!loaded) return fail(loaded.errors());
    *model = new relay_model{*loaded, to_c((*loaded)->inputs()), to_c((*loaded)->outputs())};
    return RELAY_OK;
  });
}

void relay_model_free(relay_model* model) { delete model; }

size_t relay_model_input_count(const relay_model* model) { return model ? model->inputs.size() : 0; }
size_t relay_model_output_count(const relay_model* model) { return model ? model->outputs.size() : 0; }
relay_status relay_model_input(const relay_model* model, size_t index, relay_port* out) {
  return guarded([&] { return port(model ? &model->inputs : nullptr, index, out); });
}
relay_status relay_model_output(const relay_model* model, size_t index, relay_port* out) {
  return guarded([&] { return port(model ? &model->outputs : nullptr, index, out); });
}

relay_status relay_model_run(relay_model* model, const relay_tensor* inputs, size_t input_count, relay_tensor* outputs,
                             size_t output_count) {
  return guarded([&] {
    if (model == nullptr) return null_pointer();
    return run(*model->executable, inputs, input_count, outputs, output_count);
  });
}

void relay_tensor_release(relay_tensor* tensor) {
  if (tensor == nullptr) return;
  delete static_cast<Tensor*>(tensor->owner);
  *tensor = relay_tensor{};
}

// --- values ----------------------------------------------------------------------------------------------------------

relay_value* relay_value_copy(const relay_value* value) {
  return value ? reinterpret_cast<relay_value*>(retain(from_c(value))) : nullptr;
}
void relay_value_free(relay_value* value) {
  if (value) release(from_c(value));
}

relay_status relay_value_from_tensor(const relay_tensor* tensor, void (*release)(void*), void* context,
                                     relay_value** value) {
  return guarded([&] {
    if (tensor == nullptr || value == nullptr) return null_pointer();
    Tensor view = from_c(*tensor);
    if (!view && !(view.rank() > 0 && view.elements() == 0))
      return fail(RELAY_BAD_ARGUMENT, "the shape, dtype or data of the tensor is not valid");
    if (release == nullptr) {
      Tensor copy = Tensor::empty(view.shape(), view.dtype());
      if (view.bytes() > 0) std::memcpy(copy.mutable_data(), view.data(), view.bytes());
      *value = to_c(Value::donated(copy));
      return RELAY_OK;
    }
    // Armed only after the value is made: on failure the caller keeps ownership of the memory.
    struct Owner {
      void (*release)(void*) = nullptr;
      void* context = nullptr;
      ~Owner() {
        if (release) release(context);
      }
    };
    std::shared_ptr<Owner> owner = std::make_shared<Owner>();
    Value made = Value::tensor(Tensor::view(tensor->data, view.shape(), view.dtype(), owner));
    owner->release = release;
    owner->context = context;
    *value = to_c(std::move(made));
    return RELAY_OK;
  });
}

relay_status relay_value_tuple(relay_value* const* supplied, size_t count, relay_value** value) {
  return guarded([&] {
    std::vector<Value> fields;
    if (value == nullptr || !from_c(supplied, count, fields)) return null_pointer();
    return give(Value::tuple(std::move(fields)), value);
  });
}

relay_status relay_value_data(const relay_model* model, const char* type, const char* constructor,
                              relay_value* const* supplied, size_t count, relay_value** value) {
  return guarded([&] {
    std::vector<Value> fields;
    if (!model || !type || !constructor || !value || !from_c(supplied, count, fields)) return null_pointer();
    Result<TypeId> id = model->executable->type(type);
    if (!id) return fail(id.errors());
    return give(Value::data(*id, constructor, std::move(fields)), value);
  });
}

relay_status relay_value_reference(const relay_value* content, relay_value** value) {
  return guarded([&] {
    if (content == nullptr || value == nullptr) return null_pointer();
    return give(Value::reference(Value::share(from_c(content))), value);
  });
}

relay_kind relay_value_kind(const relay_value* value) {
  return value ? static_cast<relay_kind>(from_c(value)->kind) : RELAY_NO_VALUE;
}

relay_status relay_value_as_tensor(const relay_value* value, relay_tensor* tensor) {
  if (value == nullptr || tensor == nullptr) return null_pointer();
  const Object* o = from_c(value);
  if (o->kind != ObjectKind::Tensor)
    return guarded([&] { return fail(RELAY_BAD_ARGUMENT, "the value is " + describe(o)); });
  const TensorObject* t = as_tensor(o);
  *tensor = {t->data, t->dims(), static_cast<int32_t>(t->size), to_c(dtype_of(t)), nullptr};
  return RELAY_OK;
}

size_t relay_value_field_count(const relay_value* value) {
  if (value == nullptr) return 0;
  const Object* o = from_c(value);
  if (o->kind == ObjectKind::Reference) return 1;
  return o->kind == ObjectKind::Tuple || o->kind == ObjectKind::Data ? o->size : 0;
}

relay_status relay_value_field(const relay_value* value, size_t index, relay_value** field) {
  return guarded([&] {
    if (value == nullptr || field == nullptr) return null_pointer();
    size_t count = relay_value_field_count(value);
    if (index >= count) return fail(RELAY_BAD_ARGUMENT, format("field {} of {}", index, count));
    Value v = Value::share(from_c(value));
    *field = to_c(v.kind() == ObjectKind::Reference ? v.content() : v.field(index));
    return RELAY_OK;
  });
}

const char* relay_value_type(const relay_value* value) {
  if (value == nullptr || from_c(value)->kind != ObjectKind::Data) return nullptr;
  return data_type(from_c(value)->id).name.c_str();
}
const char* relay_value_constructor(const relay_value* value) {
  if (value == nullptr || from_c(value)->kind != ObjectKind::Data) return nullptr;
  return data_type(from_c(value)->id).constructors[from_c(value)->tag].name.c_str();
}

size_t relay_value_text(const relay_value* value, char* text, size_t bytes) {
  size_t length = 0;
  guarded([&] {
    std::string all = value ? str(Value::share(from_c(value))) : "";
    length = all.size();
    if (text != nullptr && bytes > 0) text[all.copy(text, bytes - 1)] = 0;
    return RELAY_OK;
  });
  return length;
}

const char* relay_model_input_type(const relay_model* model, size_t index) {
  return type_of(model ? &model->inputs : nullptr, index);
}
const char* relay_model_output_type(const relay_model* model, size_t index) {
  return type_of(model ? &model->outputs : nullptr, index);
}

relay_status relay_model_call(relay_model* model, relay_value* const* supplied, size_t count, relay_value** result) {
  return guarded([&] {
    std::vector<Value> args;
    if (model == nullptr || result == nullptr || !from_c(supplied, count, args)) return null_pointer();
    Report report;
    Result<Value> made = model->executable->call(args, {.report = &report});
    model->add(report);
    return give(std::move(made), result);
  });
}

relay_status relay_model_call_owned(relay_model* model, relay_value** supplied, size_t count, relay_value** result) {
  return guarded([&] {
    if (supplied == nullptr && count > 0) return null_pointer();
    std::vector<Value> args;
    bool whole = true;
    for (size_t i = 0; i < count; ++i) {
      whole = whole && supplied[i] != nullptr;
      args.push_back(Value::take(from_c(std::exchange(supplied[i], nullptr))));
    }
    if (model == nullptr || result == nullptr || !whole) return null_pointer();
    Report report;
    Result<Value> made = model->executable->call_owned(std::move(args), {.report = &report});
    model->add(report);
    return give(std::move(made), result);
  });
}

int64_t relay_model_input_of_output(const relay_model* model, size_t output) {
  if (model == nullptr || output >= model->outputs.size()) return -1;
  const std::optional<size_t> input = model->executable->input_of(output);
  return input ? static_cast<int64_t>(*input) : -1;
}

int relay_model_input_is_donated(const relay_model* model, size_t input) {
  return model != nullptr && model->executable->is_donated(input) ? 1 : 0;
}

int relay_model_input_is_given(const relay_model* model, size_t input) {
  return relay_model_input_is_donated(model, input);
}

// --- sessions --------------------------------------------------------------------------------------------------------

relay_status relay_session_new(const relay_model* model, relay_session** session) {
  return guarded([&] {
    if (model == nullptr || session == nullptr) return null_pointer();
    Result<std::unique_ptr<Session>> made = Session::create(model->executable);
    if (!made) return fail(made.errors());
    std::vector<PortTexts> states = to_c((*made)->states());
    *session = new relay_session{*std::move(made), std::move(states)};
    return RELAY_OK;
  });
}

void relay_session_free(relay_session* session) { delete session; }

relay_status relay_session_run(relay_session* session, const relay_tensor* inputs, size_t input_count,
                               relay_tensor* outputs, size_t output_count) {
  return guarded([&] {
    if (session == nullptr) return null_pointer();
    return run(*session->session, inputs, input_count, outputs, output_count);
  });
}

size_t relay_session_state_count(const relay_session* session) { return session ? session->states.size() : 0; }

relay_status relay_session_state(const relay_session* session, size_t index, relay_port* out) {
  return guarded([&] { return port(session ? &session->states : nullptr, index, out); });
}

relay_status relay_session_get(const relay_session* session, size_t index, relay_tensor* value) {
  return guarded([&] {
    if (session == nullptr || value == nullptr) return null_pointer();
    Result<Tensor> state = session->session->state(index);
    if (!state) return fail(state.errors());
    *value = *state ? owned(*state) : relay_tensor{};
    return RELAY_OK;
  });
}

relay_status relay_session_set(relay_session* session, size_t index, const relay_tensor* value) {
  return guarded([&] {
    if (session == nullptr || value == nullptr) return null_pointer();
    const Tensor state = from_c(*value);
    if (!state) return fail(RELAY_BAD_ARGUMENT, "the shape, dtype or data of the tensor is not valid");
    Status status = session->session->set_state(index, state);
    return status ? RELAY_OK : fail(status.errors());
  });
}

relay_status relay_session_reset(relay_session* session) {
  return guarded([&] {
    if (session == nullptr) return null_pointer();
    session->session->reset();
    return RELAY_OK;
  });
}

relay_status relay_value_call(relay_model* model, const relay_value* function, relay_value* const* supplied,
                              size_t count, relay_value** result) {
  return guarded([&] {
    std::vector<Value> args;
    if (!model || !function || !result || !from_c(supplied, count, args)) return null_pointer();
    Report report;
    Result<Value> made = model->executable->call_closure(Value::share(from_c(function)), args, {.report = &report});
    model->add(report);
    return give(std::move(made), result);
  });
}

relay_status relay_model_batching(const relay_model* model, int64_t* calls, int64_t* runs) {
  if (model == nullptr || calls == nullptr || runs == nullptr) return null_pointer();
  *calls = model->batched_calls.load(std::memory_order_relaxed);
  *runs = model->batches.load(std::memory_order_relaxed);
  return RELAY_OK;
}

const char* relay_model_executor(const relay_model* model) {
  return model ? name(model->executable->executor()) : nullptr;
}

}  // extern "C"
