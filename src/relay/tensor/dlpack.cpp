#include "relay/tensor/dlpack.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace relay {

static constexpr std::pair<dlpack::TypeCode, DType> eight_bit_floats[] = {
    {dlpack::E4M3FN, DType::storage(DType::Code::E4M3FN)},
    {dlpack::E4M3FNUZ, DType::storage(DType::Code::E4M3FNUZ)},
    {dlpack::E5M2, DType::storage(DType::Code::E5M2)},
    {dlpack::E5M2FNUZ, DType::storage(DType::Code::E5M2FNUZ)},
    {dlpack::E8M0FNU, DType::storage(DType::Code::E8M0FNU)},
    {dlpack::E4M3, DType::storage(DType::Code::E4M3)},
    {dlpack::E3M4, DType::storage(DType::Code::E3M4)},
    {dlpack::E4M3B11FNUZ, DType::storage(DType::Code::E4M3B11FNUZ)},
};

static std::optional<DType> to_dtype(dlpack::DataType t) {
  if (t.lanes != 1) return std::nullopt;
  bool integer_bits = t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
  switch (t.code) {
    case dlpack::Int: return integer_bits ? std::optional(DType{DType::Code::Int, t.bits}) : std::nullopt;
    case dlpack::UInt: return integer_bits ? std::optional(DType{DType::Code::UInt, t.bits}) : std::nullopt;
    case dlpack::Float:
      return integer_bits && t.bits != 8 ? std::optional(DType{DType::Code::Float, t.bits}) : std::nullopt;
    case dlpack::BFloat: return t.bits == 16 ? std::optional(DType::bfloat16()) : std::nullopt;
    case dlpack::Bool: return t.bits == 8 ? std::optional(DType::boolean()) : std::nullopt;
    default: break;
  }
  for (const auto& [code, dtype] : eight_bit_floats)
    if (t.code == code && t.bits == 8) return dtype;
  return std::nullopt;
}

static dlpack::DataType from_dtype(DType t) {
  switch (t.code) {
    case DType::Code::Int: return {dlpack::Int, t.bits, 1};
    case DType::Code::UInt: return {dlpack::UInt, t.bits, 1};
    case DType::Code::Float: return {dlpack::Float, t.bits, 1};
    case DType::Code::BFloat: return {dlpack::BFloat, t.bits, 1};
    case DType::Code::Bool: return {dlpack::Bool, 8, 1};
    default: break;
  }
  for (const auto& [code, dtype] : eight_bit_floats)
    if (t == dtype) return {code, 8, 1};
  return {dlpack::UInt, 8, 1};  // DLPack packs narrower elements; these occupy a byte each
}

static bool is_row_major(const dlpack::TensorView& view, const Shape& shape) {
  if (!view.strides) return true;
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && view.strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

// Copies element by element, with an odometer over the indices.
static void copy_strided(const dlpack::TensorView& view, const char* from, Tensor* to) {
  const Shape& shape = to->shape();
  size_t bytes = static_cast<size_t>(to->dtype().bytes());
  char* out = static_cast<char*>(to->mutable_data());
  std::vector<int64_t> index(shape.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0, n = to->elements(); i < n; ++i) {
    std::memcpy(out + static_cast<size_t>(i) * bytes, from + offset * static_cast<int64_t>(bytes), bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += view.strides[d];
      if (++index[d] < shape[d]) break;
      offset -= shape[d] * view.strides[d];
      index[d] = 0;
    }
  }
}

template <class Managed>
static Result<Tensor> import(Managed* managed) {
  constexpr DiagnosticKind kind = DiagnosticKind::wrong_input;
  const dlpack::TensorView& view = managed->tensor;
  if (view.device.type != dlpack::Cpu && view.device.type != dlpack::CudaHost)
    return Diagnostic{kind, format("the DLPack tensor is on device type {}, not on the CPU", view.device.type),
                      {},   {},
                      {},   "copy it to the CPU first"};
  std::optional<DType> dtype = to_dtype(view.dtype);
  if (!dtype)
    return Diagnostic{
        kind,
        format("the DLPack tensor has elements of code {}, {} bits, {} lanes, which Relay has no type for",
               view.dtype.code, view.dtype.bits, view.dtype.lanes),
        {},
        {},
        {},
        "convert it to floats, integers of 8 to 64 bits or bools first"};
  if (view.ndim < 0 || view.ndim > 64 || (view.ndim > 0 && !view.shape))
    return Diagnostic{
        kind, format("the DLPack tensor has rank {}", view.ndim), {}, {}, {}, "give a tensor of at most 64 dimensions"};
  Shape shape(view.shape, view.shape + view.ndim);
  std::optional<int64_t> count = element_count(shape);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, dtype->bytes(), &bytes))
    return Diagnostic{kind, format("the DLPack tensor has shape ({})", join(shape, ", ")), {}, {},
                      {},   "give a tensor whose sizes are not negative and fit in memory"};
  if (bytes > 0 && !view.data)
    return Diagnostic{kind, "the DLPack tensor has no data", {}, {}, {}, "give a tensor that is in memory"};

  auto release = [](Managed* m) {
    if (m->deleter) m->deleter(m);
  };
  char* data = static_cast<char*>(view.data) + (view.data ? view.byte_offset : 0);
  bool aligned = reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(dtype->bytes()) == 0;
  bool row_major = is_row_major(view, shape);
  if (bytes > 0 && row_major && aligned)
    return Tensor::view(data, std::move(shape), *dtype,
                        std::shared_ptr<const void>(managed, [release](Managed* m) { release(m); }));
  Tensor copy = Tensor::empty(std::move(shape), *dtype);
  if (row_major && bytes > 0)
    std::memcpy(copy.mutable_data(), data, static_cast<size_t>(bytes));
  else if (bytes > 0)
    copy_strided(view, data, &copy);
  release(managed);
  return copy;
}

Result<Tensor> from_dlpack(dlpack::ManagedTensor* managed) { return import(managed); }
Result<Tensor> from_dlpack(dlpack::ManagedTensorVersioned* managed) {
  if (managed->version.major != 1)
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("the DLPack tensor has version {}.{}; Relay reads version 1", managed->version.major,
                             managed->version.minor),
                      {},
                      {},
                      {},
                      "use a version of the other library whose tensors have version 1"};
  return import(managed);
}

namespace {
// The struct handed out, with the data that it points to.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};
}  // namespace

template <class Managed>
static Managed* export_tensor(const Tensor& tensor) {
  Exported<Managed>* e = new Exported<Managed>;
  e->tensor = tensor;
  e->shape = tensor.shape();
  e->strides.resize(e->shape.size());
  int64_t stride = 1;
  for (size_t d = e->shape.size(); d-- > 0;) e->strides[d] = stride, stride *= e->shape[d];
  e->managed.tensor = {const_cast<void*>(tensor.data()),
                       {},
                       tensor.rank(),
                       from_dtype(tensor.dtype()),
                       e->shape.data(),
                       e->strides.data(),
                       0};
  e->managed.context = e;
  e->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->context); };
  return &e->managed;
}

dlpack::ManagedTensor* to_dlpack(const Tensor& tensor) { return export_tensor<dlpack::ManagedTensor>(tensor); }
dlpack::ManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor) {
  dlpack::ManagedTensorVersioned* m = export_tensor<dlpack::ManagedTensorVersioned>(tensor);
  m->version = {1, 0};
  m->flags = dlpack::ReadOnly;
  return m;
}

}  // namespace relay
