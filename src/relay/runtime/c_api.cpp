// relay_c.h over Executable. Nothing is thrown across this edge.
#include <new>

#include "relay/runtime/artifact.h"
#include "relay/runtime/relay_c.h"

using namespace relay;
using namespace relay::runtime;

namespace {

struct PortTexts {
  std::string name;
  relay_dtype dtype;
  std::vector<int64_t> dims;
  std::vector<const char*> dim_texts;
};

}  // namespace

struct relay_model {
  std::shared_ptr<Executable> executable;
  std::vector<PortTexts> inputs, outputs;
};

namespace {

thread_local std::string last_error;

relay_status fail(relay_status status, std::string message) {
  last_error = std::move(message);
  return status;
}

relay_status fail(const Diagnostics& errors) {
  relay_status status = RELAY_INTERNAL;
  switch (errors.front().kind) {
    case DiagnosticKind::file_not_found:
    case DiagnosticKind::corrupt_file:
    case DiagnosticKind::limit_exceeded: status = RELAY_BAD_FILE; break;
    case DiagnosticKind::incompatible_artifact: status = RELAY_INCOMPATIBLE; break;
    case DiagnosticKind::wrong_input: status = RELAY_WRONG_INPUT; break;
    case DiagnosticKind::out_of_memory: status = RELAY_OUT_OF_MEMORY; break;
    default: break;
  }
  return fail(status, render(errors));
}

// Runs `body`; an exception becomes a status.
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
constexpr DType dtypes[] = {DType::float32(), DType::float64(), DType::float16(), DType::bfloat16(), DType::int8(),
                            DType::int16(),   DType::int32(),   DType::int64(),   DType::uint8(),    DType::uint16(),
                            DType::uint32(),  DType::uint64(),  DType::boolean()};

relay_dtype to_c(DType dtype) {
  for (size_t i = 0; i < std::size(dtypes); ++i)
    if (dtypes[i] == dtype) return static_cast<relay_dtype>(i);
  return RELAY_UINT8;
}

std::vector<PortTexts> to_c(const std::vector<PortInfo>& infos) {
  std::vector<PortTexts> ports;
  for (const PortInfo& info : infos) {
    PortTexts port{info.name, to_c(info.dtype), info.dims, {}};
    for (const std::string& text : info.dim_texts) port.dim_texts.push_back(text.c_str());
    ports.push_back(std::move(port));
  }
  return ports;
}

// Shares the caller's memory. No value on a description that cannot be.
Tensor from_c(const relay_tensor& t) {
  if (t.rank < 0 || static_cast<size_t>(t.rank) > Limits::rank || (t.rank > 0 && t.shape == nullptr)) return {};
  if (static_cast<size_t>(t.dtype) >= std::size(dtypes)) return {};
  Shape shape(t.shape, t.shape + t.rank);
  std::optional<int64_t> elements = element_count(shape);
  if (!elements || (t.data == nullptr && *elements > 0)) return {};
  return Tensor::view(t.data, std::move(shape), dtypes[t.dtype], nullptr);
}

relay_status port(const std::vector<PortTexts>* ports, size_t index, relay_port* out) {
  if (ports == nullptr || out == nullptr) return fail(RELAY_BAD_ARGUMENT, "a null pointer was given");
  if (index >= ports->size()) return fail(RELAY_BAD_ARGUMENT, format("index {} of {}", index, ports->size()));
  const PortTexts& p = (*ports)[index];
  *out = {p.name.c_str(), p.dtype, static_cast<int32_t>(p.dims.size()), p.dims.data(), p.dim_texts.data()};
  return RELAY_OK;
}

}  // namespace

extern "C" {

uint32_t relay_c_version(void) { return RELAY_C_VERSION; }
const char* relay_last_error(void) { return last_error.c_str(); }

relay_status relay_model_load(const char* path, const relay_load_options* given, relay_model** model) {
  return guarded([&] {
    if (path == nullptr || model == nullptr) return fail(RELAY_BAD_ARGUMENT, "a null pointer was given");
    *model = nullptr;
    ExecutableOptions options;
    if (given && given->struct_bytes >= sizeof(relay_load_options)) options.threads = given->threads;
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
    if (model == nullptr || (inputs == nullptr && input_count > 0) || (outputs == nullptr && output_count > 0))
      return fail(RELAY_BAD_ARGUMENT, "a null pointer was given");
    std::vector<Tensor> in, out;
    for (size_t i = 0; i < input_count; ++i) {
      in.push_back(from_c(inputs[i]));
      if (!in.back() && inputs[i].data != nullptr)
        return fail(RELAY_BAD_ARGUMENT, format("the shape or dtype of input {} is not lawful", i));
    }
    for (size_t i = 0; i < output_count; ++i) {
      out.push_back(outputs[i].data ? from_c(outputs[i]) : Tensor());
      if (!out.back() && outputs[i].data != nullptr)
        return fail(RELAY_BAD_ARGUMENT, format("the shape or dtype of output {} is not lawful", i));
    }
    Status status = model->executable->run_into(in, out);
    if (!status) return fail(status.errors());
    for (size_t i = 0; i < output_count; ++i) {
      if (outputs[i].data != nullptr) continue;
      Tensor* owner = new Tensor(out[i]);
      outputs[i] = {owner->mutable_data(), owner->shape().data(), owner->rank(), to_c(owner->dtype()), owner};
    }
    return RELAY_OK;
  });
}

void relay_tensor_release(relay_tensor* tensor) {
  if (tensor == nullptr) return;
  delete static_cast<Tensor*>(tensor->owner);
  *tensor = relay_tensor{};
}

}  // extern "C"
