// Arrays are exchanged by DLPack, without a copy if the memory allows it: row-major, aligned, on the CPU.
#include <nanobind/ndarray.h>

#include <cstring>

#include "core.h"
#include "give_back.h"
#include "relay/tensor/dlpack.h"

namespace relay::python {

static constexpr const char *plain_name = "dltensor", *versioned_name = "dltensor_versioned";

// The tensor of another framework, whose way to free it may take the GIL.
static Tensor given_back(Tensor tensor) {
  Tensor* const keep = new Tensor(std::move(tensor));
  std::shared_ptr<const void> owner(keep, [](Tensor* t) { give_back([t] { delete t; }); });
  return Tensor::view(const_cast<void*>(keep->data()), keep->shape(), keep->dtype(), std::move(owner));
}

// The array in a __dlpack__ capsule of another framework.
static Array from_capsule(nb::object capsule) {
  PyObject* p = capsule.ptr();
  if (PyCapsule_IsValid(p, versioned_name)) {
    Tensor t = value_or_throw(
        from_dlpack(static_cast<dlpack::ManagedTensorVersioned*>(PyCapsule_GetPointer(p, versioned_name))));
    PyCapsule_SetName(p, "used_dltensor_versioned");
    return {given_back(std::move(t))};
  }
  if (PyCapsule_IsValid(p, plain_name)) {
    Tensor t = value_or_throw(from_dlpack(static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(p, plain_name))));
    PyCapsule_SetName(p, "used_dltensor");
    return {given_back(std::move(t))};
  }
  throw nb::type_error("this is not a DLPack capsule, or it was used before");
}

// A capsule that was not consumed frees its contents.
template <class Managed>
static void drop(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  Managed* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter) managed->deleter(managed);
}

static Tensor copy_of(const Tensor& tensor) {
  Tensor copy = Tensor::empty(tensor.shape(), tensor.dtype());
  if (tensor.bytes() > 0) std::memcpy(copy.mutable_data(), tensor.data(), tensor.bytes());
  return copy;
}

using IntPair = std::optional<std::pair<int, int>>;

// Exports a read-only array only to a consumer that can be told so (DLPack 1.0 and later), like NumPy.
static nb::object to_capsule(const Array& array, IntPair max_version, IntPair device, std::optional<bool> copy) {
  if (device && device->first != dlpack::Cpu)
    throw nb::buffer_error(
        format("the array is in the memory of the CPU, not on a device of DLPack's type {}: ask for a device after "
               "the exchange",
               device->first)
            .c_str());
  const bool copies = copy.value_or(false), writable = array.writable || copies;
  const Tensor tensor = copies ? copy_of(array.value) : array.value;
  if (max_version && max_version->first >= 1) {
    dlpack::ManagedTensorVersioned* managed = to_dlpack_versioned(tensor);
    if (writable) managed->flags &= ~static_cast<uint64_t>(dlpack::ReadOnly);
    if (copies) managed->flags |= dlpack::Copied;
    return nb::steal(PyCapsule_New(managed, versioned_name,
                                   [](PyObject* c) { drop<dlpack::ManagedTensorVersioned>(c, versioned_name); }));
  }
  if (!writable)
    throw nb::buffer_error(
        "the array is read-only, and DLPack before 1.0 cannot tell the consumer: use .numpy() for a NumPy array that "
        "shares the memory, or .numpy().copy() for one that may be written to");
  return nb::steal(
      PyCapsule_New(to_dlpack(tensor), plain_name, [](PyObject* c) { drop<dlpack::ManagedTensor>(c, plain_name); }));
}

static nb::dlpack::dtype dtype_of(DType type) {
  nb::dlpack::dtype out{};
  out.bits = type.bits, out.lanes = 1;
  switch (type.code) {
    case DType::Code::Int: out.code = static_cast<uint8_t>(nb::dlpack::dtype_code::Int); break;
    case DType::Code::Float: out.code = static_cast<uint8_t>(nb::dlpack::dtype_code::Float); break;
    case DType::Code::Bool: out.code = static_cast<uint8_t>(nb::dlpack::dtype_code::Bool); break;
    default: out.code = static_cast<uint8_t>(nb::dlpack::dtype_code::UInt); break;
  }
  return out;
}

// Types that NumPy lacks are passed as unsigned integers; the package views them as those of ml_dtypes.
static nb::object to_numpy(const Array& array) {
  Tensor* keep = new Tensor(array.value);
  nb::capsule owner(keep, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  std::vector<size_t> shape(array.value.shape().begin(), array.value.shape().end());
  void* data = const_cast<void*>(array.value.data());
  static uint64_t nothing;  // for an array without elements
  if (!data) data = &nothing;
  if (array.writable)
    return nb::cast(
        nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, dtype_of(array.value.dtype())),
        nb::rv_policy::reference);
  return nb::cast(
      nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, nullptr, dtype_of(array.value.dtype())),
      nb::rv_policy::reference);
}

