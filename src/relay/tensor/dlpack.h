// DLPack: tensors passed between frameworks in one process without a copy.
//
//   Result<Tensor> t = from_dlpack(managed);       // shares memory, calls managed->deleter when the last Tensor goes
//   dlpack::ManagedTensor* out = to_dlpack(*t);    // the consumer calls out->deleter(out)
//
// The structs below have the layout of the DLPack specification (1.0). Both of its forms, unversioned and versioned,
// are imported and exported.
#pragma once

#include <cstdint>

#include "relay/tensor/tensor.h"

namespace relay::dlpack {

enum DeviceType : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3 };
struct Device {
  int32_t type = Cpu;
  int32_t id = 0;
};

enum TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  Opaque = 3,
  BFloat = 4,
  Complex = 5,
  Bool = 6,
  E3M4 = 7,  // since 1.1, from here on
  E4M3 = 8,
  E4M3B11FNUZ = 9,
  E4M3FN = 10,
  E4M3FNUZ = 11,
  E5M2 = 12,
  E5M2FNUZ = 13,
  E8M0FNU = 14
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct TensorView {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;      // in elements; null: row-major
  uint64_t byte_offset;  // from data to the first element
};

struct ManagedTensor {
  TensorView tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);  // may be null
};

struct Version {
  uint32_t major = 1, minor = 0;
};
enum Flags : uint64_t { ReadOnly = 1, Copied = 2 };
struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  uint64_t flags;
  TensorView tensor;
};

}  // namespace relay::dlpack

namespace relay {

// Takes ownership of the tensor only on success. Row-major, aligned CPU memory is shared; other strides are copied.
Result<Tensor> from_dlpack(dlpack::ManagedTensor* managed);
Result<Tensor> from_dlpack(dlpack::ManagedTensorVersioned* managed);

// Shares memory. The versioned form is marked read-only: tensors are immutable once they are shared.
dlpack::ManagedTensor* to_dlpack(const Tensor& tensor);
dlpack::ManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor);

}  // namespace relay