static std::optional<DType> plain_type(const char* format) {
  if (!format || !format[0] || format[1]) return std::nullopt;  // other byte orders, or records
  switch (format[0]) {
    case '?': return DType::boolean();
    case 'b': return DType::int8();
    case 'B': return DType::uint8();
    case 'h': return DType::int16();
    case 'H': return DType::uint16();
    case 'i': return DType::int32();
    case 'I': return DType::uint32();
    case 'l':
    case 'q': return DType::int64();
    case 'L':
    case 'Q': return DType::uint64();
    case 'e': return DType::float16();
    case 'f': return DType::float32();
    case 'd': return DType::float64();
    default: return std::nullopt;
  }
}

// A DLPack capsule takes longer to make and read than a small model to run; a buffer does not.
std::optional<Tensor> plain_numpy(nb::handle value) {
  static const nb::handle array_type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release();
  if (!value.type().is(array_type)) return std::nullopt;
  Py_buffer* buffer = new Py_buffer;
  if (PyObject_GetBuffer(value.ptr(), buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    delete buffer;
    return std::nullopt;
  }
  std::shared_ptr<const void> owner(buffer, [](Py_buffer* b) {
    give_back([b] {
      PyBuffer_Release(b);
      delete b;
    });
  });
  const std::optional<DType> type = plain_type(buffer->format);
  if (!type || type->bytes() != buffer->itemsize || buffer->len == 0 ||
      reinterpret_cast<uintptr_t>(buffer->buf) % static_cast<uintptr_t>(buffer->itemsize) != 0)
    return std::nullopt;
  return Tensor::view(buffer->buf, Shape(buffer->shape, buffer->shape + buffer->ndim), *type, std::move(owner));
}

static nb::object numpy(nb::handle self) { return nb::module_::import_("relay.data.arrays").attr("numpy")(self); }

nb::object numpy_result(Array array) {
  const DType type = array.value.dtype();
  const bool plain =
      type.is_bool() || type.is_int() || (type.is_float() && (type.bits >= 32 || type == DType::float16()));
  return plain && type.bits >= 8 ? to_numpy(array) : numpy(nb::cast(std::move(array)));
}

void add_arrays(nb::module_& m) {
  nb::class_<Array>(m, "Array", "An n-dimensional array that shares memory through DLPack.")
      .def_static("from_capsule", from_capsule, nb::arg("capsule"))
      .def(
          "__dlpack__",
          [](const Array& a, nb::handle, IntPair max_version, IntPair device, std::optional<bool> copy) {
            return to_capsule(a, max_version, device, copy);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack_device__", [](const Array&) { return std::pair(1, 0); })
      .def_prop_ro("shape", [](const Array& a) { return nb::tuple(nb::cast(a.value.shape())); })
      .def_prop_ro("dtype", [](const Array& a) { return a.value.dtype().str(); })
      .def_prop_ro("address", [](const Array& a) { return reinterpret_cast<uintptr_t>(a.value.data()); })
      .def(
          "reinterpreted",
          [](const Array& a, const std::string& dtype) {
            std::optional<DType> type = parse_dtype(dtype);
            if (!type || type->bytes() != a.value.dtype().bytes())
              throw nb::value_error("another type of the same width is needed");
            return Array{Tensor::view(const_cast<void*>(a.value.data()), a.value.shape(), *type,
                                      std::make_shared<Tensor>(a.value)),
                         a.writable};
          },
          nb::arg("dtype"), "The same bytes as another type of the same width.")
      .def(
          "copied", [](const Array& a) { return Array{copy_of(a.value), a.writable}; }, "A copy in separate memory.")
      .def("_numpy", to_numpy, "Shares memory. Element types that NumPy lacks are returned as unsigned integers.")
      .def("numpy", numpy, nb::sig("def numpy(self) -> numpy.ndarray"), "A NumPy array that shares the memory.")
      .def("asnumpy", numpy, nb::sig("def asnumpy(self) -> numpy.ndarray"), "The same as numpy().")
      .def(
          "__array__",
          [](nb::handle self, nb::handle dtype, nb::handle copy) {
            nb::object array = nb::module_::import_("numpy").attr("asarray")(numpy(self), dtype);
            return !copy.is_none() && nb::cast<bool>(copy) ? array.attr("copy")() : array;
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__repr__", [](const Array& a) { return str(a.value); });
}

}  // namespace relay::python
